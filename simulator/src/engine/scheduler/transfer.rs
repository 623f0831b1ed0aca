//! The transfer: what prefill computed, page by page into the pages that decode set aside.

use super::{Scheduler, Stage};
use crate::kv::{PAGE_TOKENS, pages_for};

impl Scheduler {
    /// Sends so many pages for each request.
    pub(super) fn send(&mut self, budget: usize) {
        for id in self.at(|stage| matches!(stage, Stage::Transfer { .. })) {
            let Some(request) = self.requests.get_mut(&id) else {
                continue;
            };
            let Stage::Transfer { sent } = &mut request.stage else {
                continue;
            };
            let computed = request.prefill_table.len() * PAGE_TOKENS;
            let to_send = if request.prompt.len() > computed {
                // Only whole pages of what was computed are sent; the rest never is.
                computed / PAGE_TOKENS
            } else {
                pages_for(request.prompt.len())
            };
            let end = to_send.min(*sent + budget);
            for page in *sent..end {
                let contents = self.prefill.contents(request.prefill_table[page]);
                self.decode.fill(request.decode_table[page], &contents);
            }
            *sent = end;
            if end < to_send {
                continue;
            }
            if request.is_aborted {
                self.retire(id);
                continue;
            }
            // What the prefill pages hold stays, in the cache or as rubbish.
            request.stage = Stage::Decode;
            let table = std::mem::take(&mut request.prefill_table);
            self.prefill.release_all(table);
        }
    }
}
