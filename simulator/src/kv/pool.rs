//! One group's pool of pages.

use super::{PAGE_TOKENS, pages_for};
use crate::token::{Token, append_text};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Physical pages with a first-in-first-out free list (SGLang's: allocation takes from the front, freed
/// pages go to the back). Cheap to clone.
#[derive(Clone)]
pub(crate) struct PagePool {
    shared: Arc<Shared>,
}

struct Shared {
    memory: Mutex<Memory>,
    /// One permit for each free page; waiters are served in order, so nobody starves.
    free: Arc<Semaphore>,
    pages: usize,
}

struct Memory {
    entries: Vec<Token>,
    free: VecDeque<u32>,
}

/// The pages of one request, in order. They are freed when it is dropped, however the request ends;
/// what they hold stays.
pub(crate) struct PageTable {
    pages: Vec<u32>,
    shared: Arc<Shared>,
    _permit: OwnedSemaphorePermit,
}

impl Shared {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Every critical section below leaves the memory whole, so a panic elsewhere does no harm.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PagePool {
    /// A pool of whole pages within so many tokens.
    pub(crate) fn new(tokens: u32) -> Self {
        let pages = tokens as usize / PAGE_TOKENS;
        let memory = Memory {
            entries: vec![Token::EMPTY; pages * PAGE_TOKENS],
            free: (0..pages as u32).collect(),
        };
        Self {
            shared: Arc::new(Shared {
                memory: Mutex::new(memory),
                free: Arc::new(Semaphore::new(pages)),
                pages,
            }),
        }
    }

    /// How many tokens its pages hold.
    pub(crate) fn capacity(&self) -> usize {
        self.shared.pages * PAGE_TOKENS
    }

    /// Free and all pages.
    pub(crate) fn pages(&self) -> (usize, usize) {
        (self.shared.memory().free.len(), self.shared.pages)
    }

    /// Pages for so many tokens, waiting for them in turn. `None` if the pool has not so many at all.
    pub(crate) async fn allocate(&self, tokens: usize) -> Option<PageTable> {
        let wanted = pages_for(tokens);
        if wanted > self.shared.pages {
            return None;
        }
        let permits = u32::try_from(wanted).ok()?;
        // The semaphore is never closed.
        let permit = Arc::clone(&self.shared.free)
            .acquire_many_owned(permits)
            .await
            .ok()?;
        let pages = self.shared.memory().free.drain(..wanted).collect();
        Some(PageTable {
            pages,
            shared: Arc::clone(&self.shared),
            _permit: permit,
        })
    }
}

impl PageTable {
    /// How many tokens its pages hold.
    pub(crate) fn capacity(&self) -> usize {
        self.pages.len() * PAGE_TOKENS
    }

    /// Writes KV entries from a position on; the caller keeps within [`Self::capacity`].
    pub(crate) fn write(&self, position: usize, tokens: &[Token]) {
        let mut memory = self.shared.memory();
        for (offset, token) in tokens.iter().enumerate() {
            let entry = self.entry(position + offset);
            memory.entries[entry] = *token;
        }
    }

    /// Copies the contents of one page of `from` into the same page of this table.
    pub(crate) fn receive_page(&self, from: &Self, page: usize) {
        let mut contents = [Token::EMPTY; PAGE_TOKENS];
        contents.copy_from_slice(&from.shared.memory().entries[from.page(page)]);
        self.shared.memory().entries[self.page(page)].copy_from_slice(&contents);
    }

    /// The text of the first `tokens` positions: whatever the pages hold, whoever wrote it.
    pub(crate) fn text(&self, tokens: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(tokens * 5);
        for page in 0..pages_for(tokens) {
            let entries = self.page(page);
            let visible = (tokens - page * PAGE_TOKENS).min(PAGE_TOKENS);
            append_text(&self.shared.memory().entries[entries][..visible], &mut text);
        }
        text
    }

    fn page(&self, page: usize) -> Range<usize> {
        let start = self.pages[page] as usize * PAGE_TOKENS;
        start..start + PAGE_TOKENS
    }

    fn entry(&self, position: usize) -> usize {
        self.page(position / PAGE_TOKENS).start + position % PAGE_TOKENS
    }
}

impl Drop for PageTable {
    fn drop(&mut self) {
        // The list first: whoever gets the permits, which go after this, must find the pages there.
        self.shared.memory().free.extend(self.pages.drain(..));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::token::tokenize;
    use proptest::prelude::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn what_a_page_holds_stays_when_it_is_freed_and_freed_pages_come_back_last() {
        block_on(async {
            let pool = PagePool::new(3 * 64);
            let first = pool.allocate(64).await.unwrap();
            first.write(0, &tokenize("a stranger's secret"));
            drop(first);
            let others = pool.allocate(2 * 64).await.unwrap();
            assert_eq!(others.text(128), b"");
            let again = pool.allocate(1).await.unwrap();
            assert_eq!(again.text(64), b"a stranger's secret");
        });
    }

    #[test]
    fn a_request_for_more_than_the_pool_is_refused_and_one_for_more_than_is_free_waits() {
        block_on(async {
            let pool = PagePool::new(2 * 64);
            assert!(pool.allocate(129).await.is_none());
            let held = pool.allocate(65).await.unwrap();
            let waiting = tokio::spawn({
                let pool = pool.clone();
                async move { pool.allocate(1).await.is_some() }
            });
            tokio::task::yield_now().await;
            assert!(!waiting.is_finished());
            drop(held);
            assert!(waiting.await.unwrap());
        });
    }

    proptest! {
        #[test]
        fn no_page_ever_has_two_owners_and_none_is_lost(sizes in proptest::collection::vec((1usize..700, any::<bool>()), 1..60)) {
            block_on(async {
                let pool = PagePool::new(1_024);
                let mut tables: Vec<PageTable> = Vec::new();
                for (tokens, free_one) in sizes {
                    if free_one && !tables.is_empty() {
                        tables.remove(0);
                    }
                    if pages_for(tokens) <= pool.pages().0 {
                        tables.push(pool.allocate(tokens).await.unwrap());
                    }
                    let mut owned: Vec<u32> = tables.iter().flat_map(|table| table.pages.iter().copied()).collect();
                    owned.sort_unstable();
                    let count = owned.len();
                    owned.dedup();
                    assert_eq!(owned.len(), count, "a page with two owners");
                    assert_eq!(pool.pages().0 + count, 16, "a page was lost");
                }
            });
        }
    }
}
