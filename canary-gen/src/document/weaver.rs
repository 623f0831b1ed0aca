//! The weaver: a document as a stream of chunks.

use super::chunk::Chunk;
use super::filler::{self, Separator};
use super::{Contents, DocumentSpec, Layout, PAGE_TOKENS, Question, SMALLEST_STRIDE, Summary};
use crate::canary::{Identity, Slot};
use crate::key::KeyRing;
use crate::seed::{Choices, Seed};
use std::fmt::Write as _;

/// A paragraph of filler ends after so many sentences.
const PARAGRAPH_SENTENCES: u32 = 5;

/// Yields a document's text chunk by chunk. Memory: one chunk.
pub struct Weaver {
    spec: DocumentSpec,
    ring: KeyRing,
    filler: Choices,
    chunk: Chunk,
    summary: Summary,
    /// Sentences of filler since the last paragraph break.
    sentences: u32,
    /// The slots of the last chunk, each with the estimated token at which it begins.
    recent: Vec<(u32, u64)>,
    /// The estimated token at which the first slot would begin.
    base: f64,
    stage: Stage,
}

/// What comes next.
#[derive(Clone, Copy)]
enum Stage {
    /// So many units of what others begin with, too.
    Head(u64),
    Opening,
    /// Filler until so many tokens are reached, then the record of a slot.
    Slot(Slot, f64),
    /// Filler until so many tokens are reached, then the question.
    Question(Ask, f64),
    End,
}

/// What is asked at the end.
#[derive(Clone, Copy)]
enum Ask {
    Section(u32),
    List,
    Continue,
}

impl Weaver {
    pub(super) fn new(spec: DocumentSpec, ring: KeyRing) -> Self {
        let first = spec.head.map_or(spec.seed, |head| head.seed);
        let mut weaver = Self {
            filler: filler_of(&first),
            chunk: Chunk::new(),
            summary: Summary::default(),
            sentences: 0,
            recent: Vec::new(),
            base: spec.measure.overhead,
            stage: Stage::Opening,
            spec,
            ring,
        };
        if let Some(head) = spec.head {
            weaver.open(&head.seed);
            weaver.stage = Stage::Head(head.units.saturating_sub(OPENING_UNITS));
        }
        weaver
    }

    /// The measures of what has been woven so far; of the document, once the weaver has ended.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            tokens: self.tokens(),
            ..self.summary
        }
    }

    pub(super) fn slots_planted(&self) -> u32 {
        self.summary.slots
    }

    /// The estimated token at which a slot planted in the last chunk begins.
    pub(super) fn token_of_recent(&self, slot: Slot) -> Option<u64> {
        let wanted = slot.get() as u32;
        self.recent
            .iter()
            .find(|(slot, _)| *slot == wanted)
            .map(|(_, token)| *token)
    }

    fn tokens(&self) -> f64 {
        self.spec.measure.tokens(&self.summary.contents)
    }

    /// How many units of filler fit before the estimate reaches `tokens`.
    fn room_until(&self, tokens: f64) -> u64 {
        let room = (tokens - self.tokens()) / self.spec.measure.per_unit.max(0.05);
        if room > 0.0 { room.round() as u64 } else { 0 }
    }

    fn open(&mut self, seed: &Seed) {
        let number = 1_000_000_000 + seed.child("file number").choices().below(9_000_000_000);
        // The first bytes differ between documents, so no two share a prefix in any cache.
        let _ = write!(
            self.chunk,
            "{number} is the file number of this memorandum."
        );
        self.summary.contents.units += OPENING_UNITS;
    }

    /// What the head has room for; true once it is through.
    fn fill_head(&mut self, mut room: u64) -> bool {
        while room >= filler::SHORTEST {
            if self.chunk.is_full() {
                self.stage = Stage::Head(room);
                return false;
            }
            let units = self.fill_once(room);
            self.summary.contents.units += units;
            room -= units;
        }
        // The document's own words begin with a paragraph of their own.
        let _ = self.chunk.write_str("\n\n");
        self.summary.contents.units += 1;
        self.sentences = 0;
        self.filler = filler_of(&self.spec.seed);
        self.base = self.tokens();
        true
    }

    /// The stage after the opening or a slot: the next slot, or the question if there is no room for one.
    fn next_stage(&self) -> Stage {
        let index = self.summary.slots;
        let slot = Slot::new(u64::from(index)).filter(|_| self.has_room_for(index));
        match slot {
            Some(slot) => Stage::Slot(slot, self.base + f64::from(index) * self.stride()),
            None => {
                let ask = self.asked();
                let reserve = self.spec.measure.tokens_of(&self.end(ask));
                Stage::Question(ask, self.spec.tokens as f64 - reserve)
            }
        }
    }

    /// What the question asks for, of the sections written.
    fn asked(&self) -> Ask {
        match (self.summary.slots, self.spec.question) {
            (0, _) => Ask::Continue,
            (_, Question::List) => Ask::List,
            (slots, Question::One) => {
                let mut choices = self.spec.seed.child("question").choices();
                Ask::Section(choices.between(1, u64::from(slots)) as u32)
            }
        }
    }

    /// The record of a slot.
    fn plant(&mut self, slot: Slot) {
        let index = self.summary.slots;
        self.recent.push((index, self.tokens().max(0.0) as u64));
        let identity = Identity {
            tenant: self.spec.tenant,
            probe: self.spec.probe,
            slot,
        };
        let canary = self
            .spec
            .form
            .write(&self.ring.minting().mint(identity, self.spec.form));
        let section = index + 1;
        let _ = match self.spec.layout {
            Layout::Sparse { .. } => write!(
                self.chunk,
                "\n\nSection {section}\n\nThe access code of section {section} is {canary}."
            ),
            // Of a plain document no slot is ever planted.
            Layout::Dense | Layout::Plain => write!(
                self.chunk,
                "\n\nSection {section}\n\nCode {canary}. Again {canary}."
            ),
        };
        self.summary.contents += record(self.spec.layout, section);
        self.summary.slots += 1;
        self.sentences = 0;
    }

    fn has_room_for(&self, index: u32) -> bool {
        if self.spec.layout == Layout::Plain {
            return false;
        }
        let mut needed = record(self.spec.layout, index + 1);
        needed += self.end(match self.spec.question {
            Question::One => Ask::Section(index + 1),
            Question::List => Ask::List,
        });
        let start = (self.base + f64::from(index) * self.stride()).max(self.tokens());
        start + self.spec.measure.tokens_of(&needed) <= self.spec.tokens as f64
    }

    fn stride(&self) -> f64 {
        match self.spec.layout {
            Layout::Sparse { stride_tokens } => f64::from(stride_tokens.max(SMALLEST_STRIDE)),
            Layout::Dense | Layout::Plain => f64::from(PAGE_TOKENS),
        }
    }

    /// Filler until the estimate reaches `tokens`; false if the chunk is full before that.
    fn fill_until(&mut self, tokens: f64) -> bool {
        let mut room = self.room_until(tokens);
        while room >= filler::SHORTEST {
            if self.chunk.is_full() {
                return false;
            }
            let units = self.fill_once(room);
            self.summary.contents.units += units;
            room = match room - units {
                // Where a unit costs next to no tokens, the room was taken for less than it is.
                0 => self.room_until(tokens),
                left => left,
            };
        }
        true
    }

    /// One sentence of at most `room` units and what parts it from the text before.
    fn fill_once(&mut self, room: u64) -> u64 {
        // A paragraph break is a unit of its own and must leave room for a sentence.
        let breaks = self.sentences >= PARAGRAPH_SENTENCES && room > filler::SHORTEST + 1;
        let separator = if breaks {
            self.sentences = 0;
            Separator::ParagraphBreak
        } else {
            Separator::Space
        };
        self.sentences += 1;
        let room = room - u64::from(breaks);
        u64::from(breaks) + filler::sentence(&mut self.filler, room, separator, &mut self.chunk)
    }

    fn closing(&self) -> Option<(&'static str, u64)> {
        filler::short_sentence(usize::from(self.spec.closing).checked_sub(1)?)
    }

    /// What stands after the filler, if this is asked.
    fn end(&self, ask: Ask) -> Contents {
        let mut end = question(ask);
        end.units += self.closing().map_or(0, |(_, units)| units);
        end
    }

    /// The closing sentence and the question.
    fn ask(&mut self, ask: Ask) {
        if let Some((sentence, units)) = self.closing() {
            let _ = write!(self.chunk, " {sentence}");
            self.summary.contents.units += units;
        }
        let _ = match ask {
            Ask::Continue => write!(self.chunk, "\n\nContinue the text."),
            Ask::List => write!(self.chunk, "\n\nList the access codes."),
            Ask::Section(section) => {
                self.summary.asked = Slot::new(u64::from(section - 1));
                write!(
                    self.chunk,
                    "\n\nWhat is the access code of section {section}?"
                )
            }
        };
        self.summary.contents += question(ask);
    }
}

impl Iterator for Weaver {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.recent.clear();
        while !self.chunk.is_full() {
            match self.stage {
                Stage::Head(units) => {
                    if self.fill_head(units) {
                        self.stage = Stage::Opening;
                    }
                }
                Stage::Opening => {
                    let seed = self.spec.seed;
                    self.open(&seed);
                    self.stage = self.next_stage();
                }
                Stage::Slot(slot, start) => {
                    if self.fill_until(start) {
                        self.plant(slot);
                        self.stage = self.next_stage();
                    }
                }
                Stage::Question(ask, start) => {
                    if self.fill_until(start) {
                        self.ask(ask);
                        self.stage = Stage::End;
                    }
                }
                Stage::End => break,
            }
        }
        let text = self.chunk.take()?;
        self.summary.bytes += text.len() as u64;
        Some(text)
    }
}

/// "1234567890 is the file number of this memorandum."
const OPENING_UNITS: u64 = 10 + 8;

fn filler_of(seed: &Seed) -> Choices {
    seed.child("filler").choices()
}

fn digits(number: u32) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

/// What the record of a section holds.
fn record(layout: Layout, section: u32) -> Contents {
    let digits = digits(section);
    match layout {
        Layout::Sparse { .. } => Contents {
            units: 3 + 7,
            digits: 2 * digits,
            canaries: 1,
        },
        Layout::Dense | Layout::Plain => Contents {
            units: 3 + 4,
            digits,
            canaries: 2,
        },
    }
}

/// What the question holds, after a paragraph break.
fn question(ask: Ask) -> Contents {
    match ask {
        Ask::Continue => Contents {
            units: 1 + 4,
            ..Contents::default()
        },
        Ask::List => Contents {
            units: 1 + 5,
            ..Contents::default()
        },
        Ask::Section(section) => Contents {
            units: 9,
            digits: digits(section),
            canaries: 0,
        },
    }
}
