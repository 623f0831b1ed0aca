//! `burst`: many short streaming requests at once, of different lengths, so that streams end while others
//! begin. Routers that number streams, and batches that move rows, mix them up.
//!
//! Public reports: theroyallab/tabbyAPI #107, vllm-project/vllm #13408, #37076.

use super::{Load, Order, PlannedProbe, Role};

/// Requests begin within so many milliseconds.
const WITHIN_MS: u64 = 40;

pub(super) fn steps(order: &Order, load: &Load) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("burst");
    (0..load.waves)
        .map(|wave| {
            let seed = seed.child_number("wave", u64::from(wave));
            let mut choices = seed.child("lengths").choices();
            super::everybody(order, load, &seed)
                .into_iter()
                .map(|(tenant, seed)| {
                    let tokens = super::about(load.tokens, &mut choices);
                    let answer = u64::from(order.max_answer_tokens);
                    PlannedProbe {
                        max_answer_tokens: choices.between(answer.div_ceil(2), answer) as u32,
                        after_ms: choices.below(WITHIN_MS) as u32,
                        ..PlannedProbe::new(order, tenant, Role::Peer, tokens, seed)
                            .sparse(load.stride_tokens)
                            .listing()
                    }
                })
                .collect()
        })
        .collect()
}
