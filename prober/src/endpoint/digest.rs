//! Digests: whether two texts of responses are the same, without keeping either.

use ring::digest::{Context, SHA256};
use std::fmt;

/// The SHA-256 of a text. Stays in memory: short texts can be guessed from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a text.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.push(text);
        hasher.finish()
    }

    /// Its bytes, to be a part of another.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(…)")
    }
}

/// The digest of a text that comes in pieces.
#[derive(Clone)]
pub struct Hasher(Context);

impl Default for Hasher {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl Hasher {
    /// The next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest of all pieces.
    #[must_use]
    pub fn finish(self) -> Digest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.finish().as_ref());
        Digest(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_no_difference_and_nothing_is_shown() {
        let mut hasher = Hasher::default();
        hasher.push(b"one ");
        hasher.push(b"text");
        let digest = hasher.finish();
        assert_eq!(digest, Digest::of(b"one text"));
        assert_ne!(digest, Digest::of(b"other text"));
        assert_eq!(format!("{digest:?}"), "Digest(…)");
    }
}
