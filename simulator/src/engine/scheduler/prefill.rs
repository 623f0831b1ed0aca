//! Prefill: the KV of the prompts, a chunk at a time, the oldest request first.

use super::{Metadata, RequestId, Scheduler, Stage};
use crate::engine::thinking::OPENING;
use crate::kv::PAGE_TOKENS;
use crate::model;
use crate::token::{Token, tokenize};

impl Scheduler {
    /// Computes so many tokens.
    pub(super) fn compute(&mut self, mut budget: usize) {
        for id in self.at(|stage| matches!(stage, Stage::Prefill { .. })) {
            if budget == 0 {
                return;
            }
            budget -= self.compute_chunk(id, budget);
        }
    }

    /// Computes the next tokens of a request; returns how many.
    fn compute_chunk(&mut self, id: RequestId, budget: usize) -> usize {
        let Some(request) = self.requests.get_mut(&id) else {
            return 0;
        };
        let Stage::Prefill { computed } = request.stage else {
            return 0;
        };
        let reach = request
            .prompt
            .len()
            .min(request.prefill_table.len() * PAGE_TOKENS);
        let end = reach.min(computed + budget);
        let chunk = &request.prompt[computed..end];
        self.prefill.write(&request.prefill_table, computed, chunk);
        request.stage = Stage::Prefill { computed: end };
        self.counts.computed_tokens += chunk.len() as u64;
        if end == reach {
            self.end_prefill(id, end);
        }
        end - computed
    }

    /// The prompt is computed, or the pool is exhausted in the midst of it.
    fn end_prefill(&mut self, id: RequestId, computed: usize) {
        let Some(slot) = self.free_metadata.pop() else {
            // Another step, when one is free.
            return;
        };
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let mut first = None;
        if computed == request.prompt.len() {
            let text = self.prefill.text(&request.prefill_table, computed);
            first = match request.thinking {
                Some(_) => OPENING.first().copied(),
                None => first_token(&text),
            };
            let mut parent = request.root;
            for (&key, &page) in request.keys.iter().zip(&request.prefill_table) {
                self.prefix.insert(&mut self.prefill, parent, key, page);
                parent = key;
            }
        }
        self.metadata[slot] = Some(Metadata {
            prompt: request.prompt.len(),
            first,
        });
        request.metadata_slot = Some((slot, false));
        self.begin_transfer(id);
    }
}

fn first_token(text: &[u8]) -> Option<Token> {
    tokenize(&model::answer(text)).first().copied()
}
