//! The chunk that a weaver writes.

use std::fmt;

/// A chunk is handed out once it has grown to this many bytes.
const FULL_BYTES: usize = 16 << 10;
/// Room for what is written in one go when a chunk is all but full; more is made when it is needed.
const MARGIN_BYTES: usize = 512;

/// A text that grows up to about 16 KiB. Its bytes are there before they are written, so that pieces of
/// fixed length can be copied into place without being cut to size first.
pub(super) struct Chunk {
    bytes: Vec<u8>,
    length: usize,
}

impl Chunk {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; FULL_BYTES + MARGIN_BYTES],
            length: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.length >= FULL_BYTES
    }

    /// The `bytes` bytes after the text, to be written to; [`Self::grow`] makes them text.
    #[inline]
    pub(super) fn window(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.length + bytes;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.length..end]
    }

    /// Takes the first `bytes` bytes of the window, whole characters, into the text.
    #[inline]
    pub(super) fn grow(&mut self, bytes: usize) {
        self.length += bytes;
    }

    /// Hands the text out and begins a new one; `None` when there is none.
    pub(super) fn take(&mut self) -> Option<String> {
        if self.length == 0 {
            return None;
        }
        let Self { mut bytes, length } = std::mem::replace(self, Self::new());
        bytes.truncate(length);
        // Only whole pieces of text are ever written.
        Some(String::from_utf8(bytes).expect("pieces of text make a text"))
    }
}

impl fmt::Write for Chunk {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.window(text.len()).copy_from_slice(text.as_bytes());
        self.grow(text.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn a_chunk_takes_what_is_longer_than_its_margin_and_begins_anew() {
        let mut chunk = Chunk::new();
        let long = "lang und länger ".repeat(2_000);
        write!(chunk, "{long}").expect("a chunk takes everything");
        assert!(chunk.is_full());
        assert_eq!(chunk.take(), Some(long));
        assert_eq!(chunk.take(), None);
    }
}
