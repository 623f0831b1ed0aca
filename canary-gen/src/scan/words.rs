//! The search for canaries of `words` and `names` in running text: a quick look at some words, then
//! at their neighbours, then at the whole run.

use super::align::align;
use super::census::Census;
use super::hunt::{AHEAD, BACK, Cursor, Find, Hunt};
use super::index::{Grain, Questions, SeedHash, symbols};
use super::layer::Layer;
use super::repair::MOST_DAMAGES;
use super::spelled::{Part, part_at};
use super::view::{View, ViewSet};
use super::word::{Word, company_of, run_around};
use super::word_repair::{self, LOOK_THROUGH_LIST, SPREAD, Spelling};
use crate::form::words::{LENGTH, WORDS, read};
use crate::form::{Alphabet, Form, NO_WORD};
use std::ops::Range;
use std::sync::PoisonError;

/// Of a word and its three neighbours on either side so many must be words that we plant.
pub(super) const NEARBY: usize = 3;
/// Where two capitalised words of five letters stand side by side, two are enough.
pub(super) const NAME_PARTS: usize = 2;
/// A view looks so far around a run of words.
const VIEW_MARGIN: usize = 64;
/// Views that may reveal a word that was disguised, broken or written backwards.
const VIEWS: ViewSet = ViewSet::ALL
    .without(View::Base64)
    .without(View::Hex)
    .without(View::Reversed);

impl Hunt {
    /// Examines the run of words around a place where the sieve saw one that may be ours.
    /// `company`: how many of the words near it must be ours, itself counted.
    pub(super) fn words_at(
        &mut self,
        layer: &Layer<'_>,
        at: usize,
        company: usize,
        cursor: &mut Cursor,
    ) {
        let text = layer.text;
        let from = (cursor.words as usize).max(at.saturating_sub(BACK));
        let to = text.len().min(at + AHEAD);
        let Some(word) = Word::after(text, at, to) else {
            return;
        };
        if !word.is_ours() || company_of(text, &word, from..to) < company {
            return;
        }
        let words = run_around(text, word, from..to);
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return;
        };
        let run = first.range.start..last.range.end;
        cursor.words = run.end as u64;
        self.work.bytes += run.len() as u64;
        if layer.is_new(run.clone()) {
            self.search_words(layer, &words);
            if words.iter().any(|word| word.part) {
                let census = Census::of(&text[run.clone()]);
                self.search_spelled(layer, run.clone(), &census, &Alphabet::all()[3..]);
            }
        }
        let back = run
            .start
            .saturating_sub(VIEW_MARGIN)
            .max(at.saturating_sub(BACK));
        let around = back..text.len().min(run.end + VIEW_MARGIN);
        let seen = cursor.viewed.0 <= around.start as u64 && around.end as u64 <= cursor.viewed.1;
        let mut views = if seen { ViewSet::NONE } else { VIEWS };
        if words.iter().any(|word| word.reversed || word.part) {
            views = views.with(View::Reversed);
        }
        if views != ViewSet::NONE {
            self.read_through(layer, around, views, cursor);
        }
    }

    /// Looks at every word of a short text.
    pub(super) fn search_for_words(&mut self, layer: &Layer<'_>, cursor: &mut Cursor) {
        let text = layer.text;
        let mut at = 0;
        while let Some(gap) = text[at..].iter().position(u8::is_ascii_alphabetic) {
            let Some(word) = Word::after(text, at + gap, text.len()) else {
                return;
            };
            if word.is_ours() {
                let company = if word.part { NAME_PARTS } else { NEARBY };
                self.words_at(layer, word.range.start, company, cursor);
            }
            at = word.range.end.max(cursor.words as usize);
        }
    }

    fn search_words(&mut self, layer: &Layer<'_>, words: &[Word]) {
        let numbers: Vec<u16> = words
            .iter()
            .map(|word| word.number.unwrap_or(NO_WORD))
            .collect();
        let mut next = 0;
        for (place, run) in numbers.windows(LENGTH).enumerate() {
            if place < next {
                continue;
            }
            let canary = run.try_into().ok().and_then(read);
            if let Some((key, identity)) = canary.and_then(|canary| self.open(&canary)) {
                let find = Find {
                    key,
                    identity,
                    form: Form::Words,
                };
                next = place + LENGTH;
                let bytes = words[place].range.start..words[next - 1].range.end;
                self.report_verified(layer, bytes, find, 0);
            }
        }
        if self.search.index.is_some() {
            self.search_word_parts(layer, words, &numbers);
        }
        self.repair_words(layer, words);
    }
}

/// Bits that the word at a place of a canary carries: the last one holds the checksum.
fn bits_of_word(place: usize) -> f64 {
    if place + 1 == LENGTH { 8.0 } else { 12.0 }
}

impl Hunt {
    fn search_word_parts(&mut self, layer: &Layer<'_>, words: &[Word], numbers: &[u16]) {
        let Some(index) = self.search.index.clone() else {
            return;
        };
        let grain = Grain::of(Form::Words);
        let mut questions = Questions::default();
        for (place, run) in numbers.windows(grain.seed).enumerate() {
            if !run.contains(&NO_WORD) {
                questions.ask(place, SeedHash::new(Form::Words, grain.key(run)));
            }
        }
        self.work.lookups += questions.len() as u64;
        // A poisoned lock means that a planter panicked between two canaries; each is whole.
        let index = index.read().unwrap_or_else(PoisonError::into_inner);
        for (entry, place) in index.matches(&mut questions) {
            let (canary, form) = index.entry(entry);
            if form != Form::Words {
                continue;
            }
            let known = symbols(form, &canary);
            let bytes_of = |range: &Range<usize>| {
                words[range.start].range.start..words[range.end - 1].range.end
            };
            let by_words = part_at(&known, numbers, place, &grain);
            let is_whole = by_words
                .as_ref()
                .is_some_and(|part| part.known.len() == LENGTH);
            let by_letters = if is_whole {
                None
            } else {
                align_letters(layer.text, words, place, &known)
            };
            let part = match by_letters {
                Some(whole) => Some(whole),
                None => by_words.map(|part| (bytes_of(&part.text), part)),
            };
            if let Some((bytes, part)) = part {
                let bits = part.known.clone().map(bits_of_word).sum();
                self.report_part(layer, bytes, form, &canary, &part, bits, index.len());
            }
        }
    }

    /// Undoes damages with the key alone, as far as the effort goes.
    fn repair_words(&mut self, layer: &Layer<'_>, words: &[Word]) {
        let mut spellings: Vec<Spelling> = words
            .iter()
            .map(|word| Spelling::new(&layer.text[word.range.clone()], word.number))
            .collect();
        let mut looked_through = 0;
        for start in 0..words.len() {
            let position = layer.origin(words[start].range.clone()).start;
            if !word_repair::is_worth_it(&spellings[start..]) || self.reports.covers(position) {
                continue;
            }
            let nearby = looked_through.max(start)..words.len().min(start + SPREAD);
            for spelling in spellings.get_mut(nearby).into_iter().flatten() {
                if spelling.number.is_none() {
                    if self.repair_openings_left(position) < LOOK_THROUGH_LIST {
                        self.work.repairs_cut_short += 1;
                        return;
                    }
                    self.work.repair_openings += LOOK_THROUGH_LIST;
                    spelling.look_for_similar();
                }
            }
            looked_through = looked_through.max(start + SPREAD);
            self.repair_words_from(layer, words, &spellings, start);
        }
    }

    fn repair_words_from(
        &mut self,
        layer: &Layer<'_>,
        words: &[Word],
        spellings: &[Spelling],
        start: usize,
    ) {
        let position = layer.position(words[start].range.start);
        for (damages, any_word) in [(1, false), (2, false), (1, true), (2, true)] {
            let needed = word_repair::READINGS[usize::from(damages) - 1]
                + if any_word {
                    word_repair::any_word_openings(damages)
                } else {
                    u64::from(damages) * word_repair::ANY_WORD
                };
            if needed > self.repair_openings_left(position) {
                self.work.repairs_cut_short += 1;
                return;
            }
            self.work.repair_openings += word_repair::READINGS[usize::from(damages) - 1];
            let mut owner = None;
            let mut tried = 0;
            let ring = self.search.ring.clone();
            let taken = word_repair::undo(&spellings[start..], damages, any_word, &mut |canary| {
                tried += 1;
                owner = ring.open(canary);
                owner.is_some()
            });
            self.work.openings += tried;
            self.work.repair_openings += tried;
            if let (Some(taken), Some((key, identity))) = (taken, owner) {
                let find = Find {
                    key,
                    identity,
                    form: Form::Words,
                };
                let bytes = words[start].range.start..words[start + taken - 1].range.end;
                self.report_verified(layer, bytes, find, damages);
                return;
            }
        }
    }
}

/// Where the letters of a whole canary stand around a word of it, with at most two of them harmed,
/// whatever stands between them.
fn align_letters(
    text: &[u8],
    words: &[Word],
    place: usize,
    known: &[u16],
) -> Option<(Range<usize>, Part)> {
    let number = words[place].number?;
    let offset = known.iter().position(|&known| known == number)?;
    let letters_of = |numbers: &[u16]| -> Vec<u16> {
        let letters = numbers
            .iter()
            .flat_map(|&number| WORDS.word(number).bytes());
        letters.map(u16::from).collect()
    };
    let writing = letters_of(known);
    let before = letters_of(&known[..offset]).len();
    let most = usize::from(MOST_DAMAGES);
    let letter = |at: &usize| text[*at].is_ascii_alphabetic();
    let (first, last) = (words.first()?, words.last()?);
    let here = words[place].range.start;
    let mut head: Vec<usize> = (first.range.start..here)
        .rev()
        .filter(letter)
        .take(before + most)
        .collect();
    head.reverse();
    let tail = (here..last.range.end)
        .filter(letter)
        .take(writing.len() - before + most);
    let places: Vec<usize> = head.into_iter().chain(tail).collect();
    let own: Vec<u16> = places
        .iter()
        .map(|&at| u16::from(text[at].to_ascii_lowercase()))
        .collect();
    let found = align(&writing, &own, MOST_DAMAGES)?;
    let whole = Part {
        known: 0..LENGTH,
        text: place..place + 1,
        damages: found.damages,
    };
    Some((places[found.start]..places[found.end - 1] + 1, whole))
}
