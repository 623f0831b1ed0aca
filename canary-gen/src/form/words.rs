//! `words`: eleven words of a list of 4,096, 12 bits each. They write the number
//! `value × 16 + checksum`, most significant word first, where `value` is the 128 bits and the
//! checksum `value mod 11` fills the four bits that eleven words hold beyond them.
//!
//! The list is ours (`words.txt`; docs/canary-format.md says how it was chosen): four to eight
//! letters each, no two within one edit of each other, rare next to each other in prose.

use super::NO_WORD;
use crate::canary::Canary;
use std::sync::LazyLock;

/// Words of one canary.
pub(crate) const LENGTH: usize = 11;
/// Words on the list.
pub(crate) const COUNT: usize = 4096;
/// Letters of a word on the list.
pub(crate) const WORD_LETTERS: std::ops::RangeInclusive<usize> = 4..=8;
const CHECKSUMS: u128 = 11;
const LIST: &str = include_str!("words.txt");
const SLOT_BITS: u32 = 14;

/// The list, ready to be asked.
pub(crate) static WORDS: LazyLock<Words> = LazyLock::new(Words::load);

/// A word in eight bytes: its lower-case letters, the first in the lowest byte, zeros behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) u64);

impl Packed {
    /// Up to eight letters of either case; `None` when there are more, or anything else.
    pub(crate) fn new(letters: &[u8]) -> Option<Self> {
        if letters.len() > 8 || !letters.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        let mut bytes = [0; 8];
        bytes[..letters.len()].copy_from_slice(letters);
        bytes.make_ascii_lowercase();
        Some(Self(u64::from_le_bytes(bytes)))
    }

    /// The `length` letters (1 to 8) of either case at `at`.
    #[inline]
    pub(crate) fn at(text: &[u8], at: usize, length: u32) -> Self {
        let rest = &text[at..];
        let bytes = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            bytes
        });
        // In small, and nothing of what follows them.
        let small = u64::from_le_bytes(bytes) | 0x2020_2020_2020_2020;
        Self(small & (u64::MAX >> ((64 - 8 * length) & 63)))
    }

    /// A number in `0..2^bits`, spread evenly.
    pub(crate) fn hash(self, bits: u32) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }
}

/// The words by number, and the numbers by word.
pub(crate) struct Words {
    words: Vec<&'static str>,
    packed: Vec<u64>,
    /// Open addressing: number + 1 of a word, 0 where there is none.
    slots: Vec<u16>,
}

impl Words {
    fn load() -> Self {
        let words: Vec<&'static str> = LIST.lines().collect();
        let packed: Vec<u64> = words
            .iter()
            .map(|word| Packed::new(word.as_bytes()).map_or(0, |packed| packed.0))
            .collect();
        let mut slots = vec![0u16; 1 << SLOT_BITS];
        for (number, &word) in packed.iter().enumerate() {
            let mut slot = Packed(word).hash(SLOT_BITS);
            while slots[slot] != 0 {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = number as u16 + 1;
        }
        Self {
            words,
            packed,
            slots,
        }
    }

    /// The word of a number below [`COUNT`].
    pub(crate) fn word(&self, number: u16) -> &'static str {
        self.words[usize::from(number)]
    }

    /// All words, packed, by number.
    pub(crate) fn packed(&self) -> &[u64] {
        &self.packed
    }

    /// The number of a word.
    pub(crate) fn number(&self, word: Packed) -> Option<u16> {
        let mut slot = word.hash(SLOT_BITS);
        loop {
            match self.slots[slot] {
                0 => return None,
                next if self.packed[usize::from(next - 1)] == word.0 => return Some(next - 1),
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
    }
}

pub(super) fn write(canary: &Canary) -> String {
    symbols(canary).map(|number| WORDS.word(number)).join(" ")
}

pub(crate) fn symbols(canary: &Canary) -> [u16; LENGTH] {
    let value = u128::from_be_bytes(canary.0);
    let mut symbols = [0; LENGTH];
    // The last word holds the value's 8 lowest bits and the checksum.
    symbols[LENGTH - 1] = ((value as u16 & 0xff) << 4) | (value % CHECKSUMS) as u16;
    let mut rest = value >> 8;
    for symbol in symbols[..LENGTH - 1].iter_mut().rev() {
        *symbol = (rest & 0xfff) as u16;
        rest >>= 12;
    }
    symbols
}

/// The canary of eleven word numbers; `None` when one is [`NO_WORD`] or the checksum is wrong.
pub(crate) fn read(symbols: &[u16; LENGTH]) -> Option<Canary> {
    let mut value = 0u128;
    for &number in &symbols[..LENGTH - 1] {
        if number == NO_WORD {
            return None;
        }
        value = value << 12 | u128::from(number);
    }
    let last = symbols[LENGTH - 1];
    if last == NO_WORD {
        return None;
    }
    value = value << 8 | u128::from(last >> 4);
    (u128::from(last & 15) == value % CHECKSUMS).then(|| Canary(value.to_be_bytes()))
}

/// Reads eleven words of any case, joined by single spaces or single dashes.
pub(super) fn parse(text: &[u8]) -> Option<Canary> {
    let mut symbols = [NO_WORD; LENGTH];
    let mut words = text.split(|byte| matches!(byte, b' ' | b'-'));
    for symbol in &mut symbols {
        *symbol = WORDS.number(Packed::new(words.next()?)?)?;
    }
    if words.next().is_some() {
        return None;
    }
    read(&symbols)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Form;

    #[test]
    fn the_list_is_4096_sorted_words_of_four_to_eight_letters() {
        let words: Vec<&str> = LIST.lines().collect();
        assert_eq!(words.len(), COUNT);
        assert!(words.is_sorted() && words.windows(2).all(|pair| pair[0] != pair[1]));
        for word in words {
            assert!(WORD_LETTERS.contains(&word.len()), "{word}");
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
        }
    }

    #[test]
    fn no_two_words_are_within_one_edit() {
        // Two words within one substitution, deletion or insertion are equal after one deletion
        // from either or both at the same place; a swap is looked for by itself.
        let mut seen = std::collections::HashMap::new();
        for word in LIST.lines() {
            let bytes = word.as_bytes();
            let mut forms: Vec<(Option<usize>, Vec<u8>)> = vec![(None, bytes.to_vec())];
            for at in 0..bytes.len() {
                let mut shorter = bytes.to_vec();
                shorter.remove(at);
                forms.push((Some(at), shorter.clone()));
                forms.push((None, shorter));
            }
            for at in 1..bytes.len() {
                let mut swapped = bytes.to_vec();
                swapped.swap(at - 1, at);
                forms.push((None, swapped));
            }
            for form in forms {
                if let Some(other) = seen.insert(form, word) {
                    assert_eq!(other, word, "within one edit");
                }
            }
        }
    }

    #[test]
    fn another_checksum_an_unknown_word_or_a_missing_one_is_none() {
        let canary = Canary([7; 16]);
        let good = write(&canary);
        assert_eq!(Form::Words.parse(&good), Some(canary));
        assert_eq!(Form::Words.parse(&good.to_uppercase()), Some(canary));
        assert_eq!(Form::Words.parse(&good.replace(' ', "-")), Some(canary));
        let mut symbols = symbols(&canary);
        symbols[LENGTH - 1] ^= 1;
        assert_eq!(read(&symbols), None);
        let (_, shorter) = good.split_once(' ').expect("several words");
        assert_eq!(Form::Words.parse(shorter), None);
        assert_eq!(Form::Words.parse(&format!("{good} of")), None);
        assert_eq!(Form::Words.parse(&format!("xyzzy {shorter}")), None);
    }
}
