//! What an engine tells of itself: how full it is, what it is at, and what it has done so far.

use super::request::{Finish, RequestId};
use std::time::Duration;

/// An engine at one moment. The default is that of an engine that has stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Requests that wait for room.
    pub(crate) waiting: usize,
    /// Requests that were admitted, in the order in which they came.
    pub(crate) admitted: Vec<Admitted>,
    /// The prefill group's pages; cached ones that nobody uses count as free.
    pub(crate) prefill: Pages,
    /// The decode group's pages.
    pub(crate) decode: Pages,
    pub(crate) counts: Counts,
    pub(crate) busy: Busy,
}

impl State {
    /// How many admitted requests are in a group.
    pub(crate) fn within(&self, phase: Phase) -> usize {
        let there = |admitted: &&Admitted| admitted.phase == phase;
        self.admitted.iter().filter(there).count()
    }
}

/// How full a pool is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    pub(crate) free: usize,
    pub(crate) all: usize,
}

impl Pages {
    pub(crate) fn used(self) -> usize {
        self.all - self.free
    }

    /// The part that is in use, from 0 to 1.
    pub(crate) fn usage(self) -> f64 {
        ratio(self.used() as u64, self.all as u64)
    }
}

/// One number of another; nothing of nothing is 0.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Where an admitted request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Prefill,
    Transfer,
    Decode,
    /// Its pages were needed by others.
    Retracted,
}

/// An admitted request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted {
    pub(crate) id: RequestId,
    pub(crate) phase: Phase,
    pub(crate) prompt: usize,
    pub(crate) cached: usize,
    /// Tokens of the prompt that are computed, the cached ones among them.
    pub(crate) computed: usize,
    pub(crate) given: usize,
    pub(crate) most: usize,
}

/// What was done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    /// Refused for their length.
    pub(crate) refused: u64,
    pub(crate) stopped: u64,
    pub(crate) cut: u64,
    /// Their clients went away.
    pub(crate) aborted: u64,
    /// Answered with an error after they were admitted.
    pub(crate) failed: u64,
    /// Tokens of prompts that were admitted, and of these what came from which cache.
    pub(crate) prompt_tokens: u64,
    pub(crate) from_device: u64,
    pub(crate) from_host: u64,
    pub(crate) from_disk: u64,
    /// Tokens of prompts that were computed.
    pub(crate) computed_tokens: u64,
    pub(crate) given_tokens: u64,
    pub(crate) retractions: u64,
    pub(crate) failed_transfers: u64,
    /// Steps of the batch with somebody in it, and their rows.
    pub(crate) steps: u64,
    pub(crate) rows: u64,
    /// Rows that were drafted for, the tokens proposed, and those that were right.
    pub(crate) drafts: u64,
    pub(crate) drafted: u64,
    pub(crate) accepted: u64,
    /// Tokens of the longest request so far, its answer included.
    pub(crate) longest: u64,
}

impl Counts {
    /// Tokens of prompts that came from a cache.
    pub(crate) fn cached(&self) -> u64 {
        self.from_device + self.from_host + self.from_disk
    }

    pub(super) fn ended(&mut self, finish: Finish) {
        match finish {
            Finish::Stop => self.stopped += 1,
            Finish::Length => self.cut += 1,
            Finish::Abort => self.aborted += 1,
        }
    }
}

/// How long the groups had something to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Busy {
    pub(crate) prefill: Duration,
    pub(crate) decode: Duration,
}
