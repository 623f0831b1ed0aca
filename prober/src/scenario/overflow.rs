//! `overflow`: the founding incident. A donor fills the cache, then another tenant sends a document
//! from a ladder of lengths up to and beyond the limit. An engine that accepts what it cannot hold
//! reads pages that the transfer never wrote, and the donor's canaries betray it.
//!
//! Public reports: Cloudflare Workers AI, October 2026; sgl-project/sglang #30233.

use super::{Order, PlannedProbe, Role};

/// Prose with a canary every so many tokens: what a model still reads well at full length.
const VICTIM_STRIDE: u32 = 1_024;
/// Around a limit the endpoint itself named: just under and just over it.
const AROUND_MEASURED: [f64; 2] = [0.985, 1.02];

pub(super) fn steps(order: &Order, ladder: &[f64], donor_fraction: f64) -> Vec<Vec<PlannedProbe>> {
    let window = order.context_tokens as f64;
    let mut lengths: Vec<u64> = ladder
        .iter()
        .map(|fraction| (fraction * window) as u64)
        .collect();
    // A limit at the advertised one is on the ladder already.
    if let Some(limit) = order
        .measured_limit
        .filter(|&limit| limit < order.context_tokens)
    {
        lengths.extend(AROUND_MEASURED.map(|fraction| (fraction * limit as f64) as u64));
    }
    let seed = order.seed.child("overflow");
    let mut choices = seed.child("order").choices();
    choices.shuffle(&mut lengths);
    let mut steps = Vec::with_capacity(lengths.len() * 2);
    for (rung, &tokens) in lengths.iter().enumerate() {
        let donor = choices.below(order.tenants as u64) as usize;
        let victim = super::somebody_else(donor, order, &mut choices);
        // The donor's length varies, so that its pages do not always end at the same place.
        let donor_tokens = donor_fraction * window * (0.9 + 0.1 * choices.fraction());
        let probe = |tenant, role, tokens: u64, label| {
            // Room for the answer belongs to the request: a document under the limit must stay under it.
            let tokens = if tokens <= order.context_tokens {
                tokens.clamp(1, super::most_tokens(order))
            } else {
                tokens
            };
            let seed = seed.child_number(label, rung as u64);
            PlannedProbe::new(order, tenant, role, tokens, seed)
        };
        let role = if tokens > order.context_tokens {
            Role::Overlong
        } else {
            Role::Victim
        };
        steps.push(vec![probe(
            donor,
            Role::Donor,
            donor_tokens as u64,
            "donor",
        )]);
        steps.push(vec![
            probe(victim, role, tokens, "victim").sparse(VICTIM_STRIDE),
        ]);
    }
    steps
}
