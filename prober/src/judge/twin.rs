//! Shared response: two tenants sent the very same prompt, and the second got the response of the first,
//! as its id tells. Equal texts alone prove nothing at temperature 0.

use super::compare::{Compared, ids_are_names};
use super::{Finding, ProbeResult};
use crate::endpoint::Digest;
use crate::scenario::Role;

pub(super) fn compare(results: &[ProbeResult], compared: &mut Compared) {
    let twins = results.iter().enumerate();
    let twins: Vec<(usize, &ProbeResult, Digest)> = twins
        .filter(|(_, result)| result.role == Role::Twin)
        .filter_map(|(place, result)| Some((place, result, result.response_id?)))
        .collect();
    if twins.is_empty() || !ids_are_names(results) {
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
