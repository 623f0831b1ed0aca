//! Filler that reads like business prose, fast: a gigabyte a second leaves about 80 nanoseconds for a
//! sentence. So one draw decides a whole sentence, and every sentence is the same few copies of fixed
//! length, without a branch on what was drawn.

use super::chunk::Chunk;
use super::phrases::{
    ADJUNCTS, LONG_WIDTH, OBJECTS, SHORT_SENTENCES, SHORT_WIDTH, SUBJECTS, VERBS,
};
use crate::seed::{Choices, Draw};

/// The shortest sentence the grammar makes: subject, verb, object, full stop.
const GRAMMAR_UNITS: u64 = 6;
/// The usual sentence has from so many units …
const SHORTEST_USUAL: u64 = 8;
/// … to so many, which is the longest there is.
const LONGEST: u64 = 22;
const USUAL_LENGTHS: u32 = (LONGEST - SHORTEST_USUAL + 1) as u32;
/// Words in the adjuncts of the longest sentence.
const LONGEST_TAIL: usize = (LONGEST - GRAMMAR_UNITS) as usize;
/// Words in the longest adjunct.
const LONGEST_ADJUNCT: usize = ADJUNCTS.len() - 1;
/// Adjuncts in a sentence, those of no words counted.
const ADJUNCTS_A_SENTENCE: usize = 4;
/// Adjuncts to choose from, of each number of words.
const ADJUNCTS_A_ROW: usize = ADJUNCTS[0].len();
/// Odd numbers below that.
const ADJUNCT_STEPS: u32 = ADJUNCTS_A_ROW as u32 / 2;
/// No separator and sentence is longer, the fields of its phrases counted to their end.
const LONGEST_BYTES: usize = 2 + 3 * SHORT_WIDTH + ADJUNCTS_A_SENTENCE * LONG_WIDTH + 1;

// One draw is enough for a sentence: see `Draw`.
const OUTCOMES: u64 = USUAL_LENGTHS as u64
    * (SUBJECTS.len() * VERBS.len() * OBJECTS.len()) as u64
    * (MOST_TAILS * ADJUNCTS_A_ROW) as u64
    * ADJUNCT_STEPS as u64;
const _: () = assert!(OUTCOMES < 1 << 32);
const _: () = assert!(ADJUNCTS_A_ROW.is_power_of_two() && ADJUNCTS_A_SENTENCE <= ADJUNCTS_A_ROW);

/// The shortest filler there is, in units.
pub(super) const SHORTEST: u64 = 2;

/// How many short sentences there are.
pub(super) const SHORT_SENTENCE_COUNT: usize = SHORT_SENTENCES.len() * SHORT_SENTENCES[0].len();

/// A short sentence by its number, from 0, and its units.
pub(super) fn short_sentence(number: usize) -> Option<(&'static str, u64)> {
    let row = number / SHORT_SENTENCES[0].len();
    let sentence = &SHORT_SENTENCES.get(row)?[number % SHORT_SENTENCES[0].len()];
    Some((sentence.as_str(), row as u64 + SHORTEST))
}

/// What stands between a sentence and the text before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// No unit.
    Space,
    /// One unit.
    ParagraphBreak,
}

/// Writes one sentence of at most `room` units (`room` at least [`SHORTEST`]) and returns its units,
/// its separator left out. What is left of `room` is either nothing or enough for another sentence,
/// so that repeated calls fill any room exactly.
#[inline]
pub(super) fn sentence(
    choices: &mut Choices,
    room: u64,
    separator: Separator,
    chunk: &mut Chunk,
) -> u64 {
    let mut draw = choices.draw();
    let usual = SHORTEST_USUAL + u64::from(draw.below(USUAL_LENGTHS));
    let mut units = usual.min(room);
    if room - units == 1 {
        units = if units == LONGEST {
            units - 1
        } else {
            units + 1
        };
    }
    let text = chunk.window(LONGEST_BYTES);
    text[..2].copy_from_slice(match separator {
        Separator::Space => b"  ",
        Separator::ParagraphBreak => b"\n\n",
    });
    let mut at = 1 + usize::from(separator == Separator::ParagraphBreak);
    if units < GRAMMAR_UNITS {
        at = draw
            .pick(&SHORT_SENTENCES[(units - SHORTEST) as usize])
            .put(text, at);
        chunk.grow(at);
        return units;
    }
    at = draw.pick(&SUBJECTS).put(text, at);
    at = draw.pick(&VERBS).put(text, at);
    at = draw.pick(&OBJECTS).put(text, at);
    let words = TAILS.pick((units - GRAMMAR_UNITS) as usize, &mut draw);
    // An odd step walks through all of a row, so a sentence never says the same adjunct twice.
    let first = draw.below(ADJUNCTS_A_ROW as u32) as usize;
    let step = draw.below(ADJUNCT_STEPS) as usize * 2 + 1;
    for (index, words) in words.into_iter().enumerate() {
        at = ADJUNCTS[usize::from(words)][(first + index * step) % ADJUNCTS_A_ROW].put(text, at);
    }
    text[at] = b'.';
    chunk.grow(at + 1);
    units
}

/// How many words each adjunct of a sentence has.
type Tail = [u8; ADJUNCTS_A_SENTENCE];

/// No number of words has more tails (a test holds this to be exact).
const MOST_TAILS: usize = 95;

/// The tails of every number of words: as few adjuncts as hold them, or one more; more would read
/// like a list.
struct Tails {
    tails: [[Tail; MOST_TAILS]; LONGEST_TAIL + 1],
    counts: [usize; LONGEST_TAIL + 1],
}

static TAILS: Tails = Tails::new();

impl Tails {
    const fn new() -> Self {
        let mut all = Self {
            tails: [[[0; ADJUNCTS_A_SENTENCE]; MOST_TAILS]; LONGEST_TAIL + 1],
            counts: [0; LONGEST_TAIL + 1],
        };
        let base = LONGEST_ADJUNCT + 1;
        let mut number = 0;
        while number < base.pow(ADJUNCTS_A_SENTENCE as u32) {
            let mut tail = [0; ADJUNCTS_A_SENTENCE];
            let (mut words, mut adjuncts, mut gap) = (0, 0, false);
            let (mut rest, mut index) = (number, 0);
            while index < ADJUNCTS_A_SENTENCE {
                let here = rest % base;
                gap = gap || (here > 0 && adjuncts < index);
                adjuncts += (here > 0) as usize;
                words += here;
                tail[index] = here as u8;
                rest /= base;
                index += 1;
            }
            if !gap && words <= LONGEST_TAIL && adjuncts <= words.div_ceil(LONGEST_ADJUNCT) + 1 {
                all.tails[words][all.counts[words]] = tail;
                all.counts[words] += 1;
            }
            number += 1;
        }
        all
    }

    fn pick(&self, words: usize, draw: &mut Draw) -> Tail {
        self.tails[words][draw.below(self.counts[words] as u32) as usize]
    }
}

/// Words and full stops.
#[cfg(test)]
pub(super) fn units_of(text: &str) -> u64 {
    text.split_whitespace().count() as u64 + text.matches('.').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use std::collections::BTreeSet;

    fn written(choices: &mut Choices, room: u64, separator: Separator) -> (u64, String) {
        let mut chunk = Chunk::new();
        let units = sentence(choices, room, separator, &mut chunk);
        (units, chunk.take().expect("a sentence"))
    }

    #[test]
    fn a_sentence_has_the_units_it_says_and_fits() {
        let mut choices = Seed::from_number(3).choices();
        for room in SHORTEST..60 {
            for _ in 0..200 {
                let (units, text) = written(&mut choices, room, Separator::Space);
                assert_eq!(units, units_of(&text), "{text}");
                assert!(units <= room && room - units != 1, "{units} of {room}");
                assert!(text.starts_with(' ') && text.ends_with('.'), "{text}");
                assert!(!text[1..].contains("  ") && text.is_ascii(), "{text}");
            }
        }
    }

    #[test]
    fn a_sentence_of_a_new_paragraph_stands_after_the_break() {
        let (units, text) = written(
            &mut Seed::from_number(4).choices(),
            30,
            Separator::ParagraphBreak,
        );
        let (sentence_units, sentence) =
            written(&mut Seed::from_number(4).choices(), 30, Separator::Space);
        assert_eq!(units, sentence_units);
        assert_eq!(text, format!("\n\n{}", &sentence[1..]));
    }

    #[test]
    fn sentences_hardly_ever_come_again_and_say_no_adjunct_twice() {
        let mut choices = Seed::from_number(5).choices();
        let sentences: BTreeSet<String> = (0..20_000)
            .map(|_| written(&mut choices, 1_000, Separator::Space).1)
            .collect();
        assert!(sentences.len() > 19_900, "{}", sentences.len());
        let adjuncts: Vec<&str> = ADJUNCTS[1..]
            .iter()
            .flatten()
            .map(|adjunct| adjunct.as_str())
            .collect();
        for sentence in &sentences {
            let twice = adjuncts
                .iter()
                .find(|adjunct| sentence.matches(*adjunct).count() > 1);
            assert_eq!(twice, None, "{sentence}");
        }
    }

    #[test]
    fn every_number_of_words_has_tails_and_each_holds_them() {
        assert_eq!(TAILS.counts.iter().max(), Some(&MOST_TAILS));
        for (words, (tails, &count)) in TAILS.tails.iter().zip(&TAILS.counts).enumerate() {
            assert!(count > 0, "{words}");
            let distinct: BTreeSet<&Tail> = tails[..count].iter().collect();
            assert_eq!(distinct.len(), count);
            for tail in distinct {
                assert_eq!(
                    tail.iter().map(|&words| usize::from(words)).sum::<usize>(),
                    words
                );
            }
        }
    }
}
