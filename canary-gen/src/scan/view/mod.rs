//! Views: ways to read a text before it is scanned. Each is a file; each undoes one encoding or
//! disguise wherever it stands in a piece of text that may begin and end in the middle of anything.
//!
//! A view makes at most four bytes of each byte it reads (base64 reads a run at its four phases), so
//! that the work stays proportional to the text, whatever it holds.

mod base64;
mod fold;
mod hex;
mod html;
mod json;
mod look_alikes;
mod markup;
mod percent;
mod reversed;
mod segments;
mod set;

pub(crate) use set::ViewSet;

use serde::{Deserialize, Serialize};

/// A way to read a text before it is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Escapes of JSON strings undone, wherever a backslash stands.
    Json,
    /// `%` and two hexadecimal digits read as the byte they write.
    Percent,
    /// HTML character references replaced.
    Html,
    /// Unicode forms and look-alikes of ASCII characters folded to them, invisible characters removed.
    Fold,
    /// Markdown and HTML markup removed.
    Markup,
    /// Base64 decoded, at any phase.
    Base64,
    /// Hexadecimal digits decoded.
    Hex,
    /// The text backwards.
    Reversed,
}

/// Which bytes of the source a decoded byte was read from: `start..end`, never empty, in bytes from
/// the start of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A text read through a view; every byte has an origin.
#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) text: Vec<u8>,
    pub(crate) origins: Vec<Origin>,
}

impl Decoded {
    fn clear(&mut self) {
        self.text.clear();
        self.origins.clear();
    }

    /// Adds bytes that were all read from `source`.
    fn push(&mut self, bytes: &[u8], source: std::ops::Range<usize>) {
        let origin = Origin {
            start: source.start as u32,
            end: source.end as u32,
        };
        self.text.extend_from_slice(bytes);
        self.origins
            .extend(std::iter::repeat_n(origin, bytes.len()));
    }

    /// Adds a piece of the source as it is.
    fn copy(&mut self, source: &[u8], range: std::ops::Range<usize>) {
        self.text.extend_from_slice(&source[range.clone()]);
        self.origins.extend(range.map(|at| Origin {
            start: at as u32,
            end: at as u32 + 1,
        }));
    }
}

impl View {
    /// Every view, in the order in which they are tried.
    pub const ALL: [Self; 8] = [
        Self::Json,
        Self::Percent,
        Self::Html,
        Self::Fold,
        Self::Markup,
        Self::Base64,
        Self::Hex,
        Self::Reversed,
    ];

    /// The name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Percent => "percent",
            Self::Html => "html",
            Self::Fold => "fold",
            Self::Markup => "markup",
            Self::Base64 => "base64",
            Self::Hex => "hex",
            Self::Reversed => "reversed",
        }
    }

    /// All that `source` reads as through this view; nothing when the view would change nothing.
    #[must_use]
    pub fn texts(self, source: &[u8]) -> Vec<Vec<u8>> {
        let mut texts = Vec::new();
        self.read(source, &mut Decoded::default(), &mut |decoded| {
            texts.push(decoded.text.clone());
        });
        texts
    }

    /// Calls `each` with every text that `source` reads as through this view; not at all when the view
    /// would change nothing. `source` has less than 2³² bytes.
    pub(crate) fn read(self, source: &[u8], scratch: &mut Decoded, each: &mut dyn FnMut(&Decoded)) {
        scratch.clear();
        match self {
            Self::Json => replace(
                source,
                scratch,
                each,
                |byte| byte == b'\\',
                |source, at| json::escape(&source[at..]),
            ),
            Self::Percent => replace(
                source,
                scratch,
                each,
                |byte| byte == b'%',
                |source, at| percent::escape(&source[at..]),
            ),
            Self::Html => replace(
                source,
                scratch,
                each,
                |byte| byte == b'&',
                |source, at| html::reference(&source[at..]),
            ),
            Self::Fold => replace(
                source,
                scratch,
                each,
                |byte| byte >= 0x80,
                |source, at| fold::character(&source[at..]),
            ),
            Self::Markup => replace(source, scratch, each, markup::may_begin, markup::markup),
            Self::Base64 => base64::read(source, scratch, each),
            Self::Hex => hex::read(source, scratch, each),
            Self::Reversed => reversed::read(source, scratch, each),
        }
    }
}

/// What stands in place of an escape.
struct Replacement {
    /// Bytes of the source that it takes, from where it begins.
    taken: usize,
    /// What they read as: up to so many of these bytes, or a piece of the source.
    text: Text,
}

enum Text {
    Bytes([u8; 8], usize),
    /// A piece of the source, from the start of the escape.
    Piece(std::ops::Range<usize>),
}

impl Replacement {
    fn nothing(taken: usize) -> Self {
        Self {
            taken,
            text: Text::Bytes([0; 8], 0),
        }
    }

    fn byte(byte: u8, taken: usize) -> Self {
        Self {
            taken,
            text: Text::Bytes([byte, 0, 0, 0, 0, 0, 0, 0], 1),
        }
    }

    fn character(character: char, taken: usize) -> Self {
        let mut bytes = [0; 8];
        let length = character.encode_utf8(&mut bytes).len();
        Self {
            taken,
            text: Text::Bytes(bytes, length),
        }
    }
}

/// Copies a text, but for what `replacement` makes of the places where something `may_begin`; hands
/// the result out if there was anything.
fn replace(
    source: &[u8],
    decoded: &mut Decoded,
    each: &mut dyn FnMut(&Decoded),
    may_begin: impl Fn(u8) -> bool,
    replacement: impl Fn(&[u8], usize) -> Option<Replacement>,
) {
    let mut changed = false;
    let mut copied = 0;
    let mut at = 0;
    while at < source.len() {
        let found = may_begin(source[at])
            .then(|| replacement(source, at))
            .flatten();
        let Some(Replacement { taken, text }) = found else {
            at += 1;
            continue;
        };
        changed = true;
        decoded.copy(source, copied..at);
        match text {
            Text::Bytes(bytes, length) => decoded.push(&bytes[..length], at..at + taken),
            Text::Piece(piece) => decoded.copy(source, at + piece.start..at + piece.end),
        }
        at += taken;
        copied = at;
    }
    if changed {
        decoded.copy(source, copied..source.len());
        each(decoded);
    }
}

/// The value of a hexadecimal digit.
fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests;
