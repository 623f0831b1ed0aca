//! Reports: a sighting is told once, however many ways lead to it.

use super::hunt::{Find, Hunt};
use super::index::Grain;
use super::layer::Layer;
use super::spelled::Part;
use super::weight::Match;
use super::{Proof, Sighting, weight};
use crate::canary::Canary;
use crate::form::Form;
use std::ops::Range;

/// How many sightings are held back at most: more than a window and the one before it hold.
const MOST_HELD: usize = 512;

/// Sightings on their way out. Each is held back until the hunt is so far behind it that nothing more
/// can be told of its place: a window's end may cut a canary of which the next window sees all.
#[derive(Debug, Default)]
pub(super) struct Reports {
    held: Vec<Sighting>,
    told: Vec<Sighting>,
}

impl Reports {
    /// Adds a sighting in place of weaker ones of the same canary at an overlapping place, unless one is
    /// as strong: ways to a canary are tried from the plainest to the most roundabout.
    pub(super) fn add(&mut self, sighting: Sighting) {
        let strength = sighting.proof.strength();
        let is_same = |held: &Sighting| {
            held.identity == sighting.identity
                && held.key == sighting.key
                && held.offset < sighting.end()
                && sighting.offset < held.end()
        };
        if self
            .held
            .iter()
            .any(|held| is_same(held) && held.proof.strength() >= strength)
        {
            return;
        }
        self.held.retain(|held| !is_same(held));
        if self.held.len() == MOST_HELD {
            self.settle_all();
        }
        self.held.push(sighting);
    }

    /// Whether a canary that was verified by its tag covers this place.
    pub(super) fn covers(&self, place: u64) -> bool {
        self.held
            .iter()
            .any(|held| held.proof.is_verified() && (held.offset..held.end()).contains(&place))
    }

    /// Nothing before `position` will be looked at again.
    #[inline]
    pub(super) fn settle(&mut self, position: u64) {
        if self.held.iter().any(|held| held.end() <= position) {
            self.tell(|held| held.end() <= position);
        }
    }

    /// Nothing will be looked at again.
    pub(super) fn settle_all(&mut self) {
        self.tell(|_| true);
    }

    fn tell(&mut self, is_due: impl Fn(&Sighting) -> bool) {
        let first = self.told.len();
        self.told
            .extend(self.held.extract_if(.., |held| is_due(held)));
        // By their ends, so that the order does not depend on when they were told.
        self.told[first..].sort_by_key(Sighting::end);
    }

    /// Hands out what was told since the last time.
    pub(super) fn take(&mut self, found: &mut Vec<Sighting>) {
        found.append(&mut self.told);
    }
}

impl Hunt {
    /// Reports a canary whose tag was verified, after so many damages were undone.
    pub(super) fn report_verified(
        &mut self,
        layer: &Layer<'_>,
        bytes: Range<usize>,
        find: Find,
        damages: u8,
    ) {
        let proof = match damages {
            0 => Proof::Exact,
            damages => Proof::Repaired { damages },
        };
        let weight_bits = weight::verified(&self.work);
        self.report(layer, bytes, find, proof, weight_bits);
    }

    pub(super) fn report(
        &mut self,
        layer: &Layer<'_>,
        bytes: Range<usize>,
        find: Find,
        proof: Proof,
        weight_bits: u32,
    ) {
        let origin = layer.origin(bytes);
        self.reports.add(Sighting {
            identity: find.identity,
            key: find.key,
            form: find.form,
            proof,
            weight_bits,
            views: layer.views,
            offset: origin.start,
            length: (origin.end - origin.start) as usize,
        });
    }

    /// Reports a part of a canary of the index. `bits`: what its symbols carry.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn report_part(
        &mut self,
        layer: &Layer<'_>,
        bytes: Range<usize>,
        form: Form,
        canary: &Canary,
        part: &Part,
        bits: f64,
        canaries: usize,
    ) {
        // A key that was taken off the ring reads nothing any more, not even with the index.
        let Some((key, identity)) = self.search.ring.open(canary) else {
            return;
        };
        let grain = Grain::of(form);
        let weight_bits = Match {
            bits: bits - f64::from(part.damages) * grain.bits_of_a_damage(),
            canaries,
            places: self.work.lookups,
            offsets: grain.length - grain.part + 1,
        }
        .weight();
        let proof = match (part.known.len() == grain.length, part.damages) {
            (true, 0) => Proof::Exact,
            (true, damages) => Proof::Repaired { damages },
            (false, _) => Proof::Fragment {
                symbols: part.known.len() as u8,
            },
        };
        let find = Find {
            key,
            identity,
            form,
        };
        self.report(layer, bytes, find, proof, weight_bits);
    }
}
