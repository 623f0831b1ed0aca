//! The engine's event loop, one step at a time: who is admitted, which chunk is computed, which pages are
//! transferred, who gets a token. Knows no clock, no thread and no socket, so that any schedule can be
//! played through in a test.
//!
//! ```text
//! submit ─▶ waiting ─▶ load (tiers) ─▶ prefill, in chunks ─▶ transfer, page by page ─▶ decode, in a batch ─▶ End
//!              ▲          prefix cache ◀──┘                          swapped to the host ◀─┘▲ │
//!              └ refuse                                                     └───────────────┘ retracted
//! ```
//!
//! Isolation rests on one property: every position that decode reads through a request's page table was
//! written for this request, or for the same beginning of a prompt in the same namespace.

mod admit;
mod decode;
mod prefill;
#[cfg(test)]
mod tests;
mod transfer;

use super::chance::Faults;
use super::request::{Event, Finish, Metadata, Refusal, Request, RequestId, Stage, Submission};
use crate::config::Config;
use crate::fault::Fault;
use crate::kv::{PagePool, PrefixCache, Tier};
use std::collections::{BTreeMap, VecDeque};

/// How much is done in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Tokens that the prefill group computes, for all requests together.
    pub(crate) prefill: usize,
    /// Pages that are transferred for each request.
    pub(crate) transfer: usize,
    /// Tokens that each request in the batch gets.
    pub(crate) decode: usize,
}

/// What a step tells whom.
pub(crate) type Told = Vec<(RequestId, Event)>;

/// Metadata slots between the groups: as many requests are between prefill and decode at most.
const METADATA_SLOTS: usize = 64;

/// Everything that requests share.
pub(crate) struct Scheduler {
    config: Config,
    faults: Faults,
    prefill: PagePool,
    decode: PagePool,
    prefix: PrefixCache,
    host: Tier,
    disk: Tier,
    waiting: VecDeque<(RequestId, Submission)>,
    requests: BTreeMap<RequestId, Request>,
    /// The rows of the decode batch.
    batch: Vec<RequestId>,
    metadata: Vec<Option<Metadata>>,
    /// The last freed is the next taken.
    free_metadata: Vec<usize>,
}

impl Scheduler {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            faults: Faults::new(&config),
            prefill: PagePool::new(config.prefill_tokens),
            decode: PagePool::new(config.decode_capacity()),
            prefix: PrefixCache::default(),
            host: Tier::new(config.host_capacity()),
            disk: Tier::new(config.disk_capacity()),
            waiting: VecDeque::new(),
            requests: BTreeMap::new(),
            batch: Vec::new(),
            metadata: vec![None; METADATA_SLOTS],
            free_metadata: (0..METADATA_SLOTS).rev().collect(),
            config,
        }
    }

    /// Takes a request in, or says why not.
    pub(crate) fn submit(&mut self, id: RequestId, submission: Submission) -> Result<(), Refusal> {
        let window = self.config.context_tokens as usize;
        let (prompt, answer) = (submission.prompt.len(), submission.most);
        if prompt > window {
            return Err(Refusal::PromptOverWindow { prompt, window });
        }
        if prompt + answer > window {
            return Err(Refusal::TotalOverWindow {
                prompt,
                answer,
                window,
            });
        }
        let capacity = self.prefill.capacity();
        if prompt > capacity && !self.faults.meets(Fault::StalePages) {
            return Err(Refusal::OverCapacity { prompt, capacity });
        }
        self.waiting.push_back((id, submission));
        Ok(())
    }

    /// The client of a request went away.
    pub(crate) fn abort(&mut self, id: RequestId) {
        self.waiting.retain(|(waiting, _)| *waiting != id);
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        if matches!(request.stage, Stage::Transfer { .. }) {
            // The transfer still writes into its pages: they are freed when it is through.
            request.is_aborted = true;
            return;
        }
        self.retire(id);
    }

    /// Works for a while on whatever there is to do.
    pub(crate) fn step(&mut self, budget: Budget) -> Told {
        let mut told = Vec::new();
        self.resume_swapped();
        self.load();
        self.admit_waiting();
        self.compute(budget.prefill);
        self.send(budget.transfer);
        self.generate(budget.decode, &mut told);
        told
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.requests.is_empty()
    }

    /// Free and all pages of the prefill group; cached pages that nobody uses count as free.
    pub(crate) fn prefill_pages(&self) -> (usize, usize) {
        let free = self.prefill.free_pages() + self.prefix.evictable(&self.prefill);
        (free, self.prefill.pages())
    }

    /// Free and all pages of the decode group.
    pub(crate) fn decode_pages(&self) -> (usize, usize) {
        (self.decode.free_pages(), self.decode.pages())
    }

    /// A request has come to its end: everything it holds is free.
    fn retire(&mut self, id: RequestId) {
        let Some(request) = self.requests.remove(&id) else {
            return;
        };
        if let Stage::Loading(loads) = &request.stage {
            for load in loads {
                self.tier(load.tier).unpin(load.slot);
            }
        }
        self.batch.retain(|row| *row != id);
        self.prefill.release_all(request.prefill_table);
        self.decode.release_all(request.decode_table);
        if let Some(slot) = request.metadata_slot {
            self.free_metadata.push(slot);
        }
    }

    fn finish(&mut self, id: RequestId, finish: Finish, told: &mut Told) {
        let cached = self.requests.get(&id).map_or(0, |request| request.cached);
        told.push((id, Event::End { finish, cached }));
        self.retire(id);
    }

    /// The requests at a stage, in the order in which they came.
    fn at(&self, is_there: impl Fn(&Stage) -> bool) -> Vec<RequestId> {
        let there = self.requests.iter();
        let there = there.filter(|(_, request)| is_there(&request.stage));
        there.map(|(&id, _)| id).collect()
    }
}
