//! `sandwich`: the same request alone, after a stranger's, and beside strangers', at temperature 0. A
//! state that is not reset, a page or a token of another request shows as another answer, even where no
//! canary comes out.
//!
//! Alone three times: an endpoint whose third answer differs from both before it is not deterministic,
//! and that of the second may differ from the first because it came from the prefix cache.
//!
//! Public reports: vllm-project/vllm #56524, ggml-org/llama.cpp #29092, sgl-project/sglang #17259.

use super::{Load, Order, PlannedProbe, Role};

/// How often a request is sent alone.
const ALONE: usize = 3;

pub(super) fn steps(order: &Order, load: &Load) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("sandwich");
    let mut choices = seed.child("order").choices();
    let mut steps: Vec<Vec<PlannedProbe>> = Vec::new();
    let mut sent = 0;
    for set in 1..=load.waves {
        let seed = seed.child_number("set", u64::from(set));
        let tenant = choices.below(order.tenants as u64) as usize;
        let first = sent;
        let alone = |time| PlannedProbe {
            repeats: (time > 0).then_some(first),
            set,
            ..PlannedProbe::new(
                order,
                tenant,
                Role::Solo,
                load.tokens,
                seed.child("document"),
            )
            .sparse(load.stride_tokens)
            .listing()
        };
        let amid = PlannedProbe {
            role: Role::Amid,
            ..alone(1)
        };
        let mut strangers = |label: &str, requests: u32| -> Vec<PlannedProbe> {
            let seed = seed.child(label);
            super::everybody(order, &Load { requests, ..*load }, &seed)
                .into_iter()
                .filter(|(stranger, _)| *stranger != tenant)
                .map(|(stranger, seed)| {
                    let tokens = super::about(load.tokens, &mut choices);
                    PlannedProbe::new(order, stranger, Role::Donor, tokens, seed).listing()
                })
                .collect()
        };
        let mut set: Vec<Vec<PlannedProbe>> = (0..ALONE).map(|time| vec![alone(time)]).collect();
        set.push(strangers("before", 1));
        set.push(vec![amid]);
        let mut beside = strangers("beside", load.requests);
        beside.push(amid);
        choices.shuffle(&mut beside);
        set.push(beside);
        sent += set.iter().map(Vec::len).sum::<usize>();
        steps.extend(set);
    }
    steps
}
