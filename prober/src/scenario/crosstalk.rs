//! `crosstalk`: every tenant sends a long document of its own at the same moment, several times.
//! Batch mix-ups and page-table races hand one request the context or the answer of its neighbour.
//!
//! Public reports: sgl-project/sglang #4593, vllm-project/vllm #39146, ml-explore/mlx-lm #965.

use super::{Order, PlannedProbe, Role};
use canary_gen::Layout;

pub(super) fn steps(
    order: &Order,
    tokens: u64,
    waves: u32,
    stride_tokens: u32,
) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("crosstalk");
    (0..waves)
        .map(|wave| {
            let wave_seed = seed.child_number("wave", u64::from(wave));
            let mut choices = wave_seed.child("order").choices();
            let mut tenants: Vec<usize> = (0..order.tenants).collect();
            choices.shuffle(&mut tenants);
            tenants
                .into_iter()
                .map(|tenant| PlannedProbe {
                    tenant,
                    role: Role::Peer,
                    tokens,
                    layout: Layout::Sparse { stride_tokens },
                    form: order.form,
                    seed: wave_seed.child_number("document", tenant as u64),
                    max_answer_tokens: order.max_answer_tokens,
                })
                .collect()
        })
        .collect()
}
