//! Undoing damages of a canary of `words` with nothing but the key: misspelt, joined, broken, lost,
//! added, exchanged and replaced words.

use super::align::align;
use super::repair::MOST_DAMAGES;
use crate::canary::Canary;
use crate::form::NO_WORD;
use crate::form::words::{COUNT, LENGTH, Packed, WORD_LETTERS, WORDS, read};

/// Of the words that could write a canary so many must be on the list as they stand.
const UNHARMED: usize = LENGTH - 2 * MOST_DAMAGES as usize;
/// Words that a canary with damages may be spread over: broken ones count twice.
pub(super) const SPREAD: usize = LENGTH + MOST_DAMAGES as usize;
/// What looking through the list for similar words costs, in openings (it takes as long).
pub(super) const LOOK_THROUGH_LIST: u64 = 1_000;
/// What going through all readings of a text with one and with two damages costs, in openings.
pub(super) const READINGS: [u64; 2] = [50, 1_000];
/// Openings for one word that may be any of the list: the checksum rules fifteen of sixteen out.
pub(super) const ANY_WORD: u64 = COUNT as u64 / 16;
/// Places where one word may be any of the list: each of them, and each gap.
const ANY_WORD_PLACES: u64 = 2 * LENGTH as u64 + 1;

/// Words of a text as the repair sees them: their letters in small, and their number if they are on
/// the list.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    pub(super) letters: Vec<u8>,
    pub(super) number: Option<u16>,
    /// What else it may stand for: words of the list, and how many damages that means.
    similar: Vec<(u16, u8)>,
    /// Two words of the list without a space between them.
    joined: Option<(u16, u16)>,
}

impl Spelling {
    pub(super) fn new(letters: &[u8], number: Option<u16>) -> Self {
        Self {
            letters: letters.to_ascii_lowercase(),
            number,
            similar: Vec::new(),
            joined: None,
        }
    }

    /// Looks for what a word that is not on the list may have been.
    pub(super) fn look_for_similar(&mut self) {
        if self.number.is_some() || self.letters.len() > 2 * WORD_LETTERS.end() {
            return;
        }
        let own: Vec<u16> = self
            .letters
            .iter()
            .map(|&letter| u16::from(letter))
            .collect();
        let most = usize::from(MOST_DAMAGES);
        for number in 0..COUNT as u16 {
            let word = WORDS.word(number).as_bytes();
            if word.len().abs_diff(own.len()) > most {
                continue;
            }
            if let Some(damages) = distance(word, &own) {
                self.similar.push((number, damages));
            }
        }
        self.joined = (1..self.letters.len()).find_map(|middle| {
            let (head, tail) = self.letters.split_at(middle);
            Some((number_of(head)?, number_of(tail)?))
        });
    }
}

fn number_of(letters: &[u8]) -> Option<u16> {
    WORDS.number(Packed::new(letters)?)
}

/// How many damages apart two words are, if at most [`MOST_DAMAGES`].
fn distance(word: &[u8], own: &[u16]) -> Option<u8> {
    // Fenced, so that the alignment covers all of both words.
    let fence = [u16::MAX; MOST_DAMAGES as usize + 1];
    let fenced = |letters: &mut dyn Iterator<Item = u16>| -> Vec<u16> {
        fence.into_iter().chain(letters).chain(fence).collect()
    };
    let word = fenced(&mut word.iter().map(|&letter| u16::from(letter)));
    let own = fenced(&mut own.iter().copied());
    align(&word, &own, MOST_DAMAGES).map(|found| found.damages)
}

/// Whether so many of the next words are on the list that a damaged canary may begin here.
pub(super) fn is_worth_it(words: &[Spelling]) -> bool {
    let nearby = &words[..words.len().min(SPREAD)];
    nearby.iter().filter(|word| word.number.is_some()).count() >= UNHARMED
}

/// How many openings it takes at most when one word may be any of the list, beside other damages.
pub(super) fn any_word_openings(damages: u8) -> u64 {
    match damages {
        0 => 0,
        1 => ANY_WORD * ANY_WORD_PLACES,
        _ => ANY_WORD * ANY_WORD_PLACES * ANY_WORD_PLACES,
    }
}

/// A way to read the first words of a text.
#[derive(Clone, Copy)]
struct Reading {
    numbers: [u16; LENGTH],
    count: usize,
    /// Where one word may be any.
    any: Option<usize>,
    damages: u8,
}

impl Reading {
    fn and(mut self, number: u16, damages: u8) -> Self {
        self.numbers[self.count] = number;
        self.count += 1;
        self.damages += damages;
        self
    }
}

/// Tries every canary that `words`, from the first on, may have been with exactly `damages` damages.
/// `any_word`: also those of which one word was lost or replaced. `verify` tells whether a canary is
/// ours. Returns how many words the found one takes.
pub(super) fn undo(
    words: &[Spelling],
    damages: u8,
    any_word: bool,
    verify: &mut impl FnMut(&Canary) -> bool,
) -> Option<usize> {
    let blank = Reading {
        numbers: [NO_WORD; LENGTH],
        count: 0,
        any: None,
        damages: 0,
    };
    let mut undo = Undo {
        words,
        damages,
        any_word,
        verify,
    };
    undo.read_on(0, blank)
}

struct Undo<'a, V> {
    words: &'a [Spelling],
    damages: u8,
    any_word: bool,
    verify: &'a mut V,
}

impl<V: FnMut(&Canary) -> bool> Undo<'_, V> {
    fn read_on(&mut self, at: usize, reading: Reading) -> Option<usize> {
        if reading.damages > self.damages {
            return None;
        }
        if reading.count == LENGTH {
            let found = reading.damages == self.damages && self.try_reading(reading);
            return found.then_some(at);
        }
        let may_guess = self.any_word && reading.any.is_none();
        let guess = Reading {
            any: Some(reading.count),
            ..reading.and(NO_WORD, 1)
        };
        let Some(word) = self.words.get(at) else {
            // The last word was lost.
            return may_guess.then(|| self.read_on(at, guess)).flatten();
        };
        let next = self.words.get(at + 1);
        let mut options: Vec<(usize, Reading)> = Vec::new();
        if let Some(number) = word.number {
            options.push((at + 1, reading.and(number, 0)));
        }
        for &(number, damages) in &word.similar {
            options.push((at + 1, reading.and(number, damages)));
        }
        if let Some((head, tail)) = word.joined
            && reading.count + 2 <= LENGTH
        {
            options.push((at + 1, reading.and(head, 0).and(tail, 1)));
        }
        if let Some(next) = next {
            let together = [&word.letters[..], &next.letters[..]].concat();
            if let Some(number) = number_of(&together) {
                options.push((at + 2, reading.and(number, 1)));
            }
            if let (Some(number), Some(after)) = (word.number, next.number)
                && reading.count + 2 <= LENGTH
            {
                options.push((at + 2, reading.and(after, 1).and(number, 0)));
            }
        }
        if reading.count > 0 {
            // A word too many.
            let skipped = Reading {
                damages: reading.damages + 1,
                ..reading
            };
            options.push((at + 1, skipped));
        }
        if may_guess {
            options.push((at + 1, guess));
            options.push((at, guess));
        }
        options
            .into_iter()
            .find_map(|(at, reading)| self.read_on(at, reading))
    }

    fn try_reading(&mut self, reading: Reading) -> bool {
        let mut numbers = reading.numbers;
        let Some(any) = reading.any else {
            return read(&numbers).is_some_and(|canary| (self.verify)(&canary));
        };
        (0..COUNT as u16).any(|number| {
            numbers[any] = number;
            read(&numbers).is_some_and(|canary| (self.verify)(&canary))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::words::symbols;
    use proptest::prelude::*;

    fn undone(canary: Canary, text: &[String], any_word: bool) -> Option<u8> {
        let words: Vec<Spelling> = text
            .iter()
            .map(|word| {
                let mut spelling = Spelling::new(word.as_bytes(), number_of(word.as_bytes()));
                spelling.look_for_similar();
                spelling
            })
            .collect();
        (0..=MOST_DAMAGES).find(|&damages| {
            undo(&words, damages, any_word, &mut |tried| *tried == canary).is_some()
        })
    }

    fn words_of(canary: &Canary) -> Vec<String> {
        symbols(canary)
            .map(|number| WORDS.word(number).to_owned())
            .to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn misspelt_joined_broken_swapped_and_added_words_are_undone(
            bytes: [u8; 16], damages in proptest::collection::vec((0u8..6, 0usize..10, b'a'..=b'z'), 1..=2)
        ) {
            let canary = Canary(bytes);
            let mut text = words_of(&canary);
            // Two damages of one word are for the index to undo.
            prop_assume!(damages.len() < 2 || damages[0].1.abs_diff(damages[1].1) > 2);
            for (kind, place, letter) in &damages {
                let place = *place % text.len();
                let middle = text[place].len() / 2;
                match kind {
                    0 => text[place].insert(middle, char::from(*letter)),
                    1 => drop(text[place].remove(middle)),
                    2 => text[place].replace_range(middle..=middle, &char::from(*letter).to_string()),
                    3 if place + 1 < text.len() => text.swap(place, place + 1),
                    4 if place > 0 => text.insert(place, "of".to_owned()),
                    _ => {
                        let tail = text[place].split_off(middle);
                        text.insert(place + 1, tail);
                    }
                }
            }
            prop_assert!(undone(canary, &text, false).is_some(), "{:?}", text);
        }

        #[test]
        fn a_lost_or_replaced_word_is_found_by_trying_the_list(bytes: [u8; 16], place in 0usize..11, lost: bool) {
            let canary = Canary(bytes);
            let mut text = words_of(&canary);
            if lost {
                text.remove(place);
            } else {
                text[place] = "something".to_owned();
            }
            prop_assert!(undone(canary, &text, true).is_some());
        }
    }

    #[test]
    fn words_joined_without_a_space_are_told_apart() {
        let canary = Canary([7; 16]);
        let mut text = words_of(&canary);
        let tail = text.remove(4);
        text[3].push_str(&tail);
        assert_eq!(undone(canary, &text, false), Some(1));
    }
}
