//! `pressure`: enough requests at once to fill the KV cache. Eviction, preemption, retraction and swapping
//! take pages from some and give them to others.
//!
//! Public reports: vllm-project/vllm #52360, #53084; sgl-project/sglang #22811.

use super::{Load, Order, PlannedProbe, Role};

pub(super) fn steps(order: &Order, load: &Load) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("pressure");
    (0..load.waves)
        .map(|wave| {
            let seed = seed.child_number("wave", u64::from(wave));
            let mut choices = seed.child("lengths").choices();
            super::everybody(order, load, &seed)
                .into_iter()
                .map(|(tenant, seed)| {
                    // Different lengths end at different times, so that pages change hands meanwhile.
                    let tokens = super::about(load.tokens, &mut choices);
                    PlannedProbe::new(order, tenant, Role::Peer, tokens, seed).listing()
                })
                .collect()
        })
        .collect()
}
