//! Documents: the long text a request carries, woven from filler and canaries.
//!
//! A document is a function of its specification: the same one gives the same bytes, as often as it
//! is asked, chunk by chunk, never whole in memory. It is divided into numbered sections, one a slot:
//!
//! ```text
//! 5817304926 is the file number of this memorandum. <filler>
//!
//! Section 1
//!
//! The access code of section 1 is 0K7Q2-M9XVR-T4HBN-C8WJD-E5GFPS. <filler up to the next slot>
//! …
//! What is the access code of section 7?
//! ```
//!
//! A document may begin with a head: filler without canaries, which others have, too.

mod chunk;
mod filler;
mod phrases;
mod weaver;

use crate::canary::{ProbeNumber, Slot, TenantNumber};
use crate::form::Form;
use crate::key::KeyRing;
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
pub use weaver::Weaver;

/// How canaries stand in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One canary every `stride_tokens`, in a sentence, prose between them.
    Sparse {
        /// Tokens from one slot to the next; at least [`SMALLEST_STRIDE`].
        stride_tokens: u32,
    },
    /// A ledger: each slot of [`PAGE_TOKENS`] carries its canary twice, so that every window of so
    /// many tokens, wherever an engine's pages begin, holds a whole canary: any stale page betrays
    /// its owner. (With `code`; the other forms take more than half of it, so only many windows do.)
    Dense,
    /// Prose without any canary: the same for every tenant and probe.
    Plain,
}

impl Layout {
    /// The name in tables and output, without the stride.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sparse { .. } => "sparse",
            Self::Dense => "dense",
            Self::Plain => "plain",
        }
    }
}

/// What a document ends with. (One without canaries ends with "Continue the text.")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Question {
    /// The canary of one slot, chosen by the seed: what a model finds most surely.
    #[default]
    One,
    /// All canaries: whatever of them the model sees, whoever planted them.
    List,
}

impl Question {
    /// The name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::List => "list",
        }
    }
}

/// The beginning of a document that others have, too: prose without canaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Of its words: the same seed and length give the same bytes, whatever comes after them.
    pub seed: Seed,
    /// Length in units (words, punctuation marks, paragraph breaks), each about one token.
    pub units: u64,
}

/// The usual size of a KV-cache page, in tokens; 14 bits of slot cover a million tokens of them.
pub const PAGE_TOKENS: u32 = 64;
/// How many short sentences there are for the end of the filler.
pub const CLOSINGS: u8 = filler::SHORT_SENTENCE_COUNT as u8;
/// The smallest stride of a sparse layout, in tokens: the sentence that carries a canary takes most of it.
pub const SMALLEST_STRIDE: u32 = 64;

/// How many tokens a text has for an endpoint's tokenizer, as a linear estimate:
/// `overhead + units × per_unit + digits × per_digit + canaries × per_canary`. A unit is a word, a
/// punctuation mark or a paragraph break; the filler uses common short words, each one token in every
/// tokenizer tried. Digits are those of section numbers: a token each, or one for two or three of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenMeasure {
    /// Tokens of the chat template around the text.
    pub overhead: f64,
    /// Tokens of one unit of filler.
    pub per_unit: f64,
    /// Tokens of one digit of a section's number.
    pub per_digit: f64,
    /// Tokens of one canary in the document's form.
    pub per_canary: f64,
}

impl TokenMeasure {
    /// What to assume before anything was measured.
    #[must_use]
    pub fn assumed(form: Form) -> Self {
        Self {
            overhead: 20.0,
            per_unit: 1.0,
            per_digit: 1.0,
            per_canary: match form {
                Form::Code => 26.0,
                Form::Uuid => 33.0,
                Form::Digits => 50.0,
                Form::Words => 14.0,
                Form::Names => 32.0,
            },
        }
    }

    /// The estimate for a text that holds so much.
    #[must_use]
    pub fn tokens(&self, contents: &Contents) -> f64 {
        self.overhead + self.tokens_of(contents)
    }

    /// The estimate for a part of a text, without the chat template.
    fn tokens_of(&self, contents: &Contents) -> f64 {
        let Contents {
            units,
            digits,
            canaries,
        } = *contents;
        self.per_unit * units as f64
            + self.per_digit * digits as f64
            + self.per_canary * canaries as f64
    }
}

/// What costs tokens in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Words, punctuation marks and paragraph breaks outside canaries, and the digits of the file number.
    pub units: u64,
    /// Digits of section numbers.
    pub digits: u64,
    /// Canaries written, copies counted.
    pub canaries: u64,
}

impl AddAssign for Contents {
    fn add_assign(&mut self, more: Self) {
        self.units += more.units;
        self.digits += more.digits;
        self.canaries += more.canaries;
    }
}

/// Everything that determines a document, but the key.
#[derive(Clone, Copy, Debug)]
pub struct DocumentSpec {
    /// Of its choices: filler, file number, the section asked for.
    pub seed: Seed,
    /// Who plants.
    pub tenant: TenantNumber,
    /// In which probe.
    pub probe: ProbeNumber,
    /// What it begins with, if others begin the same; counted in `tokens`.
    pub head: Option<Head>,
    /// What it ends with.
    pub question: Question,
    /// How the canaries are written.
    pub form: Form,
    /// How densely they stand.
    pub layout: Layout,
    /// The wanted length of the whole prompt in tokens, template and question included. A document
    /// never gets shorter than its opening and its question.
    pub tokens: u64,
    /// Which of [`CLOSINGS`] short sentences the filler ends with, from 1; 0 for none. Documents that
    /// differ in nothing else differ in few words, which helps to find one of an exact length.
    pub closing: u8,
    /// How tokens are estimated.
    pub measure: TokenMeasure,
}

/// What a document turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Slots that carry a canary: `0..slots`.
    pub slots: u32,
    /// The slot the closing question asks for; `None` if it asks for all, or there was no room for a canary.
    pub asked: Option<Slot>,
    /// Length in bytes.
    pub bytes: u64,
    /// What costs tokens in it.
    pub contents: Contents,
    /// Estimated tokens, template included.
    pub tokens: f64,
}

/// A document: a specification and the key its canaries are minted with. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Document {
    spec: DocumentSpec,
    ring: KeyRing,
}

impl Document {
    /// The document of a specification, its canaries minted by the ring's first key.
    #[must_use]
    pub fn new(spec: DocumentSpec, ring: KeyRing) -> Self {
        Self { spec, ring }
    }

    /// What determines this document.
    #[must_use]
    pub fn spec(&self) -> &DocumentSpec {
        &self.spec
    }

    /// The text, chunk by chunk (about 16 KiB each, whatever the stride; cut between sentences).
    #[must_use]
    pub fn weave(&self) -> Weaver {
        Weaver::new(self.spec, self.ring.clone())
    }

    /// Weaves the document once to tell its measures, keeping nothing of the text.
    #[must_use]
    pub fn measure(&self) -> Summary {
        let mut weaver = self.weave();
        weaver.by_ref().for_each(drop);
        weaver.summary()
    }

    /// Where in the prompt the canary of `slot` first stands, in estimated tokens;
    /// `None` if this document has no such slot.
    #[must_use]
    pub fn token_of(&self, slot: Slot) -> Option<u64> {
        self.tokens_of(&[slot])[0]
    }

    /// The same for many slots, in any order, the document woven once.
    #[must_use]
    pub fn tokens_of(&self, slots: &[Slot]) -> Vec<Option<u64>> {
        let mut tokens = vec![None; slots.len()];
        let Some(last) = slots.iter().max() else {
            return tokens;
        };
        let mut weaver = self.weave();
        while weaver.slots_planted() <= last.get() as u32 && weaver.next().is_some() {
            for (token, &slot) in tokens.iter_mut().zip(slots) {
                *token = token.or_else(|| weaver.token_of_recent(slot));
            }
        }
        tokens
    }
}

#[cfg(test)]
mod tests;
