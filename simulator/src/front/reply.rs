//! The reply to one request, as HTTP writes it: from the engine, or kept from an earlier one.

use super::answers::{Answers, Kept};
use super::lock;
use crate::engine::{Finish, Generation, Refusal, Submission, reasoning_tokens};
use crate::token::{Token, text_of};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// What a reply is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: String,
    /// In seconds since 1970.
    pub(crate) created: u64,
}

/// A reply under way.
pub(crate) struct Reply {
    pub(crate) identity: Identity,
    source: Source,
    given: Vec<Token>,
    /// Where the answer is kept when it is complete, and what was asked.
    keeper: Option<(Submission, Arc<Mutex<Answers>>)>,
}

enum Source {
    Engine(Generation),
    Kept { kept: Kept, rest: VecDeque<Token> },
    None,
}

impl Reply {
    pub(super) fn live(
        generation: Generation,
        identity: Identity,
        submission: Submission,
        keeper: Option<Arc<Mutex<Answers>>>,
    ) -> Self {
        Self {
            identity,
            source: Source::Engine(generation),
            given: Vec::new(),
            keeper: keeper.map(|keeper| (submission, keeper)),
        }
    }

    /// An answer that is kept; it keeps its identity only where it was the same request.
    pub(super) fn kept(kept: Kept, identity: Identity) -> Self {
        Self {
            identity: if kept.is_exact {
                kept.identity.clone()
            } else {
                identity
            },
            source: Source::Kept {
                rest: kept.answer.iter().copied().collect(),
                kept,
            },
            given: Vec::new(),
            keeper: None,
        }
    }

    /// Nothing.
    pub(super) fn none() -> Self {
        Self {
            identity: Identity::default(),
            source: Source::None,
            given: Vec::new(),
            keeper: None,
        }
    }

    /// Waits for the first thing that is told of the request.
    pub(super) async fn begun(&mut self) -> Result<(), Refusal> {
        match &mut self.source {
            Source::Engine(generation) => generation.begun().await,
            Source::Kept { .. } | Source::None => Ok(()),
        }
    }

    /// The next token.
    pub(crate) async fn next(&mut self) -> Option<Token> {
        let token = match &mut self.source {
            Source::Engine(generation) => generation.next().await,
            Source::Kept { rest, .. } => rest.pop_front(),
            Source::None => None,
        };
        match token {
            Some(token) => self.given.push(token),
            None => self.keep(),
        }
        token
    }

    fn keep(&mut self) {
        let finish = self.finish();
        if let Some((submission, keeper)) = self.keeper.take()
            && finish != Finish::Abort
        {
            lock(&keeper).keep(Kept {
                answer: self.given.clone(),
                finish,
                prompt_tokens: self.prompt_tokens(),
                identity: self.identity.clone(),
                submission,
                is_exact: true,
            });
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        match &self.source {
            Source::Engine(generation) => generation.has_ended(),
            Source::Kept { rest, .. } => rest.is_empty(),
            Source::None => true,
        }
    }

    /// Why the answer ended; known after its last token.
    pub(crate) fn finish(&self) -> Finish {
        match &self.source {
            Source::Engine(generation) => generation.finish(),
            Source::Kept { kept, .. } => kept.finish,
            Source::None => Finish::Abort,
        }
    }

    /// Length of the prompt; after the last token, as it was computed.
    pub(crate) fn prompt_tokens(&self) -> usize {
        match &self.source {
            Source::Engine(generation) => generation.prompt_tokens(),
            Source::Kept { kept, .. } => kept.prompt_tokens,
            Source::None => 0,
        }
    }

    /// What was given so far.
    pub(crate) fn text(&self) -> String {
        text_of(&self.given)
    }

    /// Tokens of what was given that were thinking.
    pub(crate) fn reasoning_tokens(&self) -> usize {
        reasoning_tokens(&self.given)
    }

    pub(crate) fn given_tokens(&self) -> usize {
        self.given.len()
    }

    /// Tokens of the prompt that came from a cache of prefixes; known after the last token.
    pub(crate) fn cached_tokens(&self) -> usize {
        match &self.source {
            Source::Engine(generation) => generation.cached_tokens(),
            Source::Kept { .. } | Source::None => 0,
        }
    }
}
