//! Shared response: two tenants sent the very same prompt, and the second got the response of the first,
//! as its id tells. Equal texts alone prove nothing at temperature 0.

use super::compare::Compared;
use super::{Finding, ProbeResult};
use crate::endpoint::Digest;
use crate::scenario::Role;

pub(super) fn compare(results: &[ProbeResult], compared: &mut Compared) {
    let named = |role_is: fn(Role) -> bool| {
        results
            .iter()
            .enumerate()
            .filter_map(move |(place, result)| {
                role_is(result.role).then_some((place, result, result.response_id?))
            })
    };
    let twins: Vec<(usize, &ProbeResult, Digest)> = named(|role| role == Role::Twin).collect();
    let mut others: Vec<Digest> = named(|role| role != Role::Twin)
        .map(|(.., id)| id)
        .collect();
    let count = others.len();
    others.sort_unstable();
    others.dedup();
    // Where responses to different prompts have one id, an id names no response.
    if twins.is_empty() || others.len() < count {
        compared.doubts.push(
            "its responses have no ids of their own, so a kept answer to an equal prompt would not show"
                .to_owned(),
        );
        return;
    }
    for (index, &(place, twin, id)) in twins.iter().enumerate() {
        let is_its = |(_, before, other): &&(usize, &ProbeResult, Digest)| {
            before.set == twin.set && before.tenant != twin.tenant && *other == id
        };
        if let Some((_, first, _)) = twins[..index].iter().find(is_its) {
            let finding = Finding::SharedResponse {
                first: first.number,
            };
            compared.findings.push((place, finding));
        }
    }
}
