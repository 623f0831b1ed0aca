//! `code`: the 128 bits as a 26-character Crockford base32 number (its two top bits are zero),
//! most significant character first, grouped 5-5-5-5-6.

use super::{Alphabet, Form, NO_SYMBOL, Shape, Values, grouped, values_of};
use crate::canary::Canary;

const CHARACTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const GROUPS: [usize; 5] = [5, 5, 5, 5, 6];
const DASHES: [usize; 4] = [5, 11, 17, 23];
const LENGTH: usize = 26;

pub(super) static ALPHABET: Alphabet = Alphabet {
    form: Form::Code,
    length: LENGTH,
    radix: 32,
    first_values: 8,
    values: &VALUES,
    read,
    bits: |place| if place == 0 { 3.0 } else { 5.0 },
};

pub(super) static SHAPES: [Shape; 2] = [
    Shape::new(&ALPHABET, 30, &DASHES),
    Shape::new(&ALPHABET, 26, &[]),
];

/// The value of each byte as a symbol: either case, look-alikes folded.
const VALUES: [u8; 256] = {
    let mut values = values_of(CHARACTERS, 0);
    values[b'O' as usize] = 0;
    values[b'o' as usize] = 0;
    values[b'I' as usize] = 1;
    values[b'i' as usize] = 1;
    values[b'L' as usize] = 1;
    values[b'l' as usize] = 1;
    values
};

pub(super) fn write(canary: &Canary) -> String {
    let characters = symbols(canary).map(|value| CHARACTERS[usize::from(value)]);
    grouped(&characters, &GROUPS)
}

pub(super) fn symbols(canary: &Canary) -> [u8; LENGTH] {
    let mut rest = u128::from_be_bytes(canary.0);
    let mut symbols = [0; LENGTH];
    for symbol in symbols.iter_mut().rev() {
        *symbol = (rest & 31) as u8;
        rest >>= 5;
    }
    symbols
}

fn read(values: &Values) -> Option<Canary> {
    // The first character carries the three top bits only.
    if values[0] > 7 {
        return None;
    }
    let mut number = 0u128;
    for &value in &values[..LENGTH] {
        if value == NO_SYMBOL {
            return None;
        }
        number = number << 5 | u128::from(value);
    }
    Some(Canary(number.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_are_read_as_the_digits_they_resemble() {
        let canary = Canary(1u128.to_be_bytes());
        assert_eq!(write(&canary), "00000-00000-00000-00000-000001");
        assert_eq!(
            Form::Code.parse("OOOOO-ooooo-00000-OOOOO-00000l"),
            Some(canary)
        );
    }

    #[test]
    fn a_number_above_128_bits_a_foreign_letter_or_a_misplaced_dash_is_no_code() {
        assert!(Form::Code.parse("7ZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZZ").is_some());
        assert!(Form::Code.parse("8ZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZZ").is_none());
        assert!(Form::Code.parse("0UZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZZ").is_none());
        assert!(Form::Code.parse("0ZZZ-ZZZZZZ-ZZZZZ-ZZZZZ-ZZZZZZ").is_none());
    }
}
