//! Reports: a sighting is told once, however many ways lead to it.

use super::hunt::{Find, Hunt};
use super::index::Grain;
use super::layer::Layer;
use super::spelled::Part;
use super::weight::Match;
use super::{Proof, Sighting, weight};
use crate::canary::Canary;
use crate::form::Form;
use std::collections::VecDeque;
use std::ops::Range;

/// How many recent sightings a new one is compared with: more than a window and the one before it hold.
const REMEMBERED: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Reports {
    fresh: Vec<Sighting>,
    recent: VecDeque<Sighting>,
}

impl Reports {
    /// Adds a sighting, unless the same canary was just reported at an overlapping place: ways to it
    /// are tried from the plainest to the most roundabout.
    pub(super) fn add(&mut self, sighting: Sighting) {
        let end = |sighting: &Sighting| sighting.offset + sighting.length as u64;
        let known = self.recent.iter().any(|earlier| {
            earlier.identity == sighting.identity
                && earlier.key == sighting.key
                && earlier.offset < end(&sighting)
                && sighting.offset < end(earlier)
        });
        if known {
            return;
        }
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(sighting);
        self.fresh.push(sighting);
    }

    /// Whether a sighting covers this place already.
    pub(super) fn covers(&self, place: u64) -> bool {
        self.recent.iter().any(|earlier| {
            (earlier.offset..earlier.offset + earlier.length as u64).contains(&place)
        })
    }

    /// Hands out what was added since the last time.
    pub(super) fn take(&mut self, found: &mut Vec<Sighting>) {
        found.append(&mut self.fresh);
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
