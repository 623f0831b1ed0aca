//! Canaries to put into a text, and such as nobody sealed.

use super::source::Source;
use canary_gen::scan::{Index, Proof, Search, Sighting};
use canary_gen::{Canary, Form, Identity, KeyRing, ProbeNumber, Slot, TenantNumber};
use std::sync::{Arc, RwLock};

/// A canary that was put into a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planted {
    /// Whose canary.
    identity: Identity,
    /// How it was written.
    pub(crate) form: Form,
    /// Whether its separators were left out: the writing that searches for fixed strings know.
    pub(crate) bare: bool,
    /// Where it starts, in bytes.
    offset: usize,
}

impl Planted {
    /// Whether it was seen, whole, where it is.
    pub(crate) fn is_among(&self, sightings: &[Sighting]) -> bool {
        sightings.iter().any(|sighting| {
            (sighting.identity, sighting.form) == (self.identity, self.form)
                && sighting.offset == self.offset as u64
                && sighting.proof == Proof::Exact
        })
    }
}

/// The `number`-th canary of a series in which the forms take turns.
pub(crate) fn minted(ring: &KeyRing, number: u64) -> (Form, Canary) {
    let form = Form::ALL[number as usize % Form::ALL.len()];
    // Sealed, not minted: choosing among the tweaks takes sixteen times as long, and changes
    // nothing that is measured here.
    (form, ring.minting().seal(identity(number), 0))
}

fn identity(number: u64) -> Identity {
    // Each part is kept within its range by the mask, so none is out of range.
    Identity {
        tenant: TenantNumber::new(number % 500).unwrap_or(TenantNumber::MAX),
        probe: ProbeNumber::new(number / 16).unwrap_or(ProbeNumber::MAX),
        slot: Slot::new(number % 16).unwrap_or(Slot::MAX),
    }
}

/// The bare writing of a canary as a code: 26 characters.
pub(crate) fn bare_code(canary: &Canary) -> String {
    Form::Code.write(canary).replace('-', "")
}

/// Overwrites `count` places of a text, evenly spread, with the first canaries of the series of
/// [`minted`]: each in its form, every other code without its dashes. The text keeps its length and
/// stays valid UTF-8. Needs some 200 bytes of text for each canary.
pub(crate) fn plant(text: &mut [u8], ring: &KeyRing, count: usize) -> Vec<Planted> {
    let stride = text.len() / count.max(1);
    (0..count)
        .map(|index| {
            let number = index as u64;
            let (form, canary) = minted(ring, number);
            let bare = form == Form::Code && (index / Form::ALL.len()).is_multiple_of(2);
            let writing = if bare {
                bare_code(&canary)
            } else {
                form.write(&canary)
            };
            let offset = overwrite(text, index * stride + stride / 2, &writing);
            Planted {
                identity: identity(number),
                form,
                bare,
                offset,
            }
        })
        .collect()
}

/// Overwrites a text from about `place` on, a space before and behind; returns where it starts.
fn overwrite(text: &mut [u8], place: usize, writing: &str) -> usize {
    // A character that is cut in two would leave bytes that are no UTF-8: spaces replace all of it.
    let is_inside = |byte: u8| byte & 0xc0 == 0x80;
    let mut start = place;
    while is_inside(text[start]) {
        start -= 1;
    }
    let offset = place + 1;
    let mut end = offset + writing.len() + 1;
    while end < text.len() && is_inside(text[end]) {
        end += 1;
    }
    text[start..end].fill(b' ');
    text[offset..offset + writing.len()].copy_from_slice(writing.as_bytes());
    offset
}

/// A line that is a canary in every respect, but sealed by nobody.
pub(super) fn strangers(source: &mut Source, text: &mut String) {
    let canary = Canary(source.bytes());
    text.push_str(&source.pick(&Form::ALL).write(&canary));
    text.push_str(source.pick(&["\n", "\n", " ", ", ", ". "]));
}

/// A search for everything, with an index of the first `count` canaries of the series of [`minted`].
pub(crate) fn search_with_index(ring: &KeyRing, count: u64) -> Search {
    let mut index = Index::new(count as usize);
    for number in 0..count {
        let (form, canary) = minted(ring, number);
        index.plant(form, &canary);
    }
    Search::new(ring.clone()).with_index(Arc::new(RwLock::new(index)))
}
