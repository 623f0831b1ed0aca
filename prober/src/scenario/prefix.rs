//! `prefix`: a tenant sends a beginning that only another tenant has sent. If any of it comes from a
//! cache, as the count of cached tokens or the time to the first token tells, the cache is shared, and
//! whoever asks can find out what others have sent.
//!
//! Each request is alone, and the order of those that are compared is left to chance as a whole, which is
//! what a rank test takes for granted: nothing but the cache can make one kind faster. The same tenant's own beginning must be faster, or cached: without
//! this control, no difference would say nothing.
//!
//! Public reports: CVE-2025-46570, arXiv 2502.07776, vllm-project/vllm #44701.

use super::{Order, PlannedHead, PlannedProbe, Role};
use canary_gen::Seed;

/// Of a prompt, so much is the beginning that others have, too.
const HEAD_SHARE: f64 = 0.8;
/// A canary every so many tokens of the rest.
const STRIDE_TOKENS: u32 = 96;

pub(super) fn steps(order: &Order, tokens: u64, samples: u32) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("prefix");
    let mut choices = seed.child("order").choices();
    let head_tokens = (tokens as f64 * HEAD_SHARE) as u64;
    let probe = |tenant, role, head: &Seed, set| {
        let own = head.child_number(
            match role {
                Role::Primer => "primer",
                Role::Control => "control",
                _ => "reader",
            },
            0,
        );
        PlannedProbe {
            head: Some(PlannedHead {
                seed: *head,
                tokens: head_tokens,
            }),
            set,
            ..PlannedProbe::new(order, tenant, role, tokens, own).sparse(STRIDE_TOKENS)
        }
    };
    let mut steps = Vec::new();
    // The first requests at an endpoint are slow for reasons of their own.
    for tenant in 0..order.tenants {
        let head = seed.child_number("warm-up", tenant as u64);
        steps.push(vec![probe(tenant, Role::Primer, &head, 0)]);
    }
    let mut compared = Vec::new();
    for set in 1..=samples {
        let owner = choices.below(order.tenants as u64) as usize;
        let reader = super::somebody_else(owner, order, &mut choices);
        let head = seed.child_number("head", u64::from(set));
        let unseen = seed.child_number("unseen head", u64::from(set));
        steps.push(vec![probe(owner, Role::Primer, &head, set)]);
        compared.extend([
            probe(reader, Role::Reader, &head, set),
            probe(reader, Role::Fresh, &unseen, set),
            probe(owner, Role::Control, &head, set),
        ]);
    }
    choices.shuffle(&mut compared);
    steps.extend(compared.into_iter().map(|probe| vec![probe]));
    steps
}
