//! The weaver: a document as a stream of chunks.

use super::{DocumentSpec, Layout, PAGE_TOKENS, SMALLEST_STRIDE, Summary, filler};
use crate::canary::{Identity, Slot};
use crate::key::KeyRing;
use crate::seed::Choices;
use std::collections::VecDeque;
use std::fmt::Write as _;

/// A chunk is handed out once it has grown to this many bytes.
const CHUNK_BYTES: usize = 16 << 10;
/// A paragraph of filler ends after so many sentences.
const PARAGRAPH_SENTENCES: u32 = 5;
/// How many recent slots' positions are remembered: more than one chunk can hold.
const RECENT_SLOTS: usize = 1 << 10;

/// Yields a document's text chunk by chunk. Memory: one chunk.
pub struct Weaver {
    spec: DocumentSpec,
    ring: KeyRing,
    filler: Choices,
    asked: Choices,
    chunk: String,
    summary: Summary,
    sentences: u32,
    /// The text ends with a paragraph break: the next sentence needs no space before it.
    at_line_start: bool,
    recent: VecDeque<(u32, u64)>,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Opening,
    Body,
    Closing,
    End,
}

impl Weaver {
    pub(super) fn new(spec: DocumentSpec, ring: KeyRing) -> Self {
        Self {
            filler: spec.seed.child("filler").choices(),
            asked: spec.seed.child("question").choices(),
            chunk: String::with_capacity(CHUNK_BYTES + 1024),
            summary: Summary::default(),
            sentences: 0,
            at_line_start: false,
            recent: VecDeque::new(),
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
        let Summary {
            units, canaries, ..
        } = self.summary;
        self.spec.measure.tokens(units, canaries)
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
        self.summary.units += 10 + 8;
    }

    /// One slot and the filler before it, or the end of the slots.
    fn plant_next(&mut self) {
        let index = self.summary.slots;
        let next = Slot::new(u64::from(index)).filter(|_| self.has_room_for(index));
        let Some(slot) = next else {
            self.stage = Stage::Closing;
            return;
        };
        let start = self.spec.measure.overhead + f64::from(index) * self.stride();
        self.fill_until(start);
        if self.recent.len() == RECENT_SLOTS {
            self.recent.pop_front();
        }
        self.recent
            .push_back((index, self.tokens().max(0.0) as u64));
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
        let (units, copies) = record_cost(self.spec.layout, section);
        self.summary.units += units;
        self.summary.canaries += copies;
        self.summary.slots += 1;
        self.sentences = 0;
    }

    fn has_room_for(&self, index: u32) -> bool {
        let (units, copies) = record_cost(self.spec.layout, index + 1);
        let start =
            (self.spec.measure.overhead + f64::from(index) * self.stride()).max(self.tokens());
        let record = self
            .spec
            .measure
            .tokens(units + question_units(index + 1), copies)
            - self.spec.measure.overhead;
        start + record <= self.spec.tokens as f64
    }

    fn stride(&self) -> f64 {
        match self.spec.layout {
            Layout::Sparse { stride_tokens } => f64::from(stride_tokens.max(SMALLEST_STRIDE)),
            Layout::Dense => f64::from(PAGE_TOKENS),
        }
    }

    /// One sentence, if there is room for one; else false.
    fn fill_once(&mut self, tokens: f64) -> bool {
        let room = self.room_until(tokens);
        if room < filler::SHORTEST {
            return false;
        }
        // A paragraph break is a unit of its own and must leave room for a sentence or for nothing.
        if self.sentences >= PARAGRAPH_SENTENCES && room > filler::SHORTEST + 1 {
            self.chunk.push_str("\n\n");
            self.sentences = 0;
            self.at_line_start = true;
            self.summary.units += 1;
            return true;
        }
        if !std::mem::take(&mut self.at_line_start) {
            self.chunk.push(' ');
        }
        self.sentences += 1;
        self.summary.units += filler::sentence(&mut self.filler, room, &mut self.chunk);
        true
    }

    fn fill_until(&mut self, tokens: f64) {
        while self.fill_once(tokens) {}
    }

    /// One sentence of filler after the last slot, or the question and the end.
    fn close(&mut self) {
        let slots = self.summary.slots;
        let section = if slots == 0 {
            0
        } else {
            self.asked.clone().between(1, u64::from(slots)) as u32
        };
        let question = question_units(section);
        let reserve = question as f64 * self.spec.measure.per_unit;
        if self.fill_once(self.spec.tokens as f64 - reserve) {
            return;
        }
        if section == 0 {
            self.chunk.push_str("\n\nContinue the text.");
        } else {
            let _ = write!(
                self.chunk,
                "\n\nWhat is the access code of section {section}?"
            );
            self.summary.asked = Slot::new(u64::from(section - 1));
        }
        self.summary.units += question;
        self.stage = Stage::End;
    }
}

impl Iterator for Weaver {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.chunk.len() < CHUNK_BYTES {
            match self.stage {
                Stage::Opening => {
                    self.open();
                    self.stage = Stage::Body;
                }
                Stage::Body => self.plant_next(),
                Stage::Closing => self.close(),
                Stage::End => break,
            }
        }
        if self.chunk.is_empty() {
            return None;
        }
        self.summary.bytes += self.chunk.len() as u64;
        Some(std::mem::replace(
            &mut self.chunk,
            String::with_capacity(CHUNK_BYTES + 1024),
        ))
    }
}

fn digits(number: u32) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

/// Units and canaries of the record of a section.
fn record_cost(layout: Layout, section: u32) -> (u64, u64) {
    let heading = 3 + digits(section);
    match layout {
        Layout::Sparse { .. } => (heading + 7 + digits(section), 1),
        Layout::Dense => (heading + 4, 2),
    }
}

/// Units of the question: "What is the access code of section N?" after a paragraph break, or
/// "Continue the text." for section 0.
fn question_units(section: u32) -> u64 {
    if section == 0 { 5 } else { 9 + digits(section) }
}
