//! `cancel`: clients go away during prefill and during decode, and send the same again at once, while
//! others are served. Pages that are freed while a transfer still writes into them, connections that are
//! used again with a reply still on them, and states that outlive their request hand what they held on.
//!
//! Public reports: sgl-project/sglang #24527, #35049; OpenAI, March 2023 (CVE-2023-28858).

use super::{Cancel, Load, Order, PlannedProbe, Role};

/// A client that leaves during decode leaves after at most so many pieces of its answer.
const MOST_PIECES: u64 = 6;

pub(super) fn steps(order: &Order, load: &Load, within_ms: u32) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("cancel");
    let mut sent = 0;
    (0..load.waves)
        .map(|wave| {
            let step = step(
                order,
                load,
                within_ms,
                sent,
                &seed.child_number("wave", u64::from(wave)),
            );
            sent += step.len();
            step
        })
        .collect()
}

/// For each tenant's request: one that leaves, the same again, and a stranger's beside it. Half of a
/// step's clients leave during prefill, the others during decode.
fn step(
    order: &Order,
    load: &Load,
    within_ms: u32,
    first: usize,
    seed: &canary_gen::Seed,
) -> Vec<PlannedProbe> {
    let mut choices = seed.child("times").choices();
    let mut step = Vec::new();
    for (index, (tenant, seed)) in super::everybody(order, load, seed).into_iter().enumerate() {
        let leaves_at = super::within(&mut choices, within_ms);
        let cancel = if index % 2 == 0 {
            Cancel::AfterMs(leaves_at)
        } else {
            Cancel::AfterPieces(choices.between(1, MOST_PIECES) as u32)
        };
        let place = first + step.len();
        let leaver = PlannedProbe {
            cancel: Some(cancel),
            ..PlannedProbe::new(order, tenant, Role::Leaver, load.tokens, seed).listing()
        };
        let again = PlannedProbe {
            role: Role::Returner,
            cancel: None,
            repeats: Some(place),
            after_ms: leaves_at + 1,
            ..leaver
        };
        let beside = (tenant + 1) % order.tenants;
        let victim = PlannedProbe {
            after_ms: super::within(&mut choices, within_ms),
            ..PlannedProbe::new(
                order,
                beside,
                Role::Victim,
                load.tokens,
                seed.child("victim"),
            )
            .sparse(load.stride_tokens)
            .listing()
        };
        step.extend([leaver, again, victim]);
    }
    step
}
