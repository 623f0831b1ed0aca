//! Scanning: which of our canaries stand in a stream of bytes, however they are disguised.
//!
//! ```text
//! bytes ─▶ sieve (64 at a time: where could anything stand?) ─▶ windows
//!           window ─▶ spelled and word search: exact, repaired by key, parts by the index ─▶ sightings
//!           window ─▶ views (JSON escapes, base64, look-alikes, …) ─▶ sieve again, two deep
//! ```
//!
//! The cost of exact search does not depend on how many canaries were ever planted: every writing
//! that could be a canary is opened with the key ring, and its tag says whether it is one. Only parts
//! of a canary, whose tag is lost, need the [`Index`] of recently planted ones.
//!
//! The scanner is incremental: however a text is cut into chunks, the sightings are the same, because
//! a place is judged only once all bytes that may have a say have arrived (or the text has ended), and
//! where windows begin and end depends on the text alone.

mod align;
mod census;
mod exact;
mod hunt;
mod index;
mod layer;
mod repair;
mod report;
mod search;
mod sieve;
mod sighting;
mod spelled;
mod stream;
mod view;
mod weight;
mod window;
mod word;
mod word_repair;
mod words;
mod work;

pub use index::Index;
pub use search::{Effort, Search};
pub use sighting::{Proof, Sighting, Views};
pub use stream::Scanner;
pub use view::View;
pub use work::Work;

use crate::key::KeyRing;

/// Scans a whole text at once, for everything that can be told with the keys alone.
#[must_use]
pub fn scan(ring: &KeyRing, text: &[u8]) -> Vec<Sighting> {
    Search::new(ring.clone()).scan(text)
}

#[cfg(test)]
mod tests;
