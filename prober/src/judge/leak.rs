//! Leak: a canary of another request. A canary of the same tenant's *other* request proves the same
//! defect as one of another tenant, so both are leaks; the relation is recorded with the finding.

use super::{Case, Finding, is_own};
use canary_gen::Slot;
use std::collections::BTreeMap;

/// One finding for each request whose canaries came out.
pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let mut by_donor: BTreeMap<_, Vec<Slot>> = BTreeMap::new();
    for seen in case.seen.iter().filter(|seen| !is_own(case, seen)) {
        let identity = seen.sighting.identity;
        by_donor
            .entry((identity.tenant, identity.probe))
            .or_default()
            .push(identity.slot);
    }
    by_donor
        .into_iter()
        .map(|((donor_tenant, donor_probe), mut slots)| {
            slots.sort_unstable();
            slots.dedup();
            Finding::Leak {
                donor_tenant,
                donor_probe,
                slots,
            }
        })
        .collect()
}
