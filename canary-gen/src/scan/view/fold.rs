//! Unicode disguises of ASCII: compatibility forms (NFKC), look-alikes from other scripts, other
//! digits, dashes and spaces, and what cannot be seen.

use super::look_alikes::look_alike;
use super::{Replacement, Text};
use unicode_normalization::UnicodeNormalization;

/// What the character at the start of `rest` folds to; `None` when it stays as it is, or is no UTF-8.
pub(super) fn character(rest: &[u8]) -> Option<Replacement> {
    let length = match rest[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let bytes = rest.get(..length)?;
    let character = std::str::from_utf8(bytes).ok()?.chars().next()?;
    if is_invisible(character) {
        return Some(Replacement::nothing(length));
    }
    if let Some(byte) = ascii(character) {
        return Some(Replacement::byte(byte, length));
    }
    compatible(character, length)
}

/// The one ASCII character that another one stands for.
fn ascii(character: char) -> Option<u8> {
    match character {
        '\u{2010}'..='\u{2015}'
        | '\u{2212}'
        | '\u{2043}'
        | '\u{2e3a}'
        | '\u{2e3b}'
        | '\u{30a0}' => Some(b'-'),
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            Some(b' ')
        }
        '\u{2028}' | '\u{2029}' | '\u{85}' => Some(b'\n'),
        _ => digit(character).or_else(|| look_alike(character)),
    }
}

/// Decimal digits of other scripts: each block of ten begins at one of these (Unicode's general
/// category Nd, without those that NFKC maps to ASCII).
const ZEROS: [u32; 26] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0xa620,
];

fn digit(character: char) -> Option<u8> {
    let code = u32::from(character);
    let index = ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?;
    let value = code - ZEROS[index];
    (value < 10).then(|| b'0' + value as u8)
}

/// The compatibility form, where it begins with ASCII and has no more than four bytes of it.
fn compatible(character: char, length: usize) -> Option<Replacement> {
    let mut bytes = [0; 8];
    let mut count = 0;
    for folded in std::iter::once(character).nfkc() {
        if is_invisible(folded) {
            continue;
        }
        let byte = if folded.is_ascii() {
            folded as u8
        } else {
            ascii(folded)?
        };
        if count == 4 {
            return None;
        }
        bytes[count] = byte;
        count += 1;
    }
    Some(Replacement {
        taken: length,
        text: Text::Bytes(bytes, count),
    })
}

/// Nothing that a reader sees: soft hyphen, zero-width and bidirectional marks, variation selectors,
/// combining marks.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{300}'..='\u{36f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}
