//! Scanning: which of our canaries stand in a stream of bytes.
//!
//! The cost does not depend on how many canaries were ever planted: every writing that could be a
//! canary is opened with the key ring, and its tag says whether it is one. The scanner is
//! incremental: however a text is cut into chunks, the sightings are the same, because a place is
//! judged only once the longest writing that could start there has arrived (or the text has ended).

mod exact;

use crate::canary::Identity;
use crate::form::{Form, LONGEST};
use crate::key::{KeyId, KeyRing};

/// A canary found in a text. Exact: all 128 bits were there and the tag was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Whose canary, from which probe and slot.
    pub identity: Identity,
    /// The key that sealed it.
    pub key: KeyId,
    /// How it was written.
    pub form: Form,
    /// Where it starts, in bytes from the start of the text.
    pub offset: u64,
    /// How many bytes it takes.
    pub length: usize,
}

/// Finds canaries in one text that arrives in chunks. Holds at most one chunk and 48 bytes.
pub struct Scanner {
    ring: KeyRing,
    /// The end of the last chunk, where a canary may have begun, and the current chunk.
    buffer: Vec<u8>,
    /// The offset in the text of the first byte of `buffer`.
    base: u64,
    /// The first place in `buffer` not judged yet (beyond its end after a sighting that reaches so far).
    next: usize,
}

impl Scanner {
    /// A scanner at the start of a text.
    #[must_use]
    pub fn new(ring: KeyRing) -> Self {
        Self {
            ring,
            buffer: Vec::new(),
            base: 0,
            next: 0,
        }
    }

    /// Takes the next bytes of the text and reports every canary that can be told by now.
    pub fn push(&mut self, chunk: &[u8], found: &mut Vec<Sighting>) {
        self.buffer.extend_from_slice(chunk);
        let decidable = (self.buffer.len() + 1).saturating_sub(LONGEST);
        self.judge_until(decidable, found);
        let judged = self.next.min(self.buffer.len());
        self.buffer.drain(..judged);
        self.base += judged as u64;
        self.next -= judged;
    }

    /// Ends the text and reports what its last bytes hold.
    pub fn finish(mut self, found: &mut Vec<Sighting>) {
        self.judge_until(self.buffer.len(), found);
    }

    fn judge_until(&mut self, end: usize, found: &mut Vec<Sighting>) {
        while let Some(start) = exact::next_candidate(&self.buffer, self.next, end) {
            self.next = start + 1;
            if let Some(sighting) = exact::read_at(&self.ring, &self.buffer, start) {
                self.next = start + sighting.length;
                found.push(Sighting {
                    offset: self.base + start as u64,
                    ..sighting
                });
            }
        }
        self.next = self.next.max(end);
    }
}

/// Scans a whole text at once.
#[must_use]
pub fn scan(ring: &KeyRing, text: &[u8]) -> Vec<Sighting> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(ring.clone());
    scanner.push(text, &mut found);
    scanner.finish(&mut found);
    found
}

#[cfg(test)]
mod tests;
