//! `sandwich`: the same requests alone, after a stranger's, and all at once, at temperature 0. A state that
//! is not reset, a page or a token of another request shows as another answer, even where no canary
//! comes out.
//!
//! Each request is its neighbours' stranger, and its own twin: sent alone three times, it tells what its
//! answer is. In the crowd stand strangers, too, that were never sent before. An endpoint whose third
//! answer differs from both before it is not deterministic, and that of the second may differ from the
//! first because it came from the prefix cache.
//!
//! Public reports: vllm-project/vllm #56524, ggml-org/llama.cpp #29092, sgl-project/sglang #17259.

use super::{Load, Order, PlannedProbe, Role};

/// How often a request is sent alone.
const ALONE: usize = 3;

pub(super) fn steps(order: &Order, load: &Load) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("sandwich");
    let mut choices = seed.child("order").choices();
    let requests: Vec<PlannedProbe> = (0..load.waves as usize)
        .map(|index| {
            let tokens = super::about(load.tokens, &mut choices);
            let seed = seed.child_number("document", index as u64);
            PlannedProbe {
                set: index as u32 + 1,
                ..PlannedProbe::new(order, index % order.tenants, Role::Solo, tokens, seed)
                    .sparse(load.stride_tokens)
                    .listing()
            }
        })
        .collect();
    let mut steps: Vec<Vec<PlannedProbe>> = Vec::new();
    for (index, &request) in requests.iter().enumerate() {
        let first = index * ALONE;
        let again = PlannedProbe {
            repeats: Some(first),
            ..request
        };
        steps.extend([vec![request], vec![again], vec![again]]);
    }
    let amid: Vec<PlannedProbe> = (0..)
        .step_by(ALONE)
        .zip(&requests)
        .map(|(first, &request)| PlannedProbe {
            role: Role::Amid,
            repeats: Some(first),
            ..request
        })
        .collect();
    // One after the other, each after one of another tenant: they take turns, each tenant's in any order.
    let mut turns: Vec<Vec<PlannedProbe>> = (0..order.tenants)
        .map(|tenant| {
            amid.iter()
                .copied()
                .filter(|probe| probe.tenant == tenant)
                .collect()
        })
        .collect();
    turns.iter_mut().for_each(|turn| choices.shuffle(turn));
    let longest = turns.first().map_or(0, Vec::len);
    for round in 0..longest {
        steps.extend(
            turns
                .iter()
                .filter_map(|turn| Some(vec![*turn.get(round)?])),
        );
    }
    // With others that are new: what is in a cache already is admitted otherwise.
    let mut crowd = amid;
    for (tenant, seed) in super::everybody(order, load, &seed.child("beside")) {
        let tokens = super::about(load.tokens, &mut choices);
        crowd.push(
            PlannedProbe::new(order, tenant, Role::Donor, tokens, seed)
                .sparse(load.stride_tokens)
                .listing(),
        );
    }
    choices.shuffle(&mut crowd);
    steps.push(crowd);
    steps
}
