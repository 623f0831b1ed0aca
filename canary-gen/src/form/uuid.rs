//! `uuid`: the 16 bytes in hexadecimal, grouped 8-4-4-4-12. Only the layout of a UUID: its version
//! and variant bits are not set, all 128 bits are the canary's.

use super::{Alphabet, Form, NO_SYMBOL, Shape, Values, grouped, values_of};
use crate::canary::Canary;

const CHARACTERS: &[u8; 16] = b"0123456789abcdef";
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
const DASHES: [usize; 4] = [8, 13, 18, 23];
const LENGTH: usize = 32;

pub(super) static ALPHABET: Alphabet = Alphabet {
    form: Form::Uuid,
    length: LENGTH,
    radix: 16,
    first_values: 16,
    values: &VALUES,
    read,
    bits: |_| 4.0,
};

pub(super) static SHAPES: [Shape; 2] = [
    Shape::new(&ALPHABET, 36, &DASHES),
    Shape::new(&ALPHABET, 32, &[]),
];

const VALUES: [u8; 256] = values_of(CHARACTERS, 0);

pub(super) fn write(canary: &Canary) -> String {
    let characters = symbols(canary).map(|value| CHARACTERS[usize::from(value)]);
    grouped(&characters, &GROUPS)
}

pub(super) fn symbols(canary: &Canary) -> [u8; LENGTH] {
    let mut symbols = [0; LENGTH];
    for (pair, byte) in symbols.chunks_exact_mut(2).zip(canary.0) {
        pair[0] = byte >> 4;
        pair[1] = byte & 15;
    }
    symbols
}

fn read(values: &Values) -> Option<Canary> {
    let mut number = 0u128;
    for &value in &values[..LENGTH] {
        if value == NO_SYMBOL {
            return None;
        }
        number = number << 4 | u128::from(value);
    }
    Some(Canary(number.to_be_bytes()))
}
