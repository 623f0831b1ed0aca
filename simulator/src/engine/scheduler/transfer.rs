//! The transfer: what prefill computed, page by page into the pages that decode set aside.

use super::{RequestId, Scheduler, Stage, Told};
use crate::engine::request::{Event, Refusal, Request, Transfer};
use crate::fault::Fault;
use crate::kv::{PAGE_TOKENS, pages_for};

/// Of what others get, an aborted request's transfer gets one in so many pages.
const ABORTED_SHARE: usize = 4;

impl Scheduler {
    /// Prefill has come to its end; from here on pages are sent.
    pub(super) fn begin_transfer(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let faults = &mut self.faults;
        let pages = pages_to_send(request, || faults.meets(Fault::BoundaryOffByOne));
        let ignores_break = self.faults.meets(Fault::TransferFailureIgnored);
        let breaks = ignores_break || self.faults.happens(self.config.transfer_failures);
        let source_is_free = self.faults.meets(Fault::SourceFreedEarly);
        if source_is_free {
            let table = request.prefill_table.clone();
            self.prefill.release_all(table);
        }
        request.stage = Stage::Transfer(Transfer {
            sent: 0,
            owed: 0,
            pages,
            breaks_after: breaks.then_some(pages / 2),
            ignores_break,
            is_overtaken: self.faults.meets(Fault::DecodeBeforeTransfer),
            source_is_free,
            is_aborted: false,
            target_is_free: false,
        });
    }

    /// Sends so many pages for each request.
    pub(super) fn send(&mut self, budget: usize, told: &mut Told) {
        for id in self.at(|stage| matches!(stage, Stage::Transfer(_))) {
            let Some(request) = self.requests.get_mut(&id) else {
                continue;
            };
            let Stage::Transfer(transfer) = &mut request.stage else {
                continue;
            };
            let reach = transfer.breaks_after.unwrap_or(transfer.pages);
            let pages = if transfer.is_aborted {
                // What nobody waits for any more drains behind the rest.
                transfer.owed += budget;
                let pages = transfer.owed / ABORTED_SHARE;
                transfer.owed %= ABORTED_SHARE;
                pages
            } else {
                budget
            };
            let end = reach.min(transfer.sent + pages);
            for page in transfer.sent..end {
                let contents = self.prefill.contents(request.prefill_table[page]);
                self.decode.fill(request.decode_table[page], &contents);
            }
            transfer.sent = end;
            if end < reach {
                continue;
            }
            let Transfer {
                breaks_after,
                ignores_break,
                is_aborted,
                ..
            } = *transfer;
            if is_aborted {
                self.retire(id);
            } else if breaks_after.is_some() && !ignores_break {
                self.counts.failed_transfers += 1;
                self.counts.failed += 1;
                told.push((id, Event::Failed(Refusal::Internal)));
                self.retire(id);
            } else {
                self.end_transfer(id);
            }
        }
    }

    /// All pages are there, or are taken to be.
    fn end_transfer(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let before = std::mem::replace(&mut request.stage, Stage::Decode);
        // What the prefill pages hold stays, in the cache or as rubbish.
        let table = std::mem::take(&mut request.prefill_table);
        if matches!(before, Stage::Transfer(transfer) if !transfer.source_is_free) {
            self.prefill.release_all(table);
            self.is_full = false;
        }
        if let Some((slot, is_free @ false)) = &mut request.metadata_slot
            && self.faults.meets(Fault::MetadataSlotReused)
        {
            *is_free = true;
            self.free_metadata.push(*slot);
        }
    }
}

fn pages_to_send(request: &Request, is_off_by_one: impl FnOnce() -> bool) -> usize {
    let computed = request.prefill_table.len() * PAGE_TOKENS;
    let tokens = request.prompt.len();
    if tokens > computed {
        // Only whole pages of what was computed are sent; the rest never is.
        return computed / PAGE_TOKENS;
    }
    // Whole pages before the end, then the page in which it lies.
    let last = usize::from(!tokens.is_multiple_of(PAGE_TOKENS) || !is_off_by_one());
    pages_for(tokens).saturating_sub(1) + last
}
