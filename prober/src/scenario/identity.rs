//! `identity`: all tenants call their requests the same at the same time, in the headers `x-request-id` and
//! `traceparent` and in fields of the body. Whoever routes answers by a name that clients choose gives
//! them to the wrong one.
//!
//! Public reports: sgl-project/sglang #19035, #4026; ai-dynamo/dynamo #8601; CVE-2026-105755.

use super::{Load, Order, PlannedProbe, Role};

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
