//! `crosstalk`: every tenant sends a long document of its own at the same moment, several times.
//! Batch mix-ups and page-table races hand one request the context or the answer of its neighbour.
//!
//! Public reports: sgl-project/sglang #4593, vllm-project/vllm #39146, ml-explore/mlx-lm #965.

use super::{Load, Order, PlannedProbe, Role};

pub(super) fn steps(order: &Order, load: &Load) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("crosstalk");
    (0..load.waves)
        .map(|wave| {
            let seed = seed.child_number("wave", u64::from(wave));
            super::everybody(order, load, &seed)
                .into_iter()
                .map(|(tenant, seed)| {
                    PlannedProbe::new(order, tenant, Role::Peer, load.tokens, seed)
                        .sparse(load.stride_tokens)
                })
                .collect()
        })
        .collect()
}
