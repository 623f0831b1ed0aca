//! A tier below the GPU's memory, host or disk: pages that went out of the prefix cache, by their key.

use super::PAGE_TOKENS;
use super::pool::PageContents;
use super::prefix::Key;
use std::collections::{HashMap, VecDeque};

/// Where a tier keeps a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot(usize);

struct Kept {
    key: Key,
    contents: Box<PageContents>,
    /// Loads under way from here.
    pins: u32,
}

/// Slots that are reused in the order in which they were filled.
pub(crate) struct Tier {
    slots: Vec<Kept>,
    index: HashMap<Key, Slot>,
    /// The longest filled first.
    order: VecDeque<Slot>,
    most: usize,
}

impl Tier {
    /// A tier that holds so many tokens.
    pub(crate) fn new(tokens: u32) -> Self {
        Self {
            slots: Vec::new(),
            index: HashMap::new(),
            order: VecDeque::new(),
            most: tokens as usize / PAGE_TOKENS,
        }
    }

    /// Where the page of a key is.
    pub(crate) fn find(&self, key: Key) -> Option<Slot> {
        self.index.get(&key).copied()
    }

    /// What a slot holds now.
    pub(crate) fn read(&self, slot: Slot) -> PageContents {
        *self.slots[slot.0].contents
    }

    /// Keeps a slot from being reused while something is loaded from it.
    pub(crate) fn pin(&mut self, slot: Slot) {
        self.slots[slot.0].pins += 1;
    }

    /// One load less.
    pub(crate) fn unpin(&mut self, slot: Slot) {
        let pins = &mut self.slots[slot.0].pins;
        *pins = pins.saturating_sub(1);
    }

    /// Keeps a page; returns the one that had to go for it. Nothing is kept while all slots are pinned.
    /// `index_stale`: the key of the page that went still leads to its slot.
    pub(crate) fn store(
        &mut self,
        key: Key,
        contents: PageContents,
        index_stale: bool,
    ) -> Option<(Key, PageContents)> {
        if self.index.contains_key(&key) || self.most == 0 {
            return None;
        }
        let kept = Kept {
            key,
            contents: Box::new(contents),
            pins: 0,
        };
        if self.slots.len() < self.most {
            let slot = Slot(self.slots.len());
            self.slots.push(kept);
            self.place(key, slot);
            return None;
        }
        let unpinned = self
            .order
            .iter()
            .position(|slot| self.slots[slot.0].pins == 0)?;
        let slot = self.order.remove(unpinned)?;
        let before = std::mem::replace(&mut self.slots[slot.0], kept);
        if !index_stale {
            self.index.remove(&before.key);
        }
        self.place(key, slot);
        Some((before.key, *before.contents))
    }

    fn place(&mut self, key: Key, slot: Slot) {
        self.index.insert(key, slot);
        self.order.push_back(slot);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::token::{Token, tokenize};

    fn page(text: &str) -> (Key, PageContents) {
        let mut contents = [Token::EMPTY; PAGE_TOKENS];
        contents[0] = tokenize(text)[0];
        (Key::root(Some(text), None, None), contents)
    }

    #[test]
    fn the_longest_kept_page_goes_for_a_new_one_unless_it_is_being_loaded() {
        let mut tier = Tier::new(2 * 64);
        let (a, b, c, d) = (page("a"), page("b"), page("c"), page("d"));
        assert_eq!(tier.store(a.0, a.1, false), None);
        assert_eq!(tier.store(b.0, b.1, false), None);
        assert_eq!(tier.store(b.0, b.1, false), None, "kept once");
        let loading = tier.find(a.0).unwrap();
        tier.pin(loading);
        assert_eq!(tier.store(c.0, c.1, false), Some(b));
        assert_eq!(tier.read(loading), a.1);
        tier.unpin(loading);
        assert_eq!(tier.store(d.0, d.1, false), Some(a));
        assert_eq!(tier.find(a.0), None);
        assert_eq!(tier.read(tier.find(c.0).unwrap()), c.1);
        assert_eq!(Tier::new(63).store(a.0, a.1, false), None);
    }
}
