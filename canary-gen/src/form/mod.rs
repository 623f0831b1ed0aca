//! Forms: ways to write a canary into text, each a bijection of the same 128 bits.
//!
//! One file a form, with an arm in every `match` below. Four forms are *spelled*: each of their
//! symbols is a character of an alphabet. The symbols of `words` are words.

mod code;
mod digits;
pub(crate) mod names;
mod uuid;
pub(crate) mod words;

use crate::canary::Canary;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A way to write a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// 26 Crockford base32 characters, grouped 5-5-5-5-6; read in either case and with the
    /// look-alikes `O`, `I`, `L` taken for `0`, `1`, `1`.
    Code,
    /// 32 lower-case hexadecimal digits, grouped 8-4-4-4-12; read in either case and without dashes.
    Uuid,
    /// 40 decimal digits in ten groups of four; read without dashes, too.
    Digits,
    /// Eleven words of a list of 4,096.
    Words,
    /// Four invented names of two parts.
    Names,
}

/// The most symbols a spelled writing has.
pub(crate) const MOST_SYMBOLS: usize = 40;
/// The value of a byte that is no symbol of an alphabet.
pub(crate) const NO_SYMBOL: u8 = 0xff;
/// The number of a word that is not on the list.
pub(crate) const NO_WORD: u16 = 0xffff;

/// The symbol values of a spelled writing; as many of them as its form has are meant.
pub(crate) type Values = [u8; MOST_SYMBOLS];

/// The symbols of a spelled form.
#[derive(Debug)]
pub(crate) struct Alphabet {
    pub(crate) form: Form,
    /// Symbols of one canary.
    pub(crate) length: usize,
    /// Symbols have the values `0..radix`.
    pub(crate) radix: u8,
    /// The first symbol has the values `0..first_values`.
    first_values: u8,
    /// The value of each byte, [`NO_SYMBOL`] where it has none.
    pub(crate) values: &'static [u8; 256],
    read: fn(&Values) -> Option<Canary>,
    /// How many bits the symbol at a place carries.
    pub(crate) bits: fn(usize) -> f32,
}

impl Alphabet {
    /// The alphabets of all spelled forms.
    pub(crate) fn all() -> [&'static Self; 4] {
        [
            &code::ALPHABET,
            &uuid::ALPHABET,
            &digits::ALPHABET,
            &names::ALPHABET,
        ]
    }

    /// The alphabet of a spelled form; `None` for `words`.
    pub(crate) fn of(form: Form) -> Option<&'static Self> {
        Self::all()
            .into_iter()
            .find(|alphabet| alphabet.form == form)
    }

    /// The canary that these values write; `None` when they write none. Values beyond the form's
    /// length are ignored.
    pub(crate) fn read(&self, values: &Values) -> Option<Canary> {
        (self.read)(values)
    }

    /// The values that write a canary.
    pub(crate) fn write(&self, canary: &Canary) -> Values {
        let mut values = [NO_SYMBOL; MOST_SYMBOLS];
        match self.form {
            Form::Code => values[..26].copy_from_slice(&code::symbols(canary)),
            Form::Uuid => values[..32].copy_from_slice(&uuid::symbols(canary)),
            Form::Digits => values.copy_from_slice(&digits::symbols(canary)),
            // `words` has no alphabet.
            Form::Names | Form::Words => values.copy_from_slice(&names::symbols(canary)),
        }
        values
    }
}

impl Form {
    /// Every form, in the order of the documentation.
    pub const ALL: [Self; 5] = [
        Self::Code,
        Self::Uuid,
        Self::Digits,
        Self::Words,
        Self::Names,
    ];

    /// The form's name in configuration, tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Uuid => "uuid",
            Self::Digits => "digits",
            Self::Words => "words",
            Self::Names => "names",
        }
    }

    /// The canary in its canonical writing.
    #[must_use]
    pub fn write(self, canary: &Canary) -> String {
        match self {
            Self::Code => code::write(canary),
            Self::Uuid => uuid::write(canary),
            Self::Digits => digits::write(canary),
            Self::Words => words::write(canary),
            Self::Names => names::write(canary),
        }
    }

    /// The canary that `text` writes, the whole of it; `None` when it is no writing of this form.
    /// Says nothing about whose canary it is: only [`crate::KeyRing::open`] can.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<Canary> {
        let bytes = text.as_bytes();
        match self {
            Self::Code | Self::Uuid | Self::Digits => Shape::all()
                .filter(|shape| shape.alphabet.form == self && shape.length == bytes.len())
                .find_map(|shape| shape.read(bytes)),
            Self::Words => words::parse(bytes),
            Self::Names => names::parse(bytes),
        }
    }

    /// How much a writing repeats itself: doubled symbols, then pairs that occur again (separators
    /// left out). Symbols are characters, but words in `words`. Lower is copied more surely.
    #[must_use]
    pub fn repetitions(self, canary: &Canary) -> (u32, u32) {
        match self {
            Self::Code => repetitions(&code::symbols(canary)),
            Self::Uuid => repetitions(&uuid::symbols(canary)),
            Self::Digits => repetitions(&digits::symbols(canary)),
            Self::Words => repetitions(&words::symbols(canary)),
            Self::Names => repetitions(&names::symbols(canary)),
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
#[error("unknown form `{0}` (known forms: `code`, `uuid`, `digits`, `words`, `names`)")]
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

/// One fixed-length writing of a spelled form: how long it is and where its dashes stand.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) alphabet: &'static Alphabet,
    /// Bytes, dashes included.
    pub(crate) length: usize,
    dashes: &'static [usize],
}

impl Shape {
    const fn new(alphabet: &'static Alphabet, length: usize, dashes: &'static [usize]) -> Self {
        Self {
            alphabet,
            length,
            dashes,
        }
    }

    /// Where its first dash stands.
    pub(crate) fn first_dash(&self) -> Option<usize> {
        self.dashes.first().copied()
    }

    /// Whether a writing can begin with this byte.
    #[inline]
    pub(crate) fn may_begin_with(&self, byte: u8) -> bool {
        self.alphabet.values[usize::from(byte)] < self.alphabet.first_values
    }

    /// Whether a bare writing can contain this byte.
    #[inline]
    pub(crate) fn may_contain(&self, byte: u8) -> bool {
        self.alphabet.values[usize::from(byte)] != NO_SYMBOL
    }

    /// Every fixed-length writing, a form's grouped one before the one without dashes.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        code::SHAPES
            .iter()
            .chain(&uuid::SHAPES)
            .chain(&digits::SHAPES)
    }

    /// Whether dashes stand where they must.
    pub(crate) fn has_its_dashes(&self, bytes: &[u8]) -> bool {
        self.dashes.iter().all(|&at| bytes[at] == b'-')
    }

    /// Reads `bytes`, exactly [`Self::length`] of them; `None` as soon as one does not fit.
    pub(crate) fn read(&self, bytes: &[u8]) -> Option<Canary> {
        if !self.has_its_dashes(bytes) {
            return None;
        }
        let mut values = [NO_SYMBOL; MOST_SYMBOLS];
        let mut count = 0;
        let mut start = 0;
        for &end in self.dashes.iter().chain([&self.length]) {
            for &byte in &bytes[start..end] {
                let value = self.alphabet.values[usize::from(byte)];
                if value == NO_SYMBOL {
                    return None;
                }
                values[count] = value;
                count += 1;
            }
            start = end + 1;
        }
        self.alphabet.read(&values)
    }
}

/// The values of `characters`, either case, counted from `first`.
const fn values_of(characters: &[u8], first: u8) -> [u8; 256] {
    let mut values = [NO_SYMBOL; 256];
    let mut index = 0;
    while index < characters.len() {
        let value = first + index as u8;
        values[characters[index].to_ascii_lowercase() as usize] = value;
        values[characters[index].to_ascii_uppercase() as usize] = value;
        index += 1;
    }
    values
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
    let mut text = String::with_capacity(symbols.len() + groups.len());
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
        fn every_form_round_trips_in_any_case_and_spelled_ones_without_separators(bytes: [u8; 16]) {
            for form in Form::ALL {
                let text = form.write(&Canary(bytes));
                let bare: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
                let mut variants = vec![text.clone(), text.to_lowercase(), text.to_uppercase()];
                if form != Form::Words {
                    variants.push(bare);
                }
                for variant in variants {
                    prop_assert_eq!(form.parse(&variant), Some(Canary(bytes)), "{} {}", form, variant);
                }
            }
        }

        #[test]
        fn an_alphabet_reads_what_it_writes(bytes: [u8; 16]) {
            for alphabet in Alphabet::all() {
                let values = alphabet.write(&Canary(bytes));
                prop_assert_eq!(alphabet.read(&values), Some(Canary(bytes)));
                prop_assert!(values[..alphabet.length].iter().all(|&value| value < alphabet.radix));
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
    fn a_canary_carries_128_bits_in_every_alphabet_and_its_checksum() {
        for alphabet in Alphabet::all() {
            let bits: f32 = (0..alphabet.length).map(alphabet.bits).sum();
            let checksum = if alphabet.form == Form::Digits {
                4.9
            } else {
                0.0
            };
            assert!((bits - 128.0 - checksum).abs() < 0.1, "{}", alphabet.form);
        }
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
        assert!("emoji".parse::<Form>().is_err());
    }
}
