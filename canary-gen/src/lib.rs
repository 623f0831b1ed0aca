//! What the prober plants in a context, and how it is recognised in an answer.
//!
//! Pure: no network, no database, no clock, no async. Data flows through it in one direction:
//!
//! ```text
//! key ──▶ canary (sealed identity) ──▶ form (text) ──▶ document (woven into filler)
//!                                                        … the endpoint answers …
//! key ──▶ scan (any bytes, any chunking) ──▶ sightings (whose canary, from which probe and slot)
//! ```
//!
//! The format is described in `docs/canary-format.md` and pinned by `tests/vectors/`.

pub mod canary;
pub mod document;
pub mod form;
pub mod key;
pub mod key_file;
pub mod private_file;
pub mod scan;
pub mod seed;

pub use canary::{Canary, Identity, ProbeNumber, Slot, TenantNumber};
pub use document::{Document, DocumentSpec, Head, Layout, Question, TokenMeasure};
pub use form::Form;
pub use key::{Key, KeyId, KeyRing};
pub use scan::{Scanner, Search, Sighting};
pub use seed::Seed;
