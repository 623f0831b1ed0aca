//! The scanner of one stream: what of it must be kept until later bytes have come.

use super::hunt::Hunt;
use super::sieve::BLOCK;
use super::{Effort, Search, Sighting, Work};
use crate::key::KeyRing;

/// Finds canaries in one text that arrives in chunks. Keeps a constant amount of it
/// (at most 8 KiB, 512 bytes in an exact search), however long it is and however it is cut.
pub struct Scanner {
    hunt: Hunt,
    /// The end of what has arrived, as far as later bytes may still have a say in it.
    kept: Vec<u8>,
    /// The offset in the text of the first byte of `kept`; a multiple of [`BLOCK`].
    base: u64,
}

impl Scanner {
    /// A scanner at the start of a text, for everything that can be told with the keys alone.
    #[must_use]
    pub fn new(ring: KeyRing) -> Self {
        Search::new(ring).scanner()
    }

    pub(super) fn of(search: Search) -> Self {
        Self {
            hunt: Hunt::new(search),
            kept: Vec::new(),
            base: 0,
        }
    }

    /// Takes the next bytes of the text and reports what can be told by now.
    pub fn push(&mut self, chunk: &[u8], found: &mut Vec<Sighting>) {
        let mut rest = chunk;
        let piece = 4 * (self.hunt.keeps() + BLOCK);
        while !rest.is_empty() {
            if self.kept.is_empty() {
                // Nothing is owed to earlier bytes: the chunk is read where it lies.
                let needed = self.hunt.advance(rest, self.base, false, found);
                let done = (needed - self.base) as usize;
                self.kept.extend_from_slice(&rest[done..]);
                self.base = needed;
                return;
            }
            let before = self.kept.len();
            let (head, tail) = rest.split_at(piece.min(rest.len()));
            self.kept.extend_from_slice(head);
            let needed = self.hunt.advance(&self.kept, self.base, false, found);
            let done = (needed - self.base) as usize;
            self.base = needed;
            if done >= before {
                // What is still needed lies in this chunk.
                rest = &rest[done - before..];
                self.kept.clear();
            } else {
                self.kept.drain(..done);
                rest = tail;
            }
        }
    }

    /// Ends the text, reports what its last bytes hold, and tells what was spent in all.
    pub fn finish(mut self, found: &mut Vec<Sighting>) -> Work {
        self.finish_text(found)
    }

    /// Like [`finish`](Self::finish), and the scanner stands at the start of another text then: cheaper
    /// for many short texts than a new scanner each.
    pub fn finish_text(&mut self, found: &mut Vec<Sighting>) -> Work {
        self.hunt.advance(&self.kept, self.base, true, found);
        self.kept.clear();
        self.base = 0;
        self.hunt.restart()
    }

    /// Changes the effort that this text, and the next ones, may take.
    pub fn set_effort(&mut self, effort: Effort) {
        self.hunt.search.effort = effort;
    }

    /// How many bytes are kept for what has not been decided yet.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.kept.len()
    }

    /// What has been spent so far.
    #[must_use]
    pub fn work(&self) -> Work {
        self.hunt.work()
    }
}
