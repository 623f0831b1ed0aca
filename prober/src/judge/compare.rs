//! What only several probes of a round prove together. One finding a file below this one.

use super::{Finding, ProbeResult, divergence, prefix, twin};
use crate::endpoint::Digest;
use crate::scenario::Role;
use canary_gen::ProbeNumber;
use std::collections::HashMap;

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
    compared.doubts.extend(kept_answers(results));
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

/// Whether a comparison may need the response of a probe as evidence.
#[must_use]
pub fn is_compared(role: Role) -> bool {
    matches!(role, Role::Solo | Role::Amid | Role::Reader | Role::Twin)
}

/// Whose responses prove a finding beside that of the probe at `place`, which shows it best.
#[must_use]
pub fn witnesses(results: &[ProbeResult], place: usize, finding: &Finding) -> Vec<ProbeNumber> {
    let is_witness = |result: &&ProbeResult| match finding {
        Finding::SharedResponse { first } => result.number == *first,
        // What the same request was answered alone.
        Finding::Divergence { .. } => result.role == Role::Solo && result.set == results[place].set,
        _ => false,
    };
    let witnesses = results.iter().filter(is_witness);
    witnesses.map(|result| result.number).collect()
}

/// Ids of responses name none where two to different prompts have the same.
pub(super) fn ids_are_names(results: &[ProbeResult]) -> bool {
    let mut documents: HashMap<Digest, ProbeNumber> = HashMap::new();
    let named = results.iter().filter(|result| result.role != Role::Twin);
    let mut named = named.filter_map(|result| Some((result.response_id?, result.document)));
    named.all(|(id, document)| *documents.entry(id).or_insert(document) == document)
}

/// A request that is sent again and gets the very response of before was not computed: whatever is wrong
/// with pages and states, it cannot show.
fn kept_answers(results: &[ProbeResult]) -> Option<String> {
    let repeats = |result: &&ProbeResult| {
        result.document != result.number
            && result.role != Role::Twin
            && result.response_id.is_some()
    };
    let sent_again = results.iter().filter(repeats).count();
    let is_kept = |result: &&ProbeResult| {
        let mut others = results.iter().filter(|other| other.number < result.number);
        others.any(|other| {
            other.document == result.document && other.response_id == result.response_id
        })
    };
    let kept = results.iter().filter(repeats).filter(is_kept).count();
    (kept * 2 > sent_again && ids_are_names(results)).then(|| {
        format!(
            "{kept} of {sent_again} requests that were sent again got a kept response: they were not computed"
        )
    })
}
