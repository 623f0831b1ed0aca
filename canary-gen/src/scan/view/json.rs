//! Escapes of JSON strings (RFC 8259 section 7).

use super::{Replacement, hex_value};

/// What the escape at the start of `rest` reads as; `None` when it is torn or none of JSON's.
pub(super) fn escape(rest: &[u8]) -> Option<Replacement> {
    let plain = match rest.get(1)? {
        b'"' => b'"',
        b'\\' => b'\\',
        b'/' => b'/',
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode(rest),
        _ => return None,
    };
    Some(Replacement::byte(plain, 2))
}

fn unicode(rest: &[u8]) -> Option<Replacement> {
    let first = unit(rest)?;
    if let Some(character) = char::from_u32(first) {
        return Some(Replacement::character(character, 6));
    }
    let pair = rest.get(6..).and_then(unit);
    let joined = match (first, pair) {
        (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
            char::from_u32(0x1_0000 + ((first - 0xd800) << 10 | (second - 0xdc00)))
        }
        _ => None,
    };
    Some(match joined {
        Some(character) => Replacement::character(character, 12),
        // Half of a pair.
        None => Replacement::character(char::REPLACEMENT_CHARACTER, 6),
    })
}

/// The number of `\uXXXX` at the start of `rest`.
fn unit(rest: &[u8]) -> Option<u32> {
    let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |number, &digit| {
        Some(number << 4 | u32::from(hex_value(digit)?))
    })
}
