//! The text backwards: character by character where it is UTF-8, else byte by byte.

use super::Decoded;

pub(super) fn read(source: &[u8], decoded: &mut Decoded, each: &mut dyn FnMut(&Decoded)) {
    if source.len() < 2 {
        return;
    }
    let mut end = source.len();
    while end > 0 {
        let start = character_before(source, end);
        decoded.copy(source, start..end);
        end = start;
    }
    each(decoded);
}

/// Where the character begins that ends at `end`.
fn character_before(source: &[u8], end: usize) -> usize {
    if source[end - 1].is_ascii() {
        return end - 1;
    }
    (1..=4.min(end))
        .map(|length| end - length)
        .find(|&start| std::str::from_utf8(&source[start..end]).is_ok())
        .unwrap_or(end - 1)
}
