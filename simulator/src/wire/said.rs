//! What a shape writes down: an answer, whole or in parts.

use crate::engine::Finish;
use crate::front::{Identity, Reply};
use std::time::{Duration, Instant};

/// What all objects of one response share.
pub(super) struct Head {
    pub(super) identity: Identity,
    pub(super) model: String,
    /// Whether a stream ends with a chunk of usage.
    pub(super) wants_usage: bool,
}

/// A part of a stream.
pub(super) enum Part<'a> {
    /// The role, before the first token.
    Opening,
    Text(&'a str),
    /// Why it ended, after the last token.
    End(&'a Said),
    /// The figures, if they were asked for.
    Usage(&'a Said),
}

/// A complete answer.
pub(super) struct Said {
    pub(super) text: String,
    pub(super) finish: Finish,
    pub(super) prompt: usize,
    pub(super) cached: usize,
    pub(super) completion: usize,
    /// Tokens of the answer that were thinking.
    pub(super) reasoning: usize,
    pub(super) times: Times,
}

impl Said {
    pub(super) fn new(reply: &Reply, times: Times) -> Self {
        Self {
            text: reply.text(),
            finish: reply.finish(),
            prompt: reply.prompt_tokens(),
            cached: reply.cached_tokens(),
            completion: reply.given_tokens(),
            reasoning: reply.reasoning_tokens(),
            times,
        }
    }

    pub(super) fn total(&self) -> usize {
        self.prompt + self.completion
    }

    /// How long the prompt took, up to the first token.
    pub(super) fn prompt_time(&self) -> Duration {
        self.times.first - self.times.asked
    }

    /// How long the answer took from there.
    pub(super) fn answer_time(&self) -> Duration {
        self.times.first.elapsed()
    }
}

/// When things happened.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) asked: Instant,
    pub(super) first: Instant,
}
