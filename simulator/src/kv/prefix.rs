//! The cache of prefixes: which pages hold the KV of which beginnings of prompts. A trie whose edges are
//! whole pages, kept as a map from a page's key, which stands for everything before it as well.

use super::PAGE_TOKENS;
use super::pool::{PageId, PagePool};
use crate::token::Token;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Stands for a page and all pages before it, for one namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u64);

impl Key {
    /// The key before the first page of those who share a tenant, where there is one, a salt and an adapter.
    pub(crate) fn root(tenant: Option<&str>, salt: Option<&str>, adapter: Option<&str>) -> Self {
        let mut hasher = DefaultHasher::new();
        (tenant, salt, adapter).hash(&mut hasher);
        Self(hasher.finish())
    }

    /// The key of a page of these tokens after what `self` stands for.
    pub(crate) fn then(self, page: &[Token]) -> Self {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        for token in page {
            token.as_bytes().hash(&mut hasher);
        }
        Self(hasher.finish())
    }

    /// The keys of the whole pages of a prompt, each of so many bits.
    pub(crate) fn chain(root: Self, prompt: &[Token], bits: u32) -> Vec<Self> {
        let mut key = root;
        let pages = prompt.chunks_exact(PAGE_TOKENS);
        let keys = pages.map(|page| {
            key = Self(key.then(page).0 >> (u64::BITS - bits));
            key
        });
        keys.collect()
    }

    /// Bits of a key that collides with no other.
    pub(crate) const BITS: u32 = u64::BITS;
}

/// A page that went out of the cache, with what it stood for.
pub(crate) struct Evicted {
    pub(crate) key: Key,
    pub(crate) page: PageId,
}

struct Entry {
    page: PageId,
    parent: Key,
    /// Entries that go on where this one ends.
    children: u32,
    last_used: u64,
}

/// Holds one reference to each of its pages.
#[derive(Default)]
pub(crate) struct PrefixCache {
    entries: HashMap<Key, Entry>,
    uses: u64,
}

impl PrefixCache {
    /// The page of a key, if it is here and holds these tokens: the keys alone could collide. Without
    /// `tokens` nothing is compared.
    pub(crate) fn find(
        &mut self,
        pool: &PagePool,
        key: Key,
        tokens: Option<&[Token]>,
    ) -> Option<PageId> {
        self.uses += 1;
        let entry = self.entries.get_mut(&key)?;
        if tokens.is_some_and(|tokens| pool.contents(entry.page) != *tokens) {
            return None;
        }
        entry.last_used = self.uses;
        Some(entry.page)
    }

    /// Takes a page as one more holder, unless its key is here already.
    pub(crate) fn insert(&mut self, pool: &mut PagePool, parent: Key, key: Key, page: PageId) {
        self.uses += 1;
        if self.entries.contains_key(&key) {
            return;
        }
        pool.hold(page);
        if let Some(before) = self.entries.get_mut(&parent) {
            before.children += 1;
        }
        let entry = Entry {
            page,
            parent,
            children: 0,
            last_used: self.uses,
        };
        self.entries.insert(key, entry);
    }

    /// Lets go of pages that nobody else holds, the longest unused first and ends before beginnings,
    /// until so many were freed or none is left. They keep what they hold until they are written again.
    pub(crate) fn evict(&mut self, pool: &mut PagePool, count: usize) -> Vec<Evicted> {
        let is_end =
            |pool: &PagePool, entry: &Entry| entry.children == 0 && pool.holders(entry.page) == 1;
        let ends = self.entries.iter().filter(|(_, entry)| is_end(pool, entry));
        let mut ends: BinaryHeap<Reverse<(u64, Key)>> = ends
            .map(|(&key, entry)| Reverse((entry.last_used, key)))
            .collect();
        let mut evicted = Vec::new();
        while evicted.len() < count {
            let Some(Reverse((_, key))) = ends.pop() else {
                break;
            };
            let Some(entry) = self.entries.remove(&key) else {
                continue;
            };
            pool.release(entry.page);
            evicted.push(Evicted {
                key,
                page: entry.page,
            });
            if let Some(before) = self.entries.get_mut(&entry.parent) {
                before.children = before.children.saturating_sub(1);
                if is_end(pool, before) {
                    ends.push(Reverse((before.last_used, entry.parent)));
                }
            }
        }
        evicted
    }

    /// How many of its pages nobody else holds: they are as good as free.
    pub(crate) fn evictable(&self, pool: &PagePool) -> usize {
        let entries = self.entries.values();
        entries
            .filter(|entry| pool.holders(entry.page) == 1)
            .count()
    }

    /// The pages it holds.
    #[cfg(test)]
    pub(crate) fn held(&self) -> impl Iterator<Item = PageId> {
        self.entries.values().map(|entry| entry.page)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::token::tokenize;

    fn prompt(text: &str, pages: usize) -> Vec<Token> {
        let tokens = tokenize(&text.repeat(pages * PAGE_TOKENS));
        tokens[..pages * PAGE_TOKENS].to_vec()
    }

    /// Computes a prompt, and caches its pages.
    fn cached(cache: &mut PrefixCache, pool: &mut PagePool, root: Key, prompt: &[Token]) {
        let table = pool.allocate(prompt.len() / PAGE_TOKENS).unwrap();
        pool.write(&table, 0, prompt);
        let mut parent = root;
        for (key, &page) in Key::chain(root, prompt, Key::BITS).into_iter().zip(&table) {
            cache.insert(pool, parent, key, page);
            parent = key;
        }
        pool.release_all(table);
    }

    fn hits(cache: &mut PrefixCache, pool: &PagePool, root: Key, prompt: &[Token]) -> usize {
        let keys = Key::chain(root, prompt, Key::BITS);
        let pages = keys.iter().zip(prompt.chunks_exact(PAGE_TOKENS));
        pages
            .take_while(|(key, page)| cache.find(pool, **key, Some(page)).is_some())
            .count()
    }

    #[test]
    fn a_prefix_is_found_by_its_own_namespace_up_to_where_prompts_part() {
        let (mut cache, mut pool) = (PrefixCache::default(), PagePool::new(64 * 64));
        let (acme, globex) = (
            Key::root(Some("acme"), None, None),
            Key::root(Some("globex"), None, None),
        );
        let long = prompt(" a", 5);
        cached(&mut cache, &mut pool, acme, &long);
        let parting = [&long[..3 * PAGE_TOKENS], &prompt(" b", 2)[..]].concat();
        assert_eq!(hits(&mut cache, &pool, acme, &long), 5);
        assert_eq!(hits(&mut cache, &pool, acme, &parting), 3);
        assert_eq!(hits(&mut cache, &pool, globex, &long), 0);
        assert_eq!((pool.free_pages(), cache.evictable(&pool)), (59, 5));
    }

    #[test]
    fn ends_go_before_beginnings_the_longest_unused_first_and_never_what_is_in_use() {
        let (mut cache, mut pool) = (PrefixCache::default(), PagePool::new(64 * 64));
        let root = Key::root(Some(""), None, None);
        let (old, new) = (prompt(" a", 3), prompt(" b", 3));
        cached(&mut cache, &mut pool, root, &old);
        cached(&mut cache, &mut pool, root, &new);
        assert_eq!(cache.evict(&mut pool, 2).len(), 2);
        assert_eq!(hits(&mut cache, &pool, root, &old), 1);
        assert_eq!(hits(&mut cache, &pool, root, &new), 3);
        let first = Key::chain(root, &new, Key::BITS)[0];
        let page = cache.find(&pool, first, Some(&new[..PAGE_TOKENS])).unwrap();
        pool.hold(page);
        assert_eq!(cache.evict(&mut pool, 100).len(), 3);
        assert_eq!(hits(&mut cache, &pool, root, &new), 1);
        assert_eq!(pool.free_pages(), 63);
    }
}
