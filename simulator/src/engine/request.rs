//! One request on its way through the engine.

use super::thinking::{Thinking, Voice};
use crate::kv::{Key, PageContents, PageId, Slot};
use crate::token::Token;
use std::sync::Arc;

/// A request's number; later requests have larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestId(pub(crate) u64);

/// What is asked of the engine.
#[derive(Clone)]
pub(crate) struct Submission {
    pub(crate) prompt: Arc<[Token]>,
    /// The longest answer wanted, in tokens.
    pub(crate) most: usize,
    /// Whose request it is.
    pub(crate) tenant: String,
    /// Keeps its prefixes apart from those of other salts.
    pub(crate) salt: String,
    /// The adapter it is computed with; `None` is the base model.
    pub(crate) adapter: Option<String>,
    /// Whether to think before the answer.
    pub(crate) thinking: Option<Thinking>,
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The prompt alone exceeds the window.
    PromptOverWindow { prompt: usize, window: usize },
    /// Prompt and answer together exceed the window.
    TotalOverWindow {
        prompt: usize,
        answer: usize,
        window: usize,
    },
    /// The prompt exceeds what the prefill group can hold.
    OverCapacity { prompt: usize, capacity: usize },
    /// A part of the engine failed.
    Internal,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model had said everything.
    Stop,
    /// The request's limit was reached.
    Length,
    /// The engine stopped.
    Abort,
}

impl Finish {
    /// As OpenAI's API says it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Abort => "abort",
        }
    }
}

/// What a client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The next token of the answer.
    Token(Token),
    /// The answer is complete.
    End {
        finish: Finish,
        /// Length of the prompt as it was computed, in tokens.
        prompt: usize,
        /// Tokens of the prompt that came from the cache.
        cached: usize,
    },
    /// There will be no answer.
    Failed(Refusal),
}

/// Where a request is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Pages of its prefix come back from a tier; these are still to come.
    Loading(Vec<Load>),
    /// So many tokens of the prompt are computed.
    Prefill { computed: usize },
    /// So many pages have reached the decode group.
    Transfer(Transfer),
    /// Token by token.
    Decode,
    /// Its pages were needed by others; they wait in the host's memory.
    Swapped(Vec<PageContents>),
}

/// A transfer under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) sent: usize,
    /// Of what others got since it was aborted, so many pages have not counted yet.
    pub(super) owed: usize,
    /// Pages to send.
    pub(super) pages: usize,
    /// It breaks after so many pages.
    pub(super) breaks_after: Option<usize>,
    /// A break is taken for the end.
    pub(super) ignores_break: bool,
    /// Decode does not wait for it.
    pub(super) is_overtaken: bool,
    /// What it reads is free already.
    pub(super) source_is_free: bool,
    /// Its client went away.
    pub(super) is_aborted: bool,
    /// What it writes into is free already.
    pub(super) target_is_free: bool,
}

/// A page on its way from a tier into the prefill group's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) tier: TierName,
    pub(super) slot: Slot,
    /// Which page of the prompt it is.
    pub(super) page: usize,
    /// Whether its slot is kept from being reused.
    pub(super) is_pinned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TierName {
    Host,
    Disk,
}

/// What prefill tells decode beside the KV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    /// Length of the prompt, in tokens.
    pub(super) prompt: usize,
    /// The first token of the answer, if prefill reached the end of the prompt.
    pub(super) first: Option<Token>,
}

/// What the model saw of a table of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) first: Option<PageId>,
    pub(super) writes: u64,
}

/// An admitted request.
pub(super) struct Request {
    pub(super) prompt: Arc<[Token]>,
    pub(super) most: usize,
    /// The keys of the prompt's whole pages, after the namespace's own.
    pub(super) root: Key,
    pub(super) keys: Vec<Key>,
    pub(super) stage: Stage,
    /// Pages of the prefill group, until the transfer is through.
    pub(super) prefill_table: Vec<PageId>,
    pub(super) decode_table: Vec<PageId>,
    /// Tokens that came from the cache.
    pub(super) cached: usize,
    /// Where its metadata goes, and whether this place is free already.
    pub(super) metadata_slot: Option<(usize, bool)>,
    /// Its recurrent state, and the tokens that stood in it when the request got it.
    pub(super) state_slot: usize,
    pub(super) inherited: Vec<Token>,
    /// Tokens of the prompt that decode looks at.
    pub(super) visible: usize,
    pub(super) thinking: Option<Thinking>,
    /// Its first token, as prefill says.
    pub(super) first: Option<Token>,
    /// What the model thinks of what its pages show, and what it says to it.
    pub(super) thoughts: Vec<Token>,
    pub(super) answer: Vec<Token>,
    pub(super) voice: Voice,
    /// Which pages the model read and how often they had been written by then, or when the request itself
    /// wrote last.
    pub(super) read_at: Option<Reading>,
    /// Tokens of the answer that were given.
    pub(super) given: Vec<Token>,
}

impl Request {
    /// Whether it may be in the decode batch.
    pub(super) fn is_decoding(&self) -> bool {
        match &self.stage {
            Stage::Decode => true,
            Stage::Transfer(transfer) => transfer.is_overtaken && !transfer.is_aborted,
            _ => false,
        }
    }

    /// Tokens that its pages must hold now.
    pub(super) fn length(&self) -> usize {
        self.prompt.len() + self.given.len()
    }
}
