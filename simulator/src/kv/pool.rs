//! One group's pool of pages.

use super::{PAGE_TOKENS, pages_for};
use crate::token::{Token, append_text};
use std::collections::VecDeque;

/// What a page holds.
pub(crate) type PageContents = [Token; PAGE_TOKENS];

/// A physical page of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageId(u32);

/// Physical pages with a first-in-first-out free list (SGLang's: allocation takes from the front, freed
/// pages go to the back). A page may have several holders: requests with the same prefix, and the cache.
pub(crate) struct PagePool {
    entries: Vec<Token>,
    holders: Vec<u32>,
    /// How often each page was written.
    writes: Vec<u64>,
    free: VecDeque<PageId>,
}

impl PagePool {
    /// A pool of whole pages within so many tokens.
    pub(crate) fn new(tokens: u32) -> Self {
        let pages = tokens as usize / PAGE_TOKENS;
        Self {
            entries: vec![Token::EMPTY; pages * PAGE_TOKENS],
            holders: vec![0; pages],
            writes: vec![0; pages],
            free: (0..pages as u32).map(PageId).collect(),
        }
    }

    /// How many tokens its pages hold.
    pub(crate) fn capacity(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn pages(&self) -> usize {
        self.holders.len()
    }

    pub(crate) fn free_pages(&self) -> usize {
        self.free.len()
    }

    /// Takes so many pages, each with one holder; `None` if not so many are free.
    pub(crate) fn allocate(&mut self, count: usize) -> Option<Vec<PageId>> {
        if count > self.free.len() {
            return None;
        }
        let taken: Vec<PageId> = self.free.drain(..count).collect();
        for &page in &taken {
            self.holders[index(page)] = 1;
        }
        Some(taken)
    }

    /// One more holder of a page.
    pub(crate) fn hold(&mut self, page: PageId) {
        self.holders[index(page)] += 1;
    }

    /// One holder less; the last one's page is free again. What it holds stays.
    pub(crate) fn release(&mut self, page: PageId) {
        let holders = &mut self.holders[index(page)];
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            self.free.push_back(page);
        }
    }

    /// Releases all pages of a table.
    pub(crate) fn release_all(&mut self, table: Vec<PageId>) {
        for page in table {
            self.release(page);
        }
    }

    pub(crate) fn holders(&self, page: PageId) -> u32 {
        self.holders[index(page)]
    }

    /// How often the pages of a table were written, together: it grows when anybody writes into them.
    pub(crate) fn writes(&self, table: &[PageId]) -> u64 {
        table.iter().map(|&page| self.writes[index(page)]).sum()
    }

    /// Writes KV entries from a position on; the caller keeps within the table.
    pub(crate) fn write(&mut self, table: &[PageId], position: usize, tokens: &[Token]) {
        let mut written = 0;
        while written < tokens.len() {
            let at = position + written;
            let (page, offset) = (table[at / PAGE_TOKENS], at % PAGE_TOKENS);
            let length = (tokens.len() - written).min(PAGE_TOKENS - offset);
            let start = index(page) * PAGE_TOKENS + offset;
            self.entries[start..start + length].copy_from_slice(&tokens[written..written + length]);
            self.writes[index(page)] += 1;
            written += length;
        }
    }

    /// Writes a whole page.
    pub(crate) fn fill(&mut self, page: PageId, contents: &PageContents) {
        self.write(&[page], 0, contents);
    }

    /// What a page holds, whoever wrote it.
    pub(crate) fn contents(&self, page: PageId) -> PageContents {
        let start = index(page) * PAGE_TOKENS;
        let mut contents = [Token::EMPTY; PAGE_TOKENS];
        contents.copy_from_slice(&self.entries[start..start + PAGE_TOKENS]);
        contents
    }

    /// The text of the first `tokens` positions of a table: whatever its pages hold.
    pub(crate) fn text(&self, table: &[PageId], tokens: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(tokens * 5);
        for (number, &page) in table.iter().enumerate().take(pages_for(tokens)) {
            let visible = (tokens - number * PAGE_TOKENS).min(PAGE_TOKENS);
            let start = index(page) * PAGE_TOKENS;
            append_text(&self.entries[start..start + visible], &mut text);
        }
        text
    }
}

fn index(page: PageId) -> usize {
    page.0 as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::token::tokenize;

    #[test]
    fn what_a_page_holds_stays_when_it_is_freed_and_freed_pages_come_back_last() {
        let mut pool = PagePool::new(3 * 64);
        let first = pool.allocate(1).unwrap();
        pool.write(&first, 0, &tokenize("a stranger's secret"));
        pool.release_all(first);
        let others = pool.allocate(2).unwrap();
        assert_eq!(pool.text(&others, 128), b"");
        let again = pool.allocate(1).unwrap();
        assert_eq!(pool.text(&again, 64), b"a stranger's secret");
        assert_eq!(pool.allocate(1), None);
    }

    #[test]
    fn a_page_is_free_when_its_last_holder_lets_go() {
        let mut pool = PagePool::new(64);
        let page = pool.allocate(1).unwrap()[0];
        pool.hold(page);
        pool.release(page);
        assert_eq!((pool.holders(page), pool.free_pages()), (1, 0));
        pool.release(page);
        assert_eq!((pool.holders(page), pool.free_pages()), (0, 1));
    }

    #[test]
    fn a_write_may_cross_pages_and_is_counted_for_each() {
        let mut pool = PagePool::new(2 * 64);
        let table = pool.allocate(2).unwrap();
        pool.write(&table, 60, &tokenize(" one two three four five six"));
        assert_eq!(pool.writes(&table), 2);
        assert_eq!(pool.text(&table, 128), b" one two three four five six");
        assert_eq!(pool.text(&table, 62), b" one two");
    }
}
