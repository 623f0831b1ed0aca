//! The weaver: a document as a stream of chunks.

use super::chunk::Chunk;
use super::filler::{self, Separator};
use super::{Contents, DocumentSpec, Layout, PAGE_TOKENS, SMALLEST_STRIDE, Summary};
use crate::canary::{Identity, Slot};
use crate::key::KeyRing;
use crate::seed::Choices;
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
    stage: Stage,
}

/// What comes next.
#[derive(Clone, Copy)]
enum Stage {
    Opening,
    /// Filler until so many tokens are reached, then the record of a slot.
    Slot(Slot, f64),
    /// Filler until so many tokens are reached, then the question for a section (0: none).
    Question(u32, f64),
    End,
}

impl Weaver {
    pub(super) fn new(spec: DocumentSpec, ring: KeyRing) -> Self {
        Self {
            filler: spec.seed.child("filler").choices(),
            chunk: Chunk::new(),
            summary: Summary::default(),
            sentences: 0,
            recent: Vec::new(),
            stage: Stage::Opening,
            spec,
            ring,
        }
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

    fn open(&mut self) {
        let number = 1_000_000_000
            + self
                .spec
                .seed
                .child("file number")
                .choices()
                .below(9_000_000_000);
        // The first bytes differ between documents, so no two share a prefix in any cache.
        let _ = write!(
            self.chunk,
            "{number} is the file number of this memorandum."
        );
        self.summary.contents.units += 10 + 8;
    }

    /// The stage after the opening or a slot: the next slot, or the question if there is no room for one.
    fn next_stage(&self) -> Stage {
        let index = self.summary.slots;
        let slot = Slot::new(u64::from(index)).filter(|_| self.has_room_for(index));
        match slot {
            Some(slot) => {
                let start = self.spec.measure.overhead + f64::from(index) * self.stride();
                Stage::Slot(slot, start)
            }
            None => {
                let section = self.asked_section();
                let reserve = self.spec.measure.tokens_of(&self.end(section));
                Stage::Question(section, self.spec.tokens as f64 - reserve)
            }
        }
    }

    /// The section that the question asks for, of those written; 0 if there is none.
    fn asked_section(&self) -> u32 {
        match self.summary.slots {
            0 => 0,
            slots => {
                let mut choices = self.spec.seed.child("question").choices();
                choices.between(1, u64::from(slots)) as u32
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
            Layout::Dense => write!(
                self.chunk,
                "\n\nSection {section}\n\nCode {canary}. Again {canary}."
            ),
        };
        self.summary.contents += record(self.spec.layout, section);
        self.summary.slots += 1;
        self.sentences = 0;
    }

    fn has_room_for(&self, index: u32) -> bool {
        let mut needed = record(self.spec.layout, index + 1);
        needed += self.end(index + 1);
        let start =
            (self.spec.measure.overhead + f64::from(index) * self.stride()).max(self.tokens());
        start + self.spec.measure.tokens_of(&needed) <= self.spec.tokens as f64
    }

    fn stride(&self) -> f64 {
        match self.spec.layout {
            Layout::Sparse { stride_tokens } => f64::from(stride_tokens.max(SMALLEST_STRIDE)),
            Layout::Dense => f64::from(PAGE_TOKENS),
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

    /// What stands after the filler, if the question is for this section.
    fn end(&self, section: u32) -> Contents {
        let mut end = question(section);
        end.units += self.closing().map_or(0, |(_, units)| units);
        end
    }

    /// The closing sentence and the question.
    fn ask(&mut self, section: u32) {
        if let Some((sentence, units)) = self.closing() {
            let _ = write!(self.chunk, " {sentence}");
            self.summary.contents.units += units;
        }
        let _ = if section == 0 {
            write!(self.chunk, "\n\nContinue the text.")
        } else {
            self.summary.asked = Slot::new(u64::from(section - 1));
            write!(
                self.chunk,
                "\n\nWhat is the access code of section {section}?"
            )
        };
        self.summary.contents += question(section);
    }
}

impl Iterator for Weaver {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.recent.clear();
        while !self.chunk.is_full() {
            match self.stage {
                Stage::Opening => {
                    self.open();
                    self.stage = self.next_stage();
                }
                Stage::Slot(slot, start) => {
                    if self.fill_until(start) {
                        self.plant(slot);
                        self.stage = self.next_stage();
                    }
                }
                Stage::Question(section, start) => {
                    if self.fill_until(start) {
                        self.ask(section);
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
        Layout::Dense => Contents {
            units: 3 + 4,
            digits,
            canaries: 2,
        },
    }
}

/// What the question holds: "What is the access code of section N?" after a paragraph break, or
/// "Continue the text." for section 0.
fn question(section: u32) -> Contents {
    match section {
        0 => Contents {
            units: 5,
            ..Contents::default()
        },
        _ => Contents {
            units: 9,
            digits: digits(section),
            canaries: 0,
        },
    }
}
