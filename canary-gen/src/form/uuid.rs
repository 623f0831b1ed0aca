//! `uuid`: the 16 bytes in hexadecimal, grouped 8-4-4-4-12. Only the layout of a UUID: its version
//! and variant bits are not set, all 128 bits are the canary's.

use super::{Shape, grouped};
use crate::canary::Canary;

const DIGITS: &[u8; 16] = b"0123456789abcdef";
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
const DASHES: [usize; 4] = [8, 13, 18, 23];

pub(super) const SHAPES: [Shape; 2] = [
    Shape {
        length: 36,
        dashes: &DASHES,
        read_symbols,
    },
    Shape {
        length: 32,
        dashes: &[],
        read_symbols,
    },
];

pub(super) fn write(canary: &Canary) -> String {
    grouped(&symbols(canary), &GROUPS)
}

pub(super) fn symbols(canary: &Canary) -> [u8; 32] {
    let mut symbols = [0; 32];
    for (pair, byte) in symbols.chunks_exact_mut(2).zip(canary.0) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    symbols
}

fn read_symbols(symbols: &[u8]) -> Option<Canary> {
    let mut number = 0u128;
    for &symbol in symbols {
        let value = char::from(symbol).to_digit(16)?;
        number = number << 4 | u128::from(value);
    }
    Some(Canary(number.to_be_bytes()))
}
