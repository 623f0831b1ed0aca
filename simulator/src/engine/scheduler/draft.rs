//! What comes next in each row: the processor of logits has the last word, and with speculative decoding
//! a step may bring several tokens of a row.
//!
//! A drafter proposes what followed the last tokens where they stood before (prompt lookup). The verifier
//! compares with what the model says, lets through the longest right beginning and adds a token of its
//! own: the answer is the same as without, in fewer steps. What it lets through lies in one buffer that
//! the whole batch shares.

use super::Scheduler;
use crate::engine::request::{Reading, Request};
use crate::engine::thinking::thoughts;
use crate::fault::Fault;
use crate::model;
use crate::token::{Token, append_text, tokenize};

/// Tokens that the drafter proposes at most.
const DRAFTS: usize = 4;
/// So many last tokens are looked up.
const LOOKED_UP: usize = 2;

/// What a row says next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Saying {
    /// `None` at the end of the answer.
    pub(super) token: Option<Token>,
    /// Whether the processor of logits chose it.
    pub(super) is_forced: bool,
}

impl Scheduler {
    /// What each row of the batch gets in this step.
    pub(super) fn verify(&mut self) -> Vec<Vec<Saying>> {
        for (row, said) in self.sampled().into_iter().enumerate() {
            match self.verified.get_mut(row) {
                Some(before) => *before = said,
                None => self.verified.push(said),
            }
        }
        let rows = self.verified_rows.iter().enumerate();
        let read = rows.map(|(row, &reads)| self.verified.get(reads).or(self.verified.get(row)));
        read.map(|said| said.cloned().unwrap_or_default()).collect()
    }

    /// What comes next in each row. The batch runs in two halves, whose logits are sampled together.
    fn sampled(&mut self) -> Vec<Vec<Saying>> {
        let rows = self.batch.len();
        let half = rows.div_ceil(2);
        let first: Vec<_> = (0..half).map(|row| self.next_in(row)).collect();
        let second: Vec<_> = (half..rows).map(|row| self.next_in(row)).collect();
        let mut buffer = first;
        if rows > half && self.faults.meets(Fault::LogitsShared) {
            buffer[..second.len()].clone_from_slice(&second);
        }
        buffer.into_iter().chain(second).collect()
    }

    /// The next token of a row, and as many more as the drafts before them are right.
    fn next_in(&mut self, row: usize) -> Vec<Saying> {
        let budget = self.budgets.get(row).copied();
        let Some((request, is_first)) = self.read(row) else {
            return vec![Saying {
                token: None,
                is_forced: false,
            }];
        };
        let (mut voice, mut budget) = (request.voice, budget.unwrap_or_default());
        let drafts = if is_first {
            Vec::new()
        } else {
            self.drafts(row)
        };
        let Some(request) = self.request_in(row) else {
            return Vec::new();
        };
        let mut said = Vec::new();
        let accepted = loop {
            let forced = budget.forced();
            let own = || match request.first.filter(|_| is_first) {
                Some(first) => Some(first),
                None => voice.next(&request.thoughts, &request.answer),
            };
            let token = forced.or_else(own);
            let draft = drafts.get(said.len());
            said.push(Saying {
                token,
                is_forced: forced.is_some(),
            });
            let Some(token) = token.filter(|token| draft == Some(token)) else {
                break said.len() - 1;
            };
            voice.pass(token, forced.is_some());
            budget.pass(token);
        };
        let counts = &mut self.counts;
        counts.drafts += u64::from(!drafts.is_empty());
        counts.drafted += drafts.len() as u64;
        counts.accepted += accepted as u64;
        said
    }

    fn request_in(&self, row: usize) -> Option<&Request> {
        self.requests.get(self.batch.get(row)?)
    }

    /// The request of a row, after the model has read what the row shows, and whether its first token is
    /// known without. It reads again whenever somebody else wrote there.
    fn read(&mut self, row: usize) -> Option<(&Request, bool)> {
        let request = self.requests.get_mut(self.batch.get(row)?)?;
        if request.given.is_empty() && request.read_at.is_none() && request.first.is_some() {
            return Some((request, true));
        }
        let pages = self.rows.get(row)?;
        let reading = Reading {
            first: pages.first().copied(),
            writes: self.decode.writes(pages),
        };
        if request.read_at != Some(reading) {
            // What a recurrent state keeps comes before everything.
            let mut text = Vec::new();
            append_text(&request.inherited, &mut text);
            text.extend(self.decode.text(pages, request.visible));
            request.answer = tokenize(&model::answer(&text));
            if request.thinking.is_some() {
                request.thoughts = thoughts(&text);
            }
            request.read_at = Some(reading);
        }
        Some((request, false))
    }

    /// What the drafter proposes for a row.
    fn drafts(&self, row: usize) -> Vec<Token> {
        let request = self.request_in(row).filter(|_| self.config.speculates());
        let looked_up = request.and_then(|request| {
            let start = request.given.len().checked_sub(LOOKED_UP)?;
            let (last, prompt) = (&request.given[start..], &request.prompt);
            let at = prompt.windows(LOOKED_UP).rposition(|pair| pair == last)?;
            let followed = &prompt[at + LOOKED_UP..];
            Some(followed[..followed.len().min(DRAFTS)].to_vec())
        });
        looked_up.unwrap_or_default()
    }
}
