//! Leak: a canary of another request. A canary of the same tenant's *other* request proves the same
//! defect as one of another tenant, so both are leaks; the relation is recorded with the finding.

use super::{Case, Finding, Seen, SeenIn, is_own, limit};
use canary_gen::Slot;
use std::collections::BTreeMap;

/// One finding for each request whose canaries came out.
pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let mut by_donor: BTreeMap<_, Vec<&Seen>> = BTreeMap::new();
    for seen in case.seen.iter().filter(|seen| !is_own(case, seen)) {
        let identity = seen.sighting.identity;
        by_donor
            .entry((identity.tenant, identity.probe, seen.sighting.key))
            .or_default()
            .push(seen);
    }
    let limit = case.measured_limit.unwrap_or(case.context_tokens);
    let is_over_limit = limit::over(case, limit).is_some();
    let leak = |((donor_tenant, donor_probe, key), mut seen): (_, Vec<&Seen>)| {
        // As they came out: in the answer before elsewhere, from its beginning to its end.
        seen.sort_by_key(|seen| (!seen.in_answer, &seen.place, seen.sighting.offset));
        Finding::Leak {
            donor_tenant,
            donor_probe,
            key,
            slots: slots(&seen),
            // There is one: it made the finding.
            seen_in: seen
                .first()
                .map_or(SeenIn::Elsewhere, |seen| SeenIn::of(seen)),
            is_over_limit,
        }
    };
    by_donor.into_iter().map(leak).collect()
}

/// The slots, each once.
fn slots(seen: &[&Seen]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::with_capacity(seen.len());
    for seen in seen {
        let slot = seen.sighting.identity.slot;
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    }
    slots
}

/// Runs of neighbouring slots, in the order in which they came out: each is a piece of the donor's context
/// that was read in one go. First and last slot of each; a run may go backwards only by beginning anew.
#[must_use]
pub fn runs(slots: &[Slot]) -> Vec<(Slot, Slot)> {
    let mut runs: Vec<(Slot, Slot)> = Vec::new();
    for &slot in slots {
        match runs.last_mut() {
            Some((_, last)) if last.get() + 1 == slot.get() => *last = slot,
            _ => runs.push((slot, slot)),
        }
    }
    runs
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_slots_form_runs_in_the_order_in_which_they_came_out() {
        let slots = |numbers: &[u64]| -> Vec<Slot> {
            numbers.iter().map(|&n| Slot::new(n).unwrap()).collect()
        };
        let runs = |numbers| -> Vec<(u64, u64)> {
            let runs = super::runs(&slots(numbers));
            runs.iter().map(|(a, b)| (a.get(), b.get())).collect()
        };
        assert_eq!(
            runs(&[7, 8, 9, 3, 4, 12, 11]),
            [(7, 9), (3, 4), (12, 12), (11, 11)]
        );
        assert_eq!(runs(&[]), []);
    }
}
