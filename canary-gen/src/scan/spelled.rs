//! The search of a window for writings whose symbols are characters, whatever stands between them:
//! whole ones, damaged ones, parts.

use super::align::align;
use super::census::Census;
use super::exact;
use super::hunt::{Find, Hunt};
use super::index::{Grain, Questions, SeedHash, symbols};
use super::layer::Layer;
use super::repair::{self, Damaged, MOST_DAMAGES};
use super::view::View;
use super::window::FEWEST_IN_WHOLE;
use crate::form::{Alphabet, Form, MOST_SYMBOLS, NO_SYMBOL, names};
use std::ops::Range;
use std::sync::PoisonError;

/// Bytes that may stand between two symbols: a separator, a line break, markup.
const LONGEST_SEPARATOR: usize = 8;

/// Stands for the place of a seed that was read backwards: the reversed text is then searched.
const BACKWARDS: usize = usize::MAX;

/// A letter or digit of a window.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    /// Its place in the layer's text.
    at: u32,
    byte: u8,
    /// No letter or digit stands directly before it.
    starts: bool,
    /// No letter or digit stands directly behind it.
    ends: bool,
}

/// Room for one run, kept from window to window.
#[derive(Default)]
pub(super) struct Scratch {
    symbols: Vec<Symbol>,
    values: Vec<u8>,
    foreign: Vec<u16>,
    questions: Questions,
}

/// Letters and digits with at most [`LONGEST_SEPARATOR`] other bytes between them, as an alphabet
/// reads them.
struct Run<'a> {
    alphabet: &'static Alphabet,
    symbols: &'a [Symbol],
    values: &'a [u8],
    /// How many symbols before each place have no value.
    foreign: &'a [u16],
}

impl<'a> Run<'a> {
    fn new(
        alphabet: &'static Alphabet,
        symbols: &'a [Symbol],
        values: &'a mut Vec<u8>,
        foreign: &'a mut Vec<u16>,
    ) -> Self {
        values.clear();
        values.extend(
            symbols
                .iter()
                .map(|symbol| alphabet.values[usize::from(symbol.byte)]),
        );
        foreign.clear();
        foreign.push(0);
        let mut count = 0;
        foreign.extend(values.iter().map(|&value| {
            count += u16::from(value == NO_SYMBOL);
            count
        }));
        Self {
            alphabet,
            symbols,
            values,
            foreign,
        }
    }

    fn foreign_in(&self, range: &Range<usize>) -> usize {
        usize::from(self.foreign[range.end] - self.foreign[range.start])
    }

    /// The bytes of the layer that symbols `range` take.
    fn bytes(&self, range: &Range<usize>) -> Range<usize> {
        self.symbols[range.start].at as usize..self.symbols[range.end - 1].at as usize + 1
    }

    /// Ranges between boundaries that are as long as a writing, or `MOST_DAMAGES` longer or shorter,
    /// with no more characters of other alphabets than damages. The likeliest lengths first.
    fn candidates(&self) -> Vec<Range<usize>> {
        let most = usize::from(MOST_DAMAGES);
        let length = self.alphabet.length;
        let count = self.symbols.len();
        let mut candidates = Vec::new();
        for start in 0..=count.saturating_sub(length - most) {
            if !self.symbols.get(start).is_some_and(|symbol| symbol.starts) {
                continue;
            }
            for length in [length, length - 1, length + 1, length - 2, length + 2] {
                let range = start..start + length;
                if range.end <= count
                    && self.symbols[range.end - 1].ends
                    && self.foreign_in(&range) <= most
                    && self.is_plausible(&range)
                {
                    candidates.push(range);
                }
            }
        }
        candidates
    }

    /// Asks for the runs that could be seeds; if `backwards`, also as they read backwards.
    fn ask(&self, grain: &Grain, backwards: bool, questions: &mut Questions) {
        let form = self.alphabet.form;
        let mut place = 0;
        while place + grain.seed <= self.values.len() {
            let range = place..place + grain.seed;
            place += grain.probe(self.values.len());
            // In `names` vowels and consonants alternate.
            let is_seed = self.foreign_in(&range) == 0
                && (form != Form::Names
                    || self.symbols[range.clone()].chunks(5).all(|part| {
                        names::is_part(&std::array::from_fn::<u8, 5, _>(|at| part[at].byte))
                    }));
            if is_seed {
                let run = &self.values[range.clone()];
                questions.ask(range.start, SeedHash::new(form, grain.key(run)));
                if backwards {
                    let mut run: [u8; 16] =
                        std::array::from_fn(|at| run.get(at).copied().unwrap_or(0));
                    run[..grain.seed].reverse();
                    let key = grain.key(&run[..grain.seed]);
                    questions.ask(BACKWARDS, SeedHash::new(form, key));
                }
            }
        }
    }

    /// Whether a range looks like its form and not like prose. A canary fails this with a chance
    /// below 2⁻¹² in `code` (if it is also written in small letters and its groups are harmed) and
    /// below 2⁻²⁴ in `uuid`.
    fn is_plausible(&self, range: &Range<usize>) -> bool {
        let symbols = &self.symbols[range.clone()];
        let count = |is: fn(&u8) -> bool| symbols.iter().filter(|symbol| is(&symbol.byte)).count();
        match self.alphabet.form {
            Form::Code => {
                count(u8::is_ascii_digit) >= 3
                    || count(u8::is_ascii_lowercase) == 0
                    || groups_are(symbols, &[5, 5, 5, 5, 6])
            }
            Form::Uuid => count(u8::is_ascii_digit) >= 5,
            Form::Digits | Form::Names | Form::Words => true,
        }
    }
}

fn groups_are(symbols: &[Symbol], lengths: &[usize]) -> bool {
    let mut rest = symbols;
    lengths.iter().all(|&length| {
        let Some((group, tail)) = rest.split_at_checked(length) else {
            return false;
        };
        rest = tail;
        group[0].starts && group[length - 1].ends && group[1..].iter().all(|symbol| !symbol.starts)
    }) && rest.is_empty()
}

impl Hunt {
    pub(super) fn search_spelled(
        &mut self,
        layer: &Layer<'_>,
        window: Range<usize>,
        census: &Census,
        alphabets: &[&'static Alphabet],
    ) {
        let parts = self.search.index.is_some();
        let fewest = |alphabet: &Alphabet| {
            if parts {
                Grain::of(alphabet.form).part
            } else {
                alphabet.length - usize::from(MOST_DAMAGES)
            }
        };
        let mut possible = [None; 4];
        for (place, alphabet) in possible.iter_mut().zip(Alphabet::all()) {
            let asked = alphabets.iter().any(|asked| std::ptr::eq(*asked, alphabet));
            *place = (asked && census.may_hold(alphabet, fewest(alphabet))).then_some(alphabet);
        }
        if possible.iter().all(Option::is_none) {
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch {
            symbols,
            values,
            foreign,
            questions,
        } = &mut scratch;
        gather_symbols(layer.text, window, symbols);
        // Where a whole canary has no room, parts are looked for as they were planted: with dashes.
        let is_roomy = census.symbols() >= FEWEST_IN_WHOLE;
        let goes_on = |one: &Symbol, next: &Symbol| match next.at - one.at {
            1 => true,
            2 => is_roomy || layer.text[one.at as usize + 1] == b'-',
            distance => is_roomy && distance as usize <= LONGEST_SEPARATOR + 1,
        };
        for symbols in symbols.chunk_by(goes_on) {
            let bytes = symbols[0].at as usize..symbols[symbols.len() - 1].at as usize + 1;
            if !layer.is_new_around(bytes) {
                continue;
            }
            for alphabet in possible.into_iter().flatten() {
                if symbols.len() >= fewest(alphabet) {
                    let run = Run::new(alphabet, symbols, values, foreign);
                    self.search_run(layer, &run, questions);
                }
            }
        }
        self.scratch = scratch;
    }

    fn search_run(&mut self, layer: &Layer<'_>, run: &Run<'_>, questions: &mut Questions) {
        let candidates = run.candidates();
        for range in &candidates {
            let whole = range.len() == run.alphabet.length && run.foreign_in(range) == 0;
            if whole && !exact::was_tried(layer.text, run.bytes(range)) {
                self.try_whole(layer, run, range);
            }
        }
        if self.search.index.is_some() {
            self.search_parts(layer, run, questions);
        }
        for range in &candidates {
            let bytes = run.bytes(range);
            if !self.reports.covers(layer.origin(bytes.clone()).start) {
                self.repair(layer, run, range);
            }
        }
    }

    /// A whole writing with unusual separators.
    fn try_whole(&mut self, layer: &Layer<'_>, run: &Run<'_>, range: &Range<usize>) {
        let mut values = [NO_SYMBOL; MOST_SYMBOLS];
        values[..range.len()].copy_from_slice(&run.values[range.clone()]);
        let Some(canary) = run.alphabet.read(&values) else {
            return;
        };
        if let Some((key, identity)) = self.open(&canary) {
            let form = run.alphabet.form;
            let find = Find {
                key,
                identity,
                form,
            };
            self.report_verified(layer, run.bytes(range), find, 0);
        }
    }

    /// Undoes damages with the key alone, as far as the effort goes.
    fn repair(&mut self, layer: &Layer<'_>, run: &Run<'_>, range: &Range<usize>) {
        let Some(damaged) = Damaged::new(run.values[range.clone()].iter().copied()) else {
            return;
        };
        let bytes = run.bytes(range);
        for damages in 1..=MOST_DAMAGES {
            let left = self.repair_openings_left(layer.position(bytes.start));
            if repair::openings(run.alphabet, damages) > left {
                self.work.repairs_cut_short += 1;
                return;
            }
            let mut owner = None;
            let mut tried = 0;
            let ring = self.search.ring.clone();
            repair::undo(run.alphabet, &damaged, damages, &mut |canary| {
                tried += 1;
                owner = ring.open(canary);
                owner.is_some()
            });
            self.work.openings += tried;
            self.work.repair_openings += tried;
            if let Some((key, identity)) = owner {
                let form = run.alphabet.form;
                let find = Find {
                    key,
                    identity,
                    form,
                };
                self.report_verified(layer, bytes, find, damages);
                return;
            }
        }
    }

    pub(super) fn repair_openings_left(&self, position: u64) -> u64 {
        let effort = self.search.effort;
        (effort.openings + position / effort.bytes_per_opening)
            .saturating_sub(self.work.repair_openings)
    }

    /// Looks every place of a run up in the index.
    fn search_parts(&mut self, layer: &Layer<'_>, run: &Run<'_>, questions: &mut Questions) {
        let form = run.alphabet.form;
        let grain = Grain::of(form);
        questions.clear();
        // A longer text is read backwards anyway.
        let backwards = run.symbols.len() < FEWEST_IN_WHOLE
            && layer.views.iter().last() != Some(View::Reversed);
        run.ask(&grain, backwards, questions);
        self.work.lookups += questions.len() as u64;
        let Some(index) = self.search.index.clone().filter(|_| questions.len() > 0) else {
            return;
        };
        // A poisoned lock means that a planter panicked between two canaries; each is whole.
        let index = index.read().unwrap_or_else(PoisonError::into_inner);
        let mut seen = (usize::MAX, 0);
        for (entry, place) in index.matches(questions) {
            if place == BACKWARDS {
                self.reads_backwards = true;
                continue;
            }
            // The next seeds of what was just recognised.
            if entry == seen.0 && place < seen.1 {
                continue;
            }
            let (canary, planted_as) = index.entry(entry);
            if planted_as != form {
                continue;
            }
            let known = symbols(form, &canary);
            let values: Vec<u16> = run.values.iter().map(|&value| u16::from(value)).collect();
            if let Some(part) = part_at(&known, &values, place, &grain) {
                seen = (entry, part.text.end);
                let bits = part
                    .known
                    .clone()
                    .map(|place| f64::from((run.alphabet.bits)(place)))
                    .sum();
                let bytes = run.bytes(&part.text);
                self.report_part(layer, bytes, form, &canary, &part, bits, index.len());
            }
        }
    }
}

/// A part of a known writing in a text.
pub(super) struct Part {
    /// The symbols of the writing.
    pub(super) known: Range<usize>,
    /// The symbols of the text.
    pub(super) text: Range<usize>,
    pub(super) damages: u8,
}

/// The largest part of `known` around the seed at `place` of `text`: all of it with up to two
/// damages, or an unharmed run that is long enough.
pub(super) fn part_at(known: &[u16], text: &[u16], place: usize, grain: &Grain) -> Option<Part> {
    let seed = &text[place..place + grain.seed];
    let offset = known.windows(grain.seed).position(|run| run == seed)?;
    let most = usize::from(MOST_DAMAGES);
    let start = place.saturating_sub(offset + most);
    let end = text.len().min(place + grain.length - offset + most);
    if let Some(found) = align(known, &text[start..end], MOST_DAMAGES) {
        return Some(Part {
            known: 0..known.len(),
            text: start + found.start..start + found.end,
            damages: found.damages,
        });
    }
    let before = (known[..offset].iter().rev())
        .zip(text[..place].iter().rev())
        .take_while(|(known, own)| known == own)
        .count();
    let behind = known[offset..]
        .iter()
        .zip(&text[place..])
        .take_while(|(known, own)| known == own)
        .count();
    (before + behind >= grain.part).then(|| Part {
        known: offset - before..offset + behind,
        text: place - before..place + behind,
        damages: 0,
    })
}

fn gather_symbols(text: &[u8], window: Range<usize>, symbols: &mut Vec<Symbol>) {
    let is_symbol = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    symbols.clear();
    let mut before = window.start.checked_sub(1).is_some_and(is_symbol);
    for (at, &byte) in window.clone().zip(&text[window]) {
        let here = byte.is_ascii_alphanumeric();
        if here {
            symbols.push(Symbol {
                at: at as u32,
                byte,
                starts: !before,
                ends: !is_symbol(at + 1),
            });
        }
        before = here;
    }
}
