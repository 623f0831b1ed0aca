//! `identity`: all tenants call their requests the same at the same time, in the headers `x-request-id` and
//! `traceparent` and in fields of the body. Whoever routes answers by a name that clients choose gives
//! them to the wrong one.
//!
//! Public reports: sgl-project/sglang #19035, #4026; ai-dynamo/dynamo #8601; CVE-2026-105755.

use super::{Load, Order, PlannedProbe, Role};

/// In every second wave requests begin within so many milliseconds: of answers that come at the very same
/// time only shreds may be left, of one that is under way when the next begins whole canaries.
const APART_MS: u32 = 2_000;

pub(super) fn steps(order: &Order, load: &Load) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("identity");
    (0..load.waves)
        .map(|wave| {
            let seed = seed.child_number("wave", u64::from(wave));
            let mut choices = seed.child("ids").choices();
            let id = choices.below(u64::MAX);
            super::everybody(order, load, &seed)
                .into_iter()
                .map(|(tenant, seed)| PlannedProbe {
                    shared_id: Some(id),
                    after_ms: match wave % 2 {
                        0 => 0,
                        _ => super::within(&mut choices, APART_MS),
                    },
                    ..PlannedProbe::new(
                        order,
                        tenant,
                        Role::Peer,
                        super::about(load.tokens, &mut choices),
                        seed,
                    )
                    .sparse(load.stride_tokens)
                    .listing()
                })
                .collect()
        })
        .collect()
}
