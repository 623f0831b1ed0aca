//! `code`: the 128 bits as a 26-character Crockford base32 number (its two top bits are zero),
//! most significant character first, grouped 5-5-5-5-6.

use super::{Shape, grouped};
use crate::canary::Canary;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const GROUPS: [usize; 5] = [5, 5, 5, 5, 6];
const DASHES: [usize; 4] = [5, 11, 17, 23];
const NO_SYMBOL: u8 = 0xff;
/// The value of each byte as a symbol: either case, look-alikes folded.
const VALUES: [u8; 256] = values();

pub(super) const SHAPES: [Shape; 2] = [
    Shape {
        length: 30,
        dashes: &DASHES,
        read_symbols,
    },
    Shape {
        length: 26,
        dashes: &[],
        read_symbols,
    },
];

pub(super) fn write(canary: &Canary) -> String {
    grouped(&symbols(canary), &GROUPS)
}

pub(super) fn symbols(canary: &Canary) -> [u8; 26] {
    let mut rest = u128::from_be_bytes(canary.0);
    let mut symbols = [0; 26];
    for symbol in symbols.iter_mut().rev() {
        *symbol = ALPHABET[(rest & 31) as usize];
        rest >>= 5;
    }
    symbols
}

fn read_symbols(symbols: &[u8]) -> Option<Canary> {
    let mut number = 0u128;
    for (place, &symbol) in symbols.iter().enumerate() {
        let value = VALUES[usize::from(symbol)];
        // The first character carries the three top bits only.
        if value == NO_SYMBOL || (place == 0 && value > 7) {
            return None;
        }
        number = number << 5 | u128::from(value);
    }
    Some(Canary(number.to_be_bytes()))
}

const fn values() -> [u8; 256] {
    let mut values = [NO_SYMBOL; 256];
    let mut index = 0;
    while index < ALPHABET.len() {
        let symbol = ALPHABET[index];
        values[symbol as usize] = index as u8;
        values[symbol.to_ascii_lowercase() as usize] = index as u8;
        index += 1;
    }
    values[b'O' as usize] = 0;
    values[b'o' as usize] = 0;
    values[b'I' as usize] = 1;
    values[b'i' as usize] = 1;
    values[b'L' as usize] = 1;
    values[b'l' as usize] = 1;
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Form;

    #[test]
    fn look_alikes_are_read_as_the_digits_they_resemble() {
        let canary = Canary(
            [0; 15]
                .into_iter()
                .chain([1])
                .collect::<Vec<_>>()
                .try_into()
                .expect("16 bytes"),
        );
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
