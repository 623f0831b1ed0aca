//! `digits`: 40 decimal digits in ten groups of four. They write the number
//! `checksum × 2¹²⁸ + value`, most significant digit first, where `value` is the 128 bits and the
//! checksum `value mod 29` fills what 40 digits can hold beyond 128 bits.

use super::{Alphabet, Form, NO_SYMBOL, Shape, Values, grouped, values_of};
use crate::canary::Canary;

const GROUPS: [usize; 10] = [4; 10];
const DASHES: [usize; 9] = [4, 9, 14, 19, 24, 29, 34, 39, 44];
/// 29 × 2¹²⁸ is the largest multiple of 2¹²⁸ below 10⁴⁰.
const CHECKSUMS: u128 = 29;

const LENGTH: usize = 40;

pub(super) static ALPHABET: Alphabet = Alphabet {
    form: Form::Digits,
    length: LENGTH,
    radix: 10,
    first_values: 10,
    values: &VALUES,
    read,
    bits: |_| std::f32::consts::LOG2_10,
};

pub(super) static SHAPES: [Shape; 2] = [
    Shape::new(&ALPHABET, 49, &DASHES),
    Shape::new(&ALPHABET, 40, &[]),
];

const VALUES: [u8; 256] = values_of(b"0123456789", 0);

pub(super) fn write(canary: &Canary) -> String {
    grouped(&symbols(canary).map(|value| b'0' + value), &GROUPS)
}

pub(super) fn symbols(canary: &Canary) -> [u8; LENGTH] {
    let value = u128::from_be_bytes(canary.0);
    let mut number = Number::new(value, (value % CHECKSUMS) as u64);
    let mut symbols = [0; LENGTH];
    for symbol in symbols.iter_mut().rev() {
        *symbol = number.divide_by_ten();
    }
    symbols
}

fn read(values: &Values) -> Option<Canary> {
    let mut number = Number::new(0, 0);
    for &value in &values[..LENGTH] {
        if value == NO_SYMBOL {
            return None;
        }
        number.append_digit(value);
    }
    let (value, checksum) = number.parts();
    let good = u128::from(checksum) == value % CHECKSUMS;
    good.then(|| Canary(value.to_be_bytes()))
}

/// A number of up to 192 bits, least significant word first.
struct Number([u64; 3]);

impl Number {
    fn new(value: u128, checksum: u64) -> Self {
        Self([value as u64, (value >> 64) as u64, checksum])
    }

    fn parts(&self) -> (u128, u64) {
        let [low, middle, high] = self.0;
        (u128::from(middle) << 64 | u128::from(low), high)
    }

    /// Divides by ten and returns the remainder.
    fn divide_by_ten(&mut self) -> u8 {
        let mut remainder = 0u128;
        for word in self.0.iter_mut().rev() {
            let part = remainder << 64 | u128::from(*word);
            *word = (part / 10) as u64;
            remainder = part % 10;
        }
        remainder as u8
    }

    /// Multiplies by ten and adds a digit. Forty digits fit.
    fn append_digit(&mut self, digit: u8) {
        let mut carry = u128::from(digit);
        for word in &mut self.0 {
            let part = u128::from(*word) * 10 + carry;
            *word = part as u64;
            carry = part >> 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_and_the_largest_value_are_written_with_their_checksum() {
        assert_eq!(
            write(&Canary([0; 16])),
            "0000-0000-0000-0000-0000-0000-0000-0000-0000-0000"
        );
        let largest = write(&Canary([0xff; 16]));
        assert_eq!(Form::Digits.parse(&largest), Some(Canary([0xff; 16])));
    }

    #[test]
    fn a_number_with_another_checksum_is_none() {
        let text = write(&Canary([7; 16]));
        let last = char::from(text.as_bytes()[48])
            .to_digit(10)
            .expect("a digit");
        // Off by one in the value alone cannot keep value mod 29.
        let other = format!("{}{}", &text[..48], (last + 1) % 10);
        assert_eq!(Form::Digits.parse(&other), None);
        assert_eq!(
            Form::Digits.parse("9999-9999-9999-9999-9999-9999-9999-9999-9999-9999"),
            None
        );
        assert_eq!(Form::Digits.parse(&text.replace('-', " ")), None);
    }
}
