//! Words of running text: which may be ours, and which stand together.

use crate::form::names;
use crate::form::words::{Packed, WORD_LETTERS, WORDS};
use std::ops::Range;
use std::sync::LazyLock;

/// Bytes that may stand between two words.
const LONGEST_GAP: usize = 6;
/// A run of words ends where so many in a row are none that we plant: two tags may break two words
/// side by side into three pieces each.
const STRANGERS: usize = 7;
const FILTER_BITS: u32 = 17;

/// A small filter in front of the list: whether a word may be one that we plant, forwards or backwards.
pub(super) struct Listed {
    filter: Box<[u64; 1 << (FILTER_BITS - 6)]>,
}

static LISTED: LazyLock<Listed> = LazyLock::new(|| {
    let mut filter = Box::new([0; 1 << (FILTER_BITS - 6)]);
    for &word in WORDS.packed() {
        for word in [Packed(word), backwards(Packed(word))] {
            let bit = word.hash(FILTER_BITS);
            filter[bit / 64] |= 1 << (bit % 64);
        }
    }
    Listed { filter }
});

impl Listed {
    pub(super) fn get() -> &'static Self {
        &LISTED
    }

    /// 1 if the word of `length` letters (4 to 8) that begins at `at` may be on the list or a part of a
    /// name, else 0.
    #[inline]
    pub(super) fn may_hold(&self, text: &[u8], at: usize, length: u32) -> u64 {
        let listed = self.has(Packed::at(text, at, length));
        u64::from(listed || length == 5 && names::is_part(&text[at..at + 5]))
    }

    fn has(&self, word: Packed) -> bool {
        let bit = word.hash(FILTER_BITS);
        self.filter[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// The same letters, the last one first.
fn backwards(word: Packed) -> Packed {
    let letters = 8 - word.0.leading_zeros() / 8;
    Packed(word.0.swap_bytes() >> (64 - 8 * letters))
}

/// Letters in a row, and what they are to us.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) range: Range<usize>,
    pub(super) number: Option<u16>,
    /// On the list when read backwards.
    pub(super) reversed: bool,
    /// Could be a part of a name.
    pub(super) part: bool,
}

impl Word {
    fn new(text: &[u8], range: Range<usize>) -> Self {
        let letters = &text[range.clone()];
        let packed = WORD_LETTERS
            .contains(&letters.len())
            .then(|| Packed::at(text, range.start, letters.len() as u32))
            .filter(|&word| Listed::get().has(word));
        Self {
            number: packed.and_then(|word| WORDS.number(word)),
            reversed: packed.is_some_and(|word| WORDS.number(backwards(word)).is_some()),
            part: names::is_part(letters),
            range,
        }
    }

    pub(super) fn after(text: &[u8], end: usize, limit: usize) -> Option<Self> {
        let gap = text[end..limit]
            .iter()
            .take(LONGEST_GAP + 1)
            .position(u8::is_ascii_alphabetic)?;
        let start = end + gap;
        let rest = &text[start..limit];
        let length = rest.iter().position(|byte| !byte.is_ascii_alphabetic());
        Some(Self::new(text, start..start + length.unwrap_or(rest.len())))
    }

    fn before(text: &[u8], start: usize, limit: usize) -> Option<Self> {
        let gap = text[limit..start]
            .iter()
            .rev()
            .take(LONGEST_GAP + 1)
            .position(u8::is_ascii_alphabetic)?;
        let end = start - gap;
        let head = &text[limit..end];
        let length = head
            .iter()
            .rev()
            .position(|byte| !byte.is_ascii_alphabetic());
        Some(Self::new(text, end - length.unwrap_or(head.len())..end))
    }

    pub(super) fn is_ours(&self) -> bool {
        self.number.is_some() || self.reversed || self.part
    }
}

/// How many of a word and its neighbours are words that we plant.
pub(super) fn company_of(text: &[u8], word: &Word, limits: Range<usize>) -> usize {
    let mut ours = 1;
    let mut end = word.range.end;
    let mut start = word.range.start;
    for _ in 0..3 {
        if let Some(next) = Word::after(text, end, limits.end) {
            ours += usize::from(next.is_ours());
            end = next.range.end;
        }
        if let Some(previous) = Word::before(text, start, limits.start) {
            ours += usize::from(previous.is_ours());
            start = previous.range.start;
        }
    }
    ours
}

/// The words around one, as far as there are words that we plant.
pub(super) fn run_around(text: &[u8], word: Word, limits: Range<usize>) -> Vec<Word> {
    let mut before = Vec::new();
    let mut start = word.range.start;
    let mut strangers = 0;
    while strangers < STRANGERS
        && let Some(previous) = Word::before(text, start, limits.start)
    {
        start = previous.range.start;
        strangers = if previous.is_ours() { 0 } else { strangers + 1 };
        before.push(previous);
    }
    let mut words: Vec<Word> = before.into_iter().rev().collect();
    let mut end = word.range.end;
    words.push(word);
    strangers = 0;
    while strangers < STRANGERS
        && let Some(next) = Word::after(text, end, limits.end)
    {
        end = next.range.end;
        strangers = if next.is_ours() { 0 } else { strangers + 1 };
        words.push(next);
    }
    words
}
