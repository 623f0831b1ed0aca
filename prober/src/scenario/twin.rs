//! `twin`: two tenants send prompts that are equal but for the canaries, and then the very same one.
//! Response and semantic caches without the tenant in their key answer the second from the first.
//!
//! Public reports: BerriAI/litellm #29955; vllm-project/semantic-router #1448, #2134.

use super::{Load, Order, PlannedProbe, Role};
use canary_gen::Layout;

pub(super) fn steps(order: &Order, load: &Load) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("twin");
    let mut choices = seed.child("order").choices();
    let mut steps: Vec<Vec<PlannedProbe>> = Vec::new();
    for set in 1..=load.waves {
        let seed = seed.child_number("set", u64::from(set));
        let one = choices.below(order.tenants as u64) as usize;
        let other = super::somebody_else(one, order, &mut choices);
        let alike = |tenant| {
            PlannedProbe::new(order, tenant, Role::Peer, load.tokens, seed.child("alike"))
                .sparse(load.stride_tokens)
                .listing()
        };
        let equal = |tenant| PlannedProbe {
            layout: Layout::Plain,
            set,
            ..PlannedProbe::new(order, tenant, Role::Twin, load.tokens, seed.child("equal"))
        };
        steps.extend([
            vec![alike(one)],
            vec![alike(other)],
            vec![equal(one)],
            vec![equal(other)],
            // At once: whoever joins equal requests that are under way joins these.
            vec![alike(one), alike(other)],
            vec![equal(one), equal(other)],
        ]);
    }
    // The plain documents of a set must be the same to the byte.
    let mut first = None;
    for (place, probe) in steps.iter_mut().flatten().enumerate() {
        if probe.role == Role::Twin {
            match first.filter(|(set, _)| *set == probe.set) {
                Some((_, first)) => probe.repeats = Some(first),
                None => first = Some((probe.set, place)),
            }
        }
    }
    steps
}
