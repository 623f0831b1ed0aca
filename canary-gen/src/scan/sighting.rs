//! What a scan reports.

use super::view::View;
use crate::canary::Identity;
use crate::form::Form;
use crate::key::KeyId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A canary, or part of one, found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Whose canary, from which probe and slot.
    pub identity: Identity,
    /// The key that sealed it.
    pub key: KeyId,
    /// How it was written.
    pub form: Form,
    /// How it was recognised.
    pub proof: Proof,
    /// How much the sighting weighs against chance, in bits, rounded down; 0 when chance explains
    /// it. A leak is suspected from 16 and confirmed from 40 (docs/canary-format.md derives it).
    pub weight_bits: u32,
    /// The views through which it was read.
    pub views: Views,
    /// Where it starts, in bytes from the start of the text as it was given.
    pub offset: u64,
    /// How many bytes of that text it takes.
    pub length: usize,
}

impl Sighting {
    /// The byte behind it, counted as `offset` is.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}

/// How a canary was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// All 128 bits were there, and the tag was verified.
    Exact,
    /// The tag was verified after so many small damages, one or two, were undone.
    Repaired {
        /// Characters (in `words` also whole words) changed, lost, added or swapped with a neighbour.
        damages: u8,
    },
    /// A part of a canary of the index. Its tag was not there.
    Fragment {
        /// Symbols in a row: characters, in `words` whole words.
        symbols: u8,
    },
}

impl Proof {
    /// The kind's name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Repaired { .. } => "repaired",
            Self::Fragment { .. } => "fragment",
        }
    }

    /// How many damages were undone.
    #[must_use]
    pub fn damages(self) -> u8 {
        match self {
            Self::Repaired { damages } => damages,
            Self::Exact | Self::Fragment { .. } => 0,
        }
    }

    /// Of two sightings of one writing the one whose proof has the higher strength is told.
    pub(super) fn strength(self) -> u16 {
        match self {
            Self::Exact => 1 << 10,
            Self::Repaired { damages } => (1 << 9) - u16::from(damages),
            Self::Fragment { symbols } => u16::from(symbols),
        }
    }

    /// Whether all 128 bits were verified by the tag: proof by itself, whatever the weight.
    #[must_use]
    pub fn is_verified(self) -> bool {
        !matches!(self, Self::Fragment { .. })
    }
}

/// The views a text was read through, the outermost first; none for the text as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Views([Option<View>; Views::MOST]);

impl Views {
    /// How deep views are nested.
    pub const MOST: usize = 2;

    /// The views, the outermost first.
    pub fn iter(self) -> impl Iterator<Item = View> {
        self.0.into_iter().flatten()
    }

    /// How many views.
    #[must_use]
    pub fn depth(self) -> usize {
        self.iter().count()
    }

    /// Whether no view can be added.
    pub(super) fn is_deepest(self) -> bool {
        self.depth() == Self::MOST
    }

    /// These views, and another one inside them; `None` when that is too deep.
    pub(super) fn and(self, view: View) -> Option<Self> {
        let mut views = self;
        *views.0.iter_mut().find(|place| place.is_none())? = Some(view);
        Some(views)
    }
}

impl fmt::Display for Views {
    /// `as is`, or the names joined by ` > `: `base64 > json`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.depth() == 0 {
            return f.write_str("as is");
        }
        for (index, view) in self.iter().enumerate() {
            let joint = if index == 0 { "" } else { " > " };
            write!(f, "{joint}{}", view.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_named_from_the_outside_in_and_nest_two_deep() {
        let base64 = Views::default().and(View::Base64).expect("one");
        let both = base64.and(View::Json).expect("two");
        assert_eq!(Views::default().to_string(), "as is");
        assert_eq!(base64.to_string(), "base64");
        assert_eq!(both.to_string(), "base64 > json");
        assert_eq!((both.depth(), both.and(View::Hex)), (2, None));
    }
}
