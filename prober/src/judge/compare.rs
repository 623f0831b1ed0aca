//! What only several probes of a round prove together. One finding a file below this one.

use super::{Finding, ProbeResult, divergence, prefix, twin};
use crate::scenario::Role;

/// What a comparison of a round's probes gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// Findings, each with the place in the round's results of the probe that shows it best.
    pub findings: Vec<(usize, Finding)>,
    /// Why the comparison could not have found anything.
    pub doubts: Vec<String>,
}

/// Compares the probes of a round with each other.
#[must_use]
pub fn compare(results: &[ProbeResult]) -> Compared {
    let mut compared = Compared::default();
    let has = |role| results.iter().any(|result| result.role == role);
    if has(Role::Amid) {
        divergence::compare(results, &mut compared);
    }
    if has(Role::Reader) {
        prefix::compare(results, &mut compared);
    }
    if has(Role::Twin) {
        twin::compare(results, &mut compared);
    }
    compared
}
