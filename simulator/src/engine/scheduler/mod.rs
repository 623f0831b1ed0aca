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
mod draft;
mod prefill;
mod tell;
#[cfg(test)]
mod tests;
mod transfer;

use super::chance::Faults;
use super::request::{Event, Finish, Metadata, Refusal, Request, RequestId, Stage, Submission};
use super::state::Counts;
use super::thinking::Budget as ThinkingBudget;
use crate::config::Config;
use crate::fault::Fault;
use crate::kv::{PageId, PagePool, PrefixCache, Tier};
use crate::token::Token;
use admit::Waiting;
use draft::Saying;
use std::collections::{BTreeMap, VecDeque};

/// How much is done in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Tokens that the prefill group computes, for all requests together.
    pub(crate) prefill: usize,
    /// Pages that are transferred for each request.
    pub(crate) transfer: usize,
    /// Steps of the batch: a token for each request, with speculation several.
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
    waiting: VecDeque<(RequestId, Waiting)>,
    /// The first that waits found no room, and nothing was freed since.
    is_full: bool,
    requests: BTreeMap<RequestId, Request>,
    /// The rows of the decode batch, and the pages that each row's prompt is read from.
    batch: Vec<RequestId>,
    rows: Vec<Vec<PageId>>,
    /// What the processor of logits keeps for each row.
    budgets: Vec<ThinkingBudget>,
    /// What the verifier let through, a row for each row of the batch, and which of its rows each row of
    /// the batch reads.
    verified: Vec<Vec<Saying>>,
    verified_rows: Vec<usize>,
    metadata: Vec<Option<Metadata>>,
    /// The last freed is the next taken.
    free_metadata: Vec<usize>,
    /// The recurrent states: of a hybrid model's layers, what they keep of the last tokens.
    states: Vec<Vec<Token>>,
    free_states: Vec<usize>,
    counts: Counts,
}

/// So many tokens leave a trace in a recurrent state.
const STATE_TOKENS: usize = 256;
/// Bits of a short key of the prefix cache.
const SHORT_KEY_BITS: u32 = 9;

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
            is_full: false,
            requests: BTreeMap::new(),
            batch: Vec::new(),
            rows: Vec::new(),
            budgets: Vec::new(),
            verified: Vec::new(),
            verified_rows: Vec::new(),
            metadata: vec![None; METADATA_SLOTS],
            free_metadata: (0..METADATA_SLOTS).rev().collect(),
            states: Vec::new(),
            free_states: Vec::new(),
            counts: Counts::default(),
            config,
        }
    }

    /// Takes a request in, or says why not.
    pub(crate) fn submit(&mut self, id: RequestId, submission: Submission) -> Result<(), Refusal> {
        self.counts.requests += 1;
        let taken = self.take_in(id, submission);
        self.counts.refused += u64::from(taken.is_err());
        taken
    }

    fn take_in(&mut self, id: RequestId, mut submission: Submission) -> Result<(), Refusal> {
        let window = self.config.context_tokens as usize;
        let room = window
            .saturating_sub(submission.most)
            .min(self.prefill.capacity());
        if submission.prompt.len() > room && self.faults.meets(Fault::HeadTruncated) {
            // Shifted until the end fits.
            submission.prompt = submission.prompt[submission.prompt.len() - room..].into();
        }
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
        let waiting = self.await_room(submission);
        self.waiting.push_back((id, waiting));
        Ok(())
    }

    /// The client of a request went away.
    pub(crate) fn abort(&mut self, id: RequestId) {
        let before = self.waiting.len();
        self.waiting.retain(|(waiting, _)| *waiting != id);
        self.is_full = false;
        self.counts.aborted += (before - self.waiting.len()) as u64;
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        if matches!(&request.stage, Stage::Transfer(transfer) if transfer.is_aborted) {
            return;
        }
        self.counts.aborted += 1;
        let Stage::Transfer(transfer) = &mut request.stage else {
            self.retire(id);
            return;
        };
        // The transfer still writes into its pages: they are freed when it is through.
        transfer.is_aborted = true;
        if self.faults.meets(Fault::FreedWhileWriting) {
            transfer.target_is_free = true;
            let table = request.decode_table.clone();
            self.decode.release_all(table);
        }
        self.leave(id);
    }

    /// Works for a while on whatever there is to do.
    pub(crate) fn step(&mut self, budget: Budget) -> Told {
        let mut told = Vec::new();
        self.resume_swapped();
        self.load();
        self.admit_waiting();
        self.compute(budget.prefill);
        self.join_ready();
        self.send(budget.transfer, &mut told);
        self.generate(budget.decode, &mut told);
        told
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.requests.is_empty()
    }

    /// A request has come to its end: everything it holds is free.
    fn retire(&mut self, id: RequestId) {
        self.is_full = false;
        let Some(request) = self.requests.remove(&id) else {
            return;
        };
        if let Stage::Loading(loads) = &request.stage {
            for load in loads {
                if load.is_pinned {
                    self.tier(load.tier).unpin(load.slot);
                }
            }
        }
        // Its state keeps what passed through last, until somebody clears it.
        let passed = request.prompt.iter().chain(&request.given);
        let start = request.length().saturating_sub(STATE_TOKENS);
        self.states[request.state_slot] = passed.skip(start).copied().collect();
        self.leave(id);
        let (mut source_is_free, mut target_is_free) = (false, false);
        if let Stage::Transfer(transfer) = &request.stage {
            (source_is_free, target_is_free) = (transfer.source_is_free, transfer.target_is_free);
        }
        if !source_is_free {
            self.prefill.release_all(request.prefill_table);
        }
        if !target_is_free {
            self.decode.release_all(request.decode_table);
        }
        if let Some((slot, false)) = request.metadata_slot {
            self.free_metadata.push(slot);
        }
        self.free_states.push(request.state_slot);
    }

    fn finish(&mut self, id: RequestId, finish: Finish, told: &mut Told) {
        self.counts.ended(finish);
        if let Some(request) = self.requests.get(&id) {
            let (prompt, cached) = (request.prompt.len(), request.cached);
            let end = Event::End {
                finish,
                prompt,
                cached,
            };
            told.push((id, end));
        }
        self.retire(id);
    }

    /// The requests at a stage, in the order in which they came.
    fn at(&self, is_there: impl Fn(&Stage) -> bool) -> Vec<RequestId> {
        let there = self.requests.iter();
        let there = there.filter(|(_, request)| is_there(&request.stage));
        there.map(|(&id, _)| id).collect()
    }
}
