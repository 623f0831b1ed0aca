//! Decode: one batch, a row for each request, a token for each row. The model sees nothing of a request
//! but what its page table shows.

use super::{RequestId, Scheduler, Stage, Told};
use crate::engine::request::{Event, Finish};
use crate::kv::{PAGE_TOKENS, PageContents, pages_for};
use crate::model;
use crate::token::{Token, tokenize};

impl Scheduler {
    /// Gives so many tokens to each request in the batch, and lets in whoever is ready.
    pub(super) fn generate(&mut self, tokens: usize, told: &mut Told) {
        for _ in 0..tokens {
            for id in self.batch.clone() {
                // An earlier row may have taken its pages.
                if self.batch.contains(&id) {
                    self.advance(id, told);
                }
            }
        }
        for id in self.at(|stage| *stage == Stage::Decode) {
            if !self.batch.contains(&id) {
                self.join(id);
            }
        }
    }

    /// A request whose KV is here enters the batch; its first token came with the metadata.
    fn join(&mut self, id: RequestId) {
        self.batch.push(id);
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let Some(slot) = request.metadata_slot.take() else {
            return;
        };
        if let Some(metadata) = self.metadata[slot].take() {
            request.visible = metadata.prompt;
            request.answer = metadata.first.into_iter().collect();
        }
        self.free_metadata.push(slot);
    }

    /// One more token for a request, if there is a page for it.
    fn advance(&mut self, id: RequestId, told: &mut Told) {
        let token = self.next_token(id);
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

    /// What the model says next. It reads again whenever somebody else wrote into the prompt's pages.
    fn next_token(&mut self, id: RequestId) -> Option<Token> {
        let request = self.requests.get_mut(&id)?;
        let given = request.given.len();
        let is_first = given == 0 && request.read_at.is_none();
        if let (true, Some(&first)) = (is_first, request.answer.first()) {
            return Some(first);
        }
        let pages = pages_for(request.prompt.len());
        let writes = self.decode.writes(&request.decode_table[..pages]);
        if request.read_at != Some(writes) {
            let text = self.decode.text(&request.decode_table, request.visible);
            request.answer = tokenize(&model::answer(&text));
            request.read_at = Some(writes);
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
        if let (true, Some(read_at)) = (beside_prompt, &mut request.read_at) {
            // Its own token is no news.
            *read_at += 1;
        }
    }

    /// Makes sure that the next token of a request has a page, if need be by taking those of the latest
    /// request. The oldest is never robbed, so that somebody always comes to an end.
    fn make_page(&mut self, id: RequestId) -> bool {
        while let Some(request) = self.requests.get_mut(&id) {
            if request.stage != Stage::Decode {
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
            match self.batch.iter().copied().max() {
                Some(latest) if self.batch.len() > 1 => self.retract(latest),
                // Those whose transfer is under way hold the rest; they come into the batch soon.
                _ => return false,
            }
        }
        false
    }

    /// Takes the pages of a request; what they hold waits in the host's memory.
    fn retract(&mut self, id: RequestId) {
        self.batch.retain(|row| *row != id);
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
            if let Stage::Swapped(contents) = std::mem::replace(&mut request.stage, Stage::Decode) {
                for (&page, contents) in table.iter().zip(&contents) {
                    self.decode.fill(page, contents);
                }
            }
            request.decode_table = table;
            request.read_at = None;
        }
    }
}
