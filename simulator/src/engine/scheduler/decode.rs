//! Decode: one batch, a row for each request, a token for each row. The model sees nothing of a request
//! but what its page table shows.

use super::draft::Saying;
use super::{RequestId, Scheduler, Stage, Told};
use crate::engine::request::{Event, Finish};
use crate::engine::thinking::Budget;
use crate::fault::Fault;
use crate::kv::{PAGE_TOKENS, PageContents, pages_for};
use crate::token::Token;

impl Scheduler {
    /// Lets in whoever is ready. Its first token came with the metadata.
    pub(super) fn join_ready(&mut self) {
        let ready = self
            .requests
            .iter()
            .filter(|(_, request)| request.is_decoding());
        let ready: Vec<RequestId> = ready.map(|(&id, _)| id).collect();
        for id in ready {
            if !self.batch.contains(&id) {
                self.join(id);
            }
        }
    }

    fn join(&mut self, id: RequestId) {
        self.batch.push(id);
        if let Some(request) = self.requests.get_mut(&id)
            && let Some((slot, is_free)) = request.metadata_slot.take()
        {
            if let Some(metadata) = self.metadata[slot] {
                request.visible = metadata.prompt;
                request.first = metadata.first;
            }
            if !is_free {
                self.free_metadata.push(slot);
            }
        }
        let Some(request) = self.requests.get(&id) else {
            return;
        };
        // Its row comes after those of the others.
        let row = self.batch.len() - 1;
        let pages = pages_for(request.prompt.len()).min(request.decode_table.len());
        self.rows.truncate(row);
        self.rows.push(request.decode_table[..pages].to_vec());
        self.budgets.truncate(row);
        self.budgets
            .push(Budget::after(request.thinking, &request.given));
        self.verified_rows.push(row);
    }

    /// A request leaves the batch; the rows behind it move up.
    pub(super) fn leave(&mut self, id: RequestId) {
        let Some(row) = self.batch.iter().position(|&other| other == id) else {
            return;
        };
        self.batch.remove(row);
        let is_last = row == self.batch.len();
        if is_last || !self.faults.meets(Fault::TableRowsNotMoved) {
            self.rows.remove(row);
        }
        if is_last || !self.faults.meets(Fault::BudgetOfNeighbour) {
            self.budgets.remove(row);
        }
        self.verified_rows.remove(row);
        if is_last || !self.faults.meets(Fault::DraftOfNeighbour) {
            for reads in &mut self.verified_rows[row..] {
                *reads = reads.saturating_sub(1);
            }
        }
    }

    /// Lets each request in the batch go on by so many steps.
    pub(super) fn generate(&mut self, steps: usize, told: &mut Told) {
        for _ in 0..steps {
            let batch = self.batch.clone();
            self.counts.steps += u64::from(!batch.is_empty());
            self.counts.rows += batch.len() as u64;
            for (id, sayings) in batch.iter().zip(self.verify()) {
                for saying in sayings {
                    // An earlier row may have taken its pages, or it has come to its end.
                    if self.batch.contains(id) {
                        self.advance(*id, saying, told);
                    }
                }
            }
        }
    }

    /// One more token for a request, if there is a page for it.
    fn advance(&mut self, id: RequestId, saying: Saying, told: &mut Told) {
        let Some(request) = self.requests.get(&id) else {
            return;
        };
        match saying.token {
            None => self.finish(id, Finish::Stop, told),
            Some(_) if request.given.len() >= request.most => self.finish(id, Finish::Length, told),
            Some(token) => {
                if self.make_page(id) {
                    self.give(id, token, saying.is_forced);
                    told.push((id, Event::Token(token)));
                }
            }
        }
    }

    /// Writes a token into the request's own page.
    fn give(&mut self, id: RequestId, token: Token, is_forced: bool) {
        let row = self.batch.iter().position(|&other| other == id);
        if let Some(budget) = row.and_then(|row| self.budgets.get_mut(row)) {
            budget.pass(token);
        }
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let position = request.length();
        self.decode.write(&request.decode_table, position, &[token]);
        request.given.push(token);
        request.voice.pass(token, is_forced);
        self.counts.given_tokens += 1;
        self.counts.longest = self.counts.longest.max(request.length() as u64);
        let beside_prompt = position / PAGE_TOKENS < pages_for(request.prompt.len());
        let own = request.decode_table.first().copied();
        if let (true, Some(reading)) = (beside_prompt, &mut request.read_at)
            && reading.first == own
        {
            // Its own token is no news.
            reading.writes += 1;
        }
    }

    /// Makes sure that the next token of a request has a page, if need be by taking those of the latest
    /// request. The oldest is never robbed, so that somebody always comes to an end.
    fn make_page(&mut self, id: RequestId) -> bool {
        while let Some(request) = self.requests.get_mut(&id) {
            if !request.is_decoding() {
                // It was the latest itself.
                return false;
            }
            if pages_for(request.length() + 1) <= request.decode_table.len() {
                return true;
            }
            if let Some(page) = self.decode.allocate(1) {
                request.decode_table.extend(page);
                return true;
            }
            let whole = |id: &&RequestId| {
                let request = self.requests.get(id);
                request.is_some_and(|request| request.stage == Stage::Decode)
            };
            match self.batch.iter().filter(whole).max().copied() {
                Some(latest) if self.batch.len() > 1 => self.retract(latest),
                // Those whose transfer is under way hold the rest; they come into the batch soon.
                _ => return false,
            }
        }
        false
    }

    /// Takes the pages of a request; what they hold waits in the host's memory.
    fn retract(&mut self, id: RequestId) {
        self.leave(id);
        self.counts.retractions += 1;
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let table = std::mem::take(&mut request.decode_table);
        let used = &table[..pages_for(request.length()).min(table.len())];
        let contents: Vec<PageContents> = used
            .iter()
            .map(|&page| self.decode.contents(page))
            .collect();
        request.stage = Stage::Swapped(contents);
        self.decode.release_all(table);
        self.is_full = false;
    }

    /// Gives the oldest retracted requests their contents back, as far as there are pages.
    pub(super) fn resume_swapped(&mut self) {
        while let Some(id) = self.swapped() {
            let Some(request) = self.requests.get_mut(&id) else {
                return;
            };
            let Some(table) = self.decode.allocate(pages_for(request.length() + 1)) else {
                return;
            };
            let before = std::mem::replace(&mut request.stage, Stage::Decode);
            let is_restored = !self.faults.meets(Fault::SwapNotRestored);
            if let (true, Stage::Swapped(contents)) = (is_restored, before) {
                for (&page, contents) in table.iter().zip(&contents) {
                    self.decode.fill(page, contents);
                }
            }
            request.decode_table = table;
            request.read_at = None;
        }
    }
}
