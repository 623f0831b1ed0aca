//! What is searched for: the part of a scan that many streams share.

use super::{Index, Scanner, Sighting};
use crate::key::KeyRing;
use std::sync::{Arc, RwLock};

/// What to search for, and with how much effort. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Search {
    pub(super) ring: KeyRing,
    pub(super) reach: Reach,
    pub(super) effort: Effort,
    pub(super) index: Option<Arc<RwLock<Index>>>,
}

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The fixed-length writings, unharmed, in the text as it is.
    Exact,
    /// Every form, every view, damaged and partial ones.
    Everything,
}

/// How much is spent on undoing damages with nothing but the key. Undoing one damage takes about
/// two thousand openings (each about 0.4 µs), undoing two takes one or two million. A canary of the
/// index is found with two damages at once, whatever the effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Openings a stream may spend from its start.
    pub openings: u64,
    /// Bytes of the stream that earn one opening more.
    pub bytes_per_opening: u64,
}

impl Effort {
    /// Nothing is repaired by key.
    pub const NONE: Self = Self {
        openings: 0,
        bytes_per_opening: u64::MAX,
    };
    /// For live streams: about fifteen candidates are searched for one damage (13 ms).
    pub const QUICK: Self = Self {
        openings: 1 << 15,
        bytes_per_opening: 4096,
    };
    /// For a closer look: several candidates are searched for two damages (seconds).
    pub const THOROUGH: Self = Self {
        openings: 1 << 24,
        bytes_per_opening: 64,
    };
}

impl Search {
    /// Every form through every view, damaged canaries within [`Effort::QUICK`].
    #[must_use]
    pub fn new(ring: KeyRing) -> Self {
        Self {
            ring,
            reach: Reach::Everything,
            effort: Effort::QUICK,
            index: None,
        }
    }

    /// Only unharmed `code`, `uuid` and `digits` in the text as it is: at the speed of memory.
    #[must_use]
    pub fn exact(ring: KeyRing) -> Self {
        Self {
            ring,
            reach: Reach::Exact,
            effort: Effort::NONE,
            index: None,
        }
    }

    /// The same search with another effort.
    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// The same search, and parts and twice damaged canaries of an index. Canaries may be planted in it
    /// while it is searched; each stream sees them from its next window on.
    #[must_use]
    pub fn with_index(self, index: Arc<RwLock<Index>>) -> Self {
        Self {
            index: Some(index),
            ..self
        }
    }

    /// A scanner at the start of a text.
    #[must_use]
    pub fn scanner(&self) -> Scanner {
        Scanner::of(self.clone())
    }

    /// Scans a whole text at once.
    #[must_use]
    pub fn scan(&self, text: &[u8]) -> Vec<Sighting> {
        let mut found = Vec::new();
        let mut scanner = self.scanner();
        scanner.push(text, &mut found);
        scanner.finish(&mut found);
        found
    }
}
