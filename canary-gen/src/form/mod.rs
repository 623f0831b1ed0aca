//! Forms: ways to write a canary into text, each a bijection of the same 128 bits.
//!
//! `words` and `names` (docs/canary-format.md) take their place here, one file each, with an
//! arm in every `match` below; the scanner asks `Form::shapes` and needs no change.

mod code;
mod digits;
mod uuid;

use crate::canary::Canary;
use std::{fmt, str::FromStr};

/// A way to write a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// 26 Crockford base32 characters, grouped 5-5-5-5-6; read in either case and with the
    /// look-alikes `O`, `I`, `L` taken for `0`, `1`, `1`.
    Code,
    /// 32 lower-case hexadecimal digits, grouped 8-4-4-4-12; read in either case and without dashes.
    Uuid,
    /// 40 decimal digits in ten groups of four; read without dashes, too.
    Digits,
}

/// The length in bytes of the longest writing of any form.
pub const LONGEST: usize = 49;
/// The length in bytes of the shortest writing of any form.
pub const SHORTEST: usize = 26;

impl Form {
    /// Every form, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Code, Self::Uuid, Self::Digits];

    /// The form's name in configuration, tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Uuid => "uuid",
            Self::Digits => "digits",
        }
    }

    /// The canary in its canonical writing.
    #[must_use]
    pub fn write(self, canary: &Canary) -> String {
        match self {
            Self::Code => code::write(canary),
            Self::Uuid => uuid::write(canary),
            Self::Digits => digits::write(canary),
        }
    }

    /// The canary that `text` writes, the whole of it; `None` when it is no writing of this form.
    /// Says nothing about whose canary it is: only [`crate::KeyRing::open`] can.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<Canary> {
        let bytes = text.as_bytes();
        self.shapes()
            .iter()
            .filter(|shape| shape.length == bytes.len())
            .find_map(|shape| shape.read(bytes))
    }

    /// How much a writing repeats itself: doubled characters, then pairs that occur again
    /// (separators left out). Lower is copied more surely.
    #[must_use]
    pub fn repetitions(self, canary: &Canary) -> (u32, u32) {
        match self {
            Self::Code => repetitions(&code::symbols(canary)),
            Self::Uuid => repetitions(&uuid::symbols(canary)),
            Self::Digits => repetitions(&digits::symbols(canary)),
        }
    }

    /// The fixed-length writings the scanner looks for.
    pub(crate) fn shapes(self) -> &'static [Shape] {
        match self {
            Self::Code => &code::SHAPES,
            Self::Uuid => &uuid::SHAPES,
            Self::Digits => &digits::SHAPES,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no form.
#[derive(Debug, thiserror::Error)]
#[error("unknown form `{0}` (known forms: `code`, `uuid`, `digits`)")]
pub struct UnknownForm(String);

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(name: &str) -> Result<Self, UnknownForm> {
        Self::ALL
            .into_iter()
            .find(|form| form.as_str() == name)
            .ok_or_else(|| UnknownForm(name.chars().take(40).collect()))
    }
}

/// One fixed-length writing: how long it is, where its dashes stand, and how the symbols between them
/// are read.
pub(crate) struct Shape {
    pub(crate) length: usize,
    dashes: &'static [usize],
    read_symbols: fn(&[u8]) -> Option<Canary>,
}

impl Shape {
    /// Reads `bytes`, exactly [`Self::length`] of them; `None` as soon as one does not fit.
    pub(crate) fn read(&self, bytes: &[u8]) -> Option<Canary> {
        if self.dashes.iter().any(|&at| bytes[at] != b'-') {
            return None;
        }
        let mut symbols = [0; LONGEST];
        let mut count = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if !self.dashes.contains(&at) {
                symbols[count] = byte;
                count += 1;
            }
        }
        (self.read_symbols)(&symbols[..count])
    }
}

/// Doubled symbols, and pairs of neighbours that occurred before.
fn repetitions<S: Copy + Eq + Into<u32>>(symbols: &[S]) -> (u32, u32) {
    // One bit for each of the 4,096 hashes of a pair: a clear one proves the pair new, so only the
    // few whose bit is set are looked for among the earlier ones.
    let mut seen = [0u64; 64];
    let (mut doubled, mut repeated) = (0, 0);
    for (at, pair) in symbols.windows(2).enumerate() {
        let (first, second) = (pair[0], pair[1]);
        doubled += u32::from(first == second);
        let hash = (first.into() << 16 ^ second.into()).wrapping_mul(0x9e37_79b1) >> 20;
        let (word, bit) = ((hash >> 6) as usize, 1 << (hash & 63));
        if seen[word] & bit != 0 {
            let mut earlier = symbols[..=at].windows(2);
            repeated += u32::from(earlier.any(|pair| pair[0] == first && pair[1] == second));
        }
        seen[word] |= bit;
    }
    (doubled, repeated)
}

/// Writes `symbols` in groups, a dash between them.
fn grouped(symbols: &[u8], groups: &[usize]) -> String {
    let mut text = String::with_capacity(LONGEST);
    let mut rest = symbols;
    for (index, &length) in groups.iter().enumerate() {
        if index > 0 {
            text.push('-');
        }
        let (group, tail) = rest.split_at(length);
        text.extend(group.iter().map(|&symbol| char::from(symbol)));
        rest = tail;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted_plainly<S: Eq>(symbols: &[S]) -> (u32, u32) {
        let pairs: Vec<&[S]> = symbols.windows(2).collect();
        let doubled = pairs.iter().filter(|pair| pair[0] == pair[1]).count();
        let repeated = (1..pairs.len())
            .filter(|&at| pairs[..at].contains(&pairs[at]))
            .count();
        (doubled as u32, repeated as u32)
    }

    proptest! {
        #[test]
        fn every_form_round_trips_in_any_case_and_without_dashes(bytes: [u8; 16]) {
            for form in Form::ALL {
                let text = form.write(&Canary(bytes));
                for variant in [text.clone(), text.to_lowercase(), text.to_uppercase(), text.replace('-', "")] {
                    prop_assert_eq!(form.parse(&variant), Some(Canary(bytes)), "{} {}", form, variant);
                }
            }
        }

        #[test]
        fn parsing_never_panics(text in ".{0,40}") {
            for form in Form::ALL {
                let _ = form.parse(&text);
            }
        }

        #[test]
        fn repetitions_are_those_of_a_plain_count(
            few in proptest::collection::vec(0u8..6, 0..45),
            letters in proptest::collection::vec(b'A'..=b'Z', 0..45),
            words in proptest::collection::vec(0u16..2_048, 0..45),
            alike in proptest::collection::vec((0u16..4).prop_map(|number| number << 12), 0..45),
        ) {
            prop_assert_eq!(repetitions(&few), counted_plainly(&few));
            prop_assert_eq!(repetitions(&letters), counted_plainly(&letters));
            prop_assert_eq!(repetitions(&words), counted_plainly(&words));
            prop_assert_eq!(repetitions(&alike), counted_plainly(&alike));
        }
    }

    #[test]
    fn the_longest_and_shortest_writing_are_as_stated() {
        let lengths = || {
            Form::ALL
                .into_iter()
                .flat_map(Form::shapes)
                .map(|shape| shape.length)
        };
        assert_eq!(lengths().max(), Some(LONGEST));
        assert_eq!(lengths().min(), Some(SHORTEST));
    }

    #[test]
    fn repetitions_count_doubled_characters_and_repeated_pairs() {
        assert_eq!(repetitions(b"ABCD"), (0, 0));
        assert_eq!(repetitions(b"ABAB"), (0, 1));
        assert_eq!(repetitions(b"AAB"), (1, 0));
        assert_eq!(repetitions(b"AAA"), (2, 1));
    }

    #[test]
    fn names_are_read_back_and_an_unknown_one_is_refused() {
        for form in Form::ALL {
            assert_eq!(form.as_str().parse::<Form>().ok(), Some(form));
        }
        assert!("words".parse::<Form>().is_err());
    }
}
