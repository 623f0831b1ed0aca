//! A census of a piece of text: one pass over its bytes that tells which searches and views are not
//! worth while.

use super::view::View;
use crate::form::{Alphabet, Form, NO_SYMBOL, names};

/// How many symbols of each kind a piece of text has, and what else is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    digits: usize,
    hex_letters: usize,
    letters: usize,
    small: usize,
    in_names: usize,
    signs: u8,
}

const BACKSLASH: u8 = 1;
const PERCENT: u8 = 2;
const AMPERSAND: u8 = 4;
const BEYOND_ASCII: u8 = 8;
const MARKUP: u8 = 16;

/// What a byte adds to a census: twelve bits for each count in the order of the fields, and a sign.
static WEIGHTS: [(u64, u8); 256] = {
    let mut weights = [(0, 0); 256];
    let mut byte = 0;
    while byte < 256 {
        let character = byte as u8;
        let mut count = 0;
        if character.is_ascii_digit() {
            count = 1;
        } else if character.is_ascii_alphabetic() {
            count = 1 << 24;
            if character.is_ascii_hexdigit() {
                count |= 1 << 12;
            }
            if character.is_ascii_lowercase() {
                count |= 1 << 36;
            }
            if names::VALUES[byte] != NO_SYMBOL {
                count |= 1 << 48;
            }
        }
        let sign = match character {
            b'\\' => BACKSLASH,
            b'%' => PERCENT,
            b'&' => AMPERSAND,
            b'*' | b'~' | b'`' | b'<' | b'[' => MARKUP,
            0x80.. => BEYOND_ASCII,
            _ => 0,
        };
        weights[byte] = (count, sign);
        byte += 1;
    }
    weights
};

/// Characters of the shortest run that base64 and hexadecimal are read from.
const FEWEST_IN_BASE64: usize = 14;
const FEWEST_IN_HEX: usize = 20;
/// Hexadecimal digits of the shortest hash.
const HASH: usize = 30;
/// The fewest symbols that are read backwards: a part, which the index may know.
const FEWEST_BACKWARDS: usize = 10;

impl Census {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut census = Self::default();
        // Twelve bits hold the counts of a piece.
        for piece in text.chunks(4095) {
            let mut counts = 0;
            for &byte in piece {
                let (count, sign) = WEIGHTS[usize::from(byte)];
                counts += count;
                census.signs |= sign;
            }
            let count = |place: u32| (counts >> (12 * place)) as usize & 0xfff;
            census.digits += count(0);
            census.hex_letters += count(1);
            census.letters += count(2);
            census.small += count(3);
            census.in_names += count(4);
        }
        census
    }

    /// Letters and digits.
    pub(super) fn symbols(&self) -> usize {
        self.digits + self.letters
    }

    pub(super) fn letters(&self) -> usize {
        self.letters
    }

    /// Whether there are `fewest` symbols that could be the alphabet's.
    pub(super) fn may_hold(&self, alphabet: &Alphabet, fewest: usize) -> bool {
        let usable = match alphabet.form {
            // Small letters without a digit are prose; a canary has none with a chance of 2⁻¹⁴.
            Form::Code if self.digits == 0 && self.small > 0 => 0,
            // A hash is no code: a canary has hexadecimal digits only with a chance of 2⁻²⁵.
            Form::Code if self.letters == self.hex_letters && self.symbols() >= HASH => 0,
            Form::Code => self.symbols(),
            Form::Uuid => self.digits + self.hex_letters,
            Form::Digits => self.digits,
            Form::Names | Form::Words => self.in_names,
        };
        usable >= fewest
    }

    /// Whether a view could make something of the text.
    pub(super) fn may_read(&self, view: View) -> bool {
        let has = |sign: u8| self.signs & sign != 0;
        match view {
            View::Json => has(BACKSLASH),
            View::Percent => has(PERCENT),
            View::Html => has(AMPERSAND),
            View::Fold => has(BEYOND_ASCII),
            View::Markup => has(MARKUP),
            // Letters of one case only decode to nothing that we plant.
            View::Base64 => {
                self.symbols() >= FEWEST_IN_BASE64 && self.small > 0 && self.small < self.letters
            }
            View::Hex => self.digits + self.hex_letters >= FEWEST_IN_HEX,
            View::Reversed => Alphabet::all()
                .into_iter()
                .any(|alphabet| self.may_hold(alphabet, alphabet.length.min(FEWEST_BACKWARDS))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_view_is_ruled_out_that_reads_something_with_symbols(
            source in "[\\\\%&#;a-fx0-9<>\\[\\]()*_`\n=+/A-Zé😀\u{200b} ]{0,200}"
        ) {
            let census = Census::of(source.as_bytes());
            for view in View::ALL {
                let readable = view.texts(source.as_bytes()).iter().any(|text| {
                    text.iter().filter(|byte| byte.is_ascii_alphanumeric()).count() >= 10
                });
                if readable && !census.may_read(view) {
                    // Given up: base64 in one case, and prose backwards (words are looked for anyway).
                    prop_assert!(matches!(view, View::Base64 | View::Reversed));
                }
            }
        }
    }

    #[test]
    fn long_texts_are_counted_in_pieces() {
        let text = b"aB1".repeat(10_000);
        let census = Census::of(&text);
        assert_eq!(
            (census.digits, census.letters, census.small),
            (10_000, 20_000, 10_000)
        );
    }
}
