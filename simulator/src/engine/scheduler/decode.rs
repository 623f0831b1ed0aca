//! Decode: one batch, a row for each request, a token for each row. The model sees nothing of a request
//! but what its page table shows.

use super::{RequestId, Scheduler, Stage, Told};
use crate::engine::request::{Event, Finish, Reading};
use crate::fault::Fault;
use crate::kv::{PAGE_TOKENS, PageContents, pages_for};
use crate::model;
use crate::token::{Token, append_text, tokenize};

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
                request.answer = metadata.first.into_iter().collect();
            }
            if !is_free {
                self.free_metadata.push(slot);
            }
        }
        // Its row comes after those of the others.
        let row = self.requests.get(&id).map_or_else(Vec::new, |request| {
            let pages = pages_for(request.prompt.len()).min(request.decode_table.len());
            request.decode_table[..pages].to_vec()
        });
        self.rows.truncate(self.batch.len() - 1);
        self.rows.push(row);
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
    }

    /// Gives so many tokens to each request in the batch.
    pub(super) fn generate(&mut self, tokens: usize, told: &mut Told) {
        for _ in 0..tokens {
            let batch = self.batch.clone();
            for (id, token) in batch.iter().zip(self.sampled()) {
                // An earlier row may have taken its pages.
                if self.batch.contains(id) {
                    self.advance(*id, token, told);
                }
            }
        }
    }

    /// The next token of each row. The batch runs in two halves, whose logits are sampled together.
    fn sampled(&mut self) -> Vec<Option<Token>> {
        let rows = self.batch.len();
        let half = rows.div_ceil(2);
        let first: Vec<_> = (0..half).map(|row| self.next_token(row)).collect();
        let second: Vec<_> = (half..rows).map(|row| self.next_token(row)).collect();
        let mut buffer = first.clone();
        if rows > half && self.faults.meets(Fault::LogitsShared) {
            buffer[..second.len()].copy_from_slice(&second);
        }
        buffer.into_iter().chain(second).collect()
    }

    /// One more token for a request, if there is a page for it.
    fn advance(&mut self, id: RequestId, token: Option<Token>, told: &mut Told) {
        let Some(request) = self.requests.get(&id) else {
            return;
        };
        match token {
            None => self.finish(id, Finish::Stop, told),
            Some(_) if request.given.len() >= request.most => self.finish(id, Finish::Length, told),
            Some(token) => {
                if self.make_page(id) {
                    self.give(id, token);
                    told.push((id, Event::Token(token)));
                }
            }
        }
    }

    /// What the model says next to what a row shows. It reads again whenever somebody else wrote there.
    fn next_token(&mut self, row: usize) -> Option<Token> {
        let request = self.requests.get_mut(self.batch.get(row)?)?;
        let given = request.given.len();
        let is_first = given == 0 && request.read_at.is_none();
        if let (true, Some(&first)) = (is_first, request.answer.first()) {
            return Some(first);
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
            request.read_at = Some(reading);
        }
        request.answer.get(given).copied()
    }

    /// Writes a token into the request's own page.
    fn give(&mut self, id: RequestId, token: Token) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let position = request.length();
        self.decode.write(&request.decode_table, position, &[token]);
        request.given.push(token);
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
