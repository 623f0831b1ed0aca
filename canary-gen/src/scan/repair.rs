//! Undoing small damages with nothing but the key: every text within one or two edits is tried, and the
//! tag tells which was planted.

use crate::canary::Canary;
use crate::form::{Alphabet, Form, MOST_SYMBOLS, NO_SYMBOL};

/// The most damages that are undone.
pub(super) const MOST_DAMAGES: u8 = 2;
/// Symbols of the longest text that can be a damaged writing.
const LONGEST: usize = MOST_SYMBOLS + MOST_DAMAGES as usize;

/// A text that may be a writing with a few damages: symbol values, [`NO_SYMBOL`] where a character
/// belongs to no writing.
#[derive(Clone, Copy)]
pub(super) struct Damaged {
    values: [u8; LONGEST],
    length: usize,
}

impl Damaged {
    /// `None` when the text is longer than any damaged writing.
    pub(super) fn new(text: impl ExactSizeIterator<Item = u8>) -> Option<Self> {
        let length = text.len();
        if length > LONGEST {
            return None;
        }
        let mut values = [NO_SYMBOL; LONGEST];
        for (value, own) in values.iter_mut().zip(text) {
            *value = own;
        }
        Some(Self { values, length })
    }

    fn foreign(&self) -> usize {
        self.values[..self.length]
            .iter()
            .filter(|&&value| value == NO_SYMBOL)
            .count()
    }

    fn with(mut self, place: usize, value: u8) -> Self {
        self.values[place] = value;
        self
    }

    fn without(mut self, place: usize) -> Self {
        self.values.copy_within(place + 1..self.length, place);
        self.length -= 1;
        self
    }

    fn with_more(mut self, place: usize, value: u8) -> Self {
        self.values.copy_within(place..self.length, place + 1);
        self.values[place] = value;
        self.length += 1;
        self
    }

    fn swapped(mut self, place: usize) -> Self {
        self.values.swap(place, place + 1);
        self
    }
}

/// About how many openings it takes to try every text so many damages away.
pub(super) fn openings(alphabet: &Alphabet, damages: u8) -> u64 {
    let (length, radix) = (alphabet.length as u64, u64::from(alphabet.radix));
    let one = (2 * length + 1) * radix + 2 * length;
    // A wrong checksum costs no opening.
    let passing = if alphabet.form == Form::Digits { 29 } else { 1 };
    match damages {
        0 => 1,
        1 => one / passing,
        _ => one * one / 2 / passing,
    }
}

/// Tries every text exactly `damages` edits away from `text`, until `verify` accepts a canary.
pub(super) fn undo(
    alphabet: &Alphabet,
    text: &Damaged,
    damages: u8,
    verify: &mut impl FnMut(&Canary) -> bool,
) -> bool {
    Undo { alphabet, verify }.edits(text, damages, 0)
}

struct Undo<'a, V> {
    alphabet: &'a Alphabet,
    verify: &'a mut V,
}

impl<V: FnMut(&Canary) -> bool> Undo<'_, V> {
    /// Undoes `left` damages at `from` or behind it.
    fn edits(&mut self, text: &Damaged, left: u8, from: usize) -> bool {
        let (length, foreign) = (text.length, text.foreign());
        let reach = usize::from(left);
        if foreign > reach || length.abs_diff(self.alphabet.length) > reach {
            return false;
        }
        if left == 0 {
            return self.read(text);
        }
        for place in from..=length {
            let others = foreign - usize::from(self.is_foreign(text, place));
            let next = |edited: &Damaged, undo: &mut Self| {
                undo.edits(edited, left - 1, place.saturating_sub(1))
            };
            // What cannot come down to a whole writing with the edits left is not worth a try.
            let may_change_length = |by: isize| {
                (length as isize + by)
                    .unsigned_abs()
                    .abs_diff(self.alphabet.length)
                    < reach
            };
            if place < length && others < reach && may_change_length(0) {
                for value in 0..self.alphabet.radix {
                    if value != text.values[place] && next(&text.with(place, value), self) {
                        return true;
                    }
                }
            }
            if place < length && others < reach && may_change_length(-1) {
                let doubled = place > 0 && text.values[place - 1] == text.values[place];
                if !doubled && next(&text.without(place), self) {
                    return true;
                }
            }
            if foreign < reach && may_change_length(1) && length < LONGEST {
                for value in 0..self.alphabet.radix {
                    let same = place < length && text.values[place] == value;
                    if !same && next(&text.with_more(place, value), self) {
                        return true;
                    }
                }
            }
            if place + 1 < length
                && foreign < reach
                && may_change_length(0)
                && text.values[place] != text.values[place + 1]
                && next(&text.swapped(place), self)
            {
                return true;
            }
        }
        false
    }

    fn is_foreign(&self, text: &Damaged, place: usize) -> bool {
        place < text.length && text.values[place] == NO_SYMBOL
    }

    fn read(&mut self, text: &Damaged) -> bool {
        let mut values = [NO_SYMBOL; MOST_SYMBOLS];
        values[..text.length].copy_from_slice(&text.values[..text.length]);
        self.alphabet
            .read(&values)
            .is_some_and(|canary| (self.verify)(&canary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One damage: kind, place and value are taken modulo what there is.
    type Damage = (u8, usize, u8);

    fn damage(alphabet: &Alphabet, text: &mut Vec<u8>, (kind, place, value): Damage) {
        let value = value % alphabet.radix;
        let place = place % text.len();
        match kind % 5 {
            0 => text[place] = value,
            1 => text[place] = NO_SYMBOL,
            2 => {
                text.remove(place);
            }
            3 => text.insert(place, value),
            _ => {
                let place = place.min(text.len() - 2);
                text.swap(place, place + 1);
            }
        }
    }

    fn undone(alphabet: &Alphabet, canary: Canary, text: &[u8], damages: u8) -> (bool, u64) {
        let mut tried = 0;
        let damaged = Damaged::new(text.iter().copied()).expect("short enough");
        let found = (0..=damages).any(|damages| {
            undo(alphabet, &damaged, damages, &mut |tried_canary| {
                tried += 1;
                *tried_canary == canary
            })
        });
        (found, tried)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_one_or_two_damages_are_undone(bytes: [u8; 16], which in 0usize..4, first: Damage, second: Option<Damage>) {
            let alphabet = Alphabet::all()[which];
            let canary = Canary(bytes);
            let mut text = alphabet.write(&canary)[..alphabet.length].to_vec();
            damage(alphabet, &mut text, first);
            if let Some(second) = second {
                damage(alphabet, &mut text, second);
            }
            let count = 1 + u8::from(second.is_some());
            let (found, tried) = undone(alphabet, canary, &text, count);
            prop_assert!(found, "{} {first:?} {second:?}", alphabet.form);
            let expected: u64 = (0..=count).map(|damages| openings(alphabet, damages)).sum();
            prop_assert!(tried <= 2 * expected + 10, "{tried} of {expected}");
        }
    }
}
