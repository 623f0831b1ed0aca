//! Text in decoded bytes. What is no base64 decodes to random bytes, and those nearly never hold ten
//! characters of text in a row: only such segments are passed on.

use super::{Decoded, Origin};

/// Bytes of the shortest segment.
const SHORTEST: usize = 10;

/// Calls `each` with the textual segments of `bytes`: UTF-8 without control characters other than tab
/// and line breaks. `segment` is where they are put together.
pub(super) fn textual(
    bytes: &[u8],
    origins: &[Origin],
    segment: &mut Decoded,
    each: &mut dyn FnMut(&Decoded),
) {
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        match character(&bytes[at..]) {
            0 => {
                pass_on(bytes, origins, start..at, segment, each);
                at += 1;
                start = at;
            }
            length => at += length,
        }
    }
    pass_on(bytes, origins, start..at, segment, each);
}

/// Bytes of the character at the start of `rest`, 0 if it is none of a text. (Most decoded bytes are
/// none: this is quicker about it than the standard library's validation.)
fn character(rest: &[u8]) -> usize {
    let length = match rest[0] {
        b'\t' | b'\n' | b'\r' | b' '..=b'~' => return 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return 0,
    };
    let is_character = rest
        .get(..length)
        .is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
    if is_character { length } else { 0 }
}

/// Whether so many bytes in a row could be text that a segment may be among them: a quick look before
/// anything is put together.
pub(super) fn may_hold_text(bytes: impl Iterator<Item = u8>) -> bool {
    let mut streak = 0;
    for byte in bytes {
        let is_text = matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..=0xf4);
        streak = if is_text { streak + 1 } else { 0 };
        if streak == SHORTEST {
            return true;
        }
    }
    false
}

fn pass_on(
    bytes: &[u8],
    origins: &[Origin],
    range: std::ops::Range<usize>,
    segment: &mut Decoded,
    each: &mut dyn FnMut(&Decoded),
) {
    if range.len() >= SHORTEST {
        segment.clear();
        segment.text.extend_from_slice(&bytes[range.clone()]);
        segment.origins.extend_from_slice(&origins[range]);
        each(segment);
    }
}
