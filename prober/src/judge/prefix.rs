//! Shared prefix cache: a beginning that only another tenant has sent came from a cache, or came faster.
//!
//! Two oracles. The endpoint's own count of cached tokens needs no statistics: more than for beginnings
//! that nobody has sent (of which the chat template may be cached) is proof. Without it the times to the
//! first token are compared by a one-sided rank test. Either says something only if the same tenant's own
//! beginning is counted as cached, or is faster: the positive control.

use super::compare::Compared;
use super::{Finding, ProbeResult};
use crate::bounds::faster;
use crate::endpoint::Outcome;
use crate::scenario::Role;

/// A round at an endpoint whose cache is not shared shows a difference in time at most so often.
const LEVEL: f64 = 1e-4;

pub(super) fn compare(results: &[ProbeResult], compared: &mut Compared) {
    let of = |role| {
        results.iter().enumerate().filter(move |(_, result)| {
            result.role == role && result.set > 0 && result.outcome == Outcome::Answered
        })
    };
    let cached = |role| of(role).filter_map(|(place, result)| Some((place, result.cached_tokens?)));
    let unseen = [Role::Primer, Role::Fresh].into_iter().flat_map(cached);
    let usual = unseen.map(|(_, tokens)| tokens).max();
    let above = |role| -> Vec<(usize, u64)> {
        let is_more = |(_, tokens): &(usize, u64)| usual.is_some_and(|usual| *tokens > usual);
        cached(role).filter(is_more).collect()
    };
    let times = |role| -> Vec<u64> {
        of(role)
            .filter_map(|(_, result)| Some(result.ttft?.as_micros() as u64))
            .collect()
    };
    let fresh = times(Role::Fresh);
    let chance = |role| faster(&times(role), &fresh).map_or(1.0, |chance| chance.get());
    let (reader, control) = (chance(Role::Reader), chance(Role::Control));
    let readers = of(Role::Reader).count() as u64;

    let hits = above(Role::Reader);
    if let Some(&(place, cached_tokens)) = hits.iter().max_by_key(|(_, tokens)| *tokens) {
        let finding = Finding::SharedPrefixCache {
            cached_tokens: Some(cached_tokens),
            usual_tokens: usual,
            hits: hits.len() as u64,
            readers,
            chance: reader,
        };
        compared.findings.push((place, finding));
    } else if let Some((place, _)) = of(Role::Reader).next()
        && reader <= LEVEL
        && control <= LEVEL
    {
        let finding = Finding::SharedPrefixCache {
            cached_tokens: None,
            usual_tokens: usual,
            hits: 0,
            readers,
            chance: reader,
        };
        compared.findings.push((place, finding));
    }
    if above(Role::Control).is_empty() && control > LEVEL {
        compared.doubts.push(format!(
            "no prefix cache is visible: a tenant's own beginning was neither counted as cached nor \
             faster (p = {control:.1e}), so that of another tenant would not show either"
        ));
    }
}
