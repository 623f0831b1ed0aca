//! `names`: four invented names of two parts, 32 bits each, first part and second part 16 bits:
//! `Takuh Bidos, Ronal Vapuk, …`. A part is consonant, vowel, consonant, vowel, consonant (4, 2, 4,
//! 2 and 4 bits, most significant first), after the idea of proquints (arXiv:0901.4016), with an
//! alphabet of our own: no `g`, `j`, `z`, whose syllables make names nobody should have.

use super::{Alphabet, Form, NO_SYMBOL, Values, values_of};
use crate::canary::Canary;

const CONSONANTS: &[u8; 16] = b"bcdfhklmnprstvwy";
const VOWELS: &[u8; 4] = b"aiou";
/// Vowels are counted on after the consonants, so that every letter has a value of its own.
const FIRST_VOWEL: u8 = 16;
const LENGTH: usize = 40;
const PART_LETTERS: usize = 5;
const PARTS: usize = 8;
/// Letters in canonical writing, four names of two parts, separators included.
const WRITTEN: usize = 4 * 11 + 3 * 2;

pub(super) static ALPHABET: Alphabet = Alphabet {
    form: Form::Names,
    length: LENGTH,
    radix: 20,
    first_values: 16,
    values: &VALUES,
    read,
    bits: |place| if is_vowel_place(place) { 2.0 } else { 4.0 },
};

pub(crate) const VALUES: [u8; 256] = {
    let consonants = values_of(CONSONANTS, 0);
    let mut values = values_of(VOWELS, FIRST_VOWEL);
    let mut byte = 0;
    while byte < 256 {
        if consonants[byte] != NO_SYMBOL {
            values[byte] = consonants[byte];
        }
        byte += 1;
    }
    values
};

const fn is_vowel_place(place: usize) -> bool {
    place % PART_LETTERS % 2 == 1
}

pub(super) fn symbols(canary: &Canary) -> [u8; LENGTH] {
    let mut symbols = [0; LENGTH];
    for (part, letters) in symbols.chunks_exact_mut(PART_LETTERS).enumerate() {
        let bits = u16::from_be_bytes([canary.0[2 * part], canary.0[2 * part + 1]]);
        letters[0] = (bits >> 12) as u8 & 15;
        letters[1] = FIRST_VOWEL + ((bits >> 10) as u8 & 3);
        letters[2] = (bits >> 6) as u8 & 15;
        letters[3] = FIRST_VOWEL + ((bits >> 4) as u8 & 3);
        letters[4] = bits as u8 & 15;
    }
    symbols
}

fn read(values: &Values) -> Option<Canary> {
    let mut bytes = [0; 16];
    for (part, letters) in values[..LENGTH].chunks_exact(PART_LETTERS).enumerate() {
        let mut bits = 0u16;
        for (place, &value) in letters.iter().enumerate() {
            bits = match (is_vowel_place(place), value) {
                (false, 0..FIRST_VOWEL) => bits << 4 | u16::from(value),
                (true, FIRST_VOWEL..20) => bits << 2 | u16::from(value - FIRST_VOWEL),
                _ => return None,
            };
        }
        bytes[2 * part..][..2].copy_from_slice(&bits.to_be_bytes());
    }
    Some(Canary(bytes))
}

pub(super) fn write(canary: &Canary) -> String {
    let mut text = String::with_capacity(WRITTEN);
    for (part, letters) in symbols(canary).chunks_exact(PART_LETTERS).enumerate() {
        text.push_str(match part {
            0 => "",
            part if part % 2 == 0 => ", ",
            _ => " ",
        });
        for (place, &value) in letters.iter().enumerate() {
            let letter = match value {
                vowel @ FIRST_VOWEL.. => VOWELS[usize::from(vowel - FIRST_VOWEL)],
                consonant => CONSONANTS[usize::from(consonant)],
            };
            text.push(char::from(if place == 0 {
                letter.to_ascii_uppercase()
            } else {
                letter
            }));
        }
    }
    text
}

/// Reads the canonical writing in any case, or the forty letters alone.
pub(super) fn parse(text: &[u8]) -> Option<Canary> {
    let mut values = [NO_SYMBOL; super::MOST_SYMBOLS];
    let mut rest = text;
    let separated = text.len() == WRITTEN;
    for (part, letters) in values.chunks_exact_mut(PART_LETTERS).enumerate() {
        if separated && part > 0 {
            let separator: &[u8] = if part % 2 == 0 { b", " } else { b" " };
            rest = rest.strip_prefix(separator)?;
        }
        let (head, tail) = rest.split_at_checked(PART_LETTERS)?;
        for (value, &letter) in letters.iter_mut().zip(head) {
            *value = VALUES[usize::from(letter)];
        }
        rest = tail;
    }
    debug_assert_eq!(PARTS * PART_LETTERS, values.len());
    if !rest.is_empty() {
        return None;
    }
    read(&values)
}

/// Whether five letters (either case) could be a part of a name.
pub(crate) fn is_part(letters: &[u8]) -> bool {
    letters.len() == PART_LETTERS
        && letters.iter().enumerate().all(|(place, &letter)| {
            let value = VALUES[usize::from(letter)];
            value != NO_SYMBOL && (value >= FIRST_VOWEL) == is_vowel_place(place)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_and_the_largest_value_are_four_names() {
        assert_eq!(
            write(&Canary([0; 16])),
            "Babab Babab, Babab Babab, Babab Babab, Babab Babab"
        );
        assert_eq!(
            write(&Canary([0xff; 16])),
            "Yuyuy Yuyuy, Yuyuy Yuyuy, Yuyuy Yuyuy, Yuyuy Yuyuy"
        );
    }

    #[test]
    fn a_foreign_letter_a_missing_part_or_a_changed_separator_is_none() {
        let good = write(&Canary([7; 16]));
        assert_eq!(Form::Names.parse(&good), Some(Canary([7; 16])));
        assert_eq!(Form::Names.parse(&good.replacen('a', "e", 1)), None);
        assert_eq!(Form::Names.parse(&good[..44]), None);
        assert_eq!(Form::Names.parse(&good.replace(',', ";")), None);
        assert_eq!(Form::Names.parse(&format!("{good}s")), None);
    }

    #[test]
    fn a_part_has_two_vowels_between_three_consonants() {
        assert!(is_part(b"Takuh") && is_part(b"RONAL"));
        assert!(!is_part(b"Tokio") && !is_part(b"hotels") && !is_part(b"naked"));
    }
}
