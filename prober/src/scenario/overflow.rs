//! `overflow`: the founding incident. A donor fills the cache, then another tenant sends a document
//! from a ladder of lengths up to and beyond the limit. An engine that accepts what it cannot hold
//! reads pages that the transfer never wrote, and the donor's canaries betray it.
//!
//! Public reports: Cloudflare Workers AI, October 2026; sgl-project/sglang #30233.

use super::{Order, PlannedProbe, Role};
use canary_gen::{Layout, Seed};

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
        // Anybody but the donor.
        let victim = (donor + 1 + choices.below(order.tenants.saturating_sub(1) as u64) as usize)
            % order.tenants;
        // The donor's length varies, so that its pages do not always end at the same place.
        let donor_tokens = donor_fraction * window * (0.9 + 0.1 * choices.fraction());
        let probe = |tenant, role, tokens: u64, layout, label| PlannedProbe {
            tenant,
            role,
            // Room for the answer belongs to the request: a document under the limit must stay under it.
            tokens: if tokens <= order.context_tokens {
                within(tokens, order)
            } else {
                tokens
            },
            layout,
            form: order.form,
            seed: document_seed(&seed, label, rung),
            max_answer_tokens: order.max_answer_tokens,
        };
        let role = if tokens > order.context_tokens {
            Role::Overlong
        } else {
            Role::Victim
        };
        let sparse = Layout::Sparse {
            stride_tokens: VICTIM_STRIDE,
        };
        steps.push(vec![probe(
            donor,
            Role::Donor,
            donor_tokens as u64,
            Layout::Dense,
            "donor",
        )]);
        steps.push(vec![probe(victim, role, tokens, sparse, "victim")]);
    }
    steps
}

/// At most what leaves room for the answer, with a percent for the error of the estimate.
fn within(tokens: u64, order: &Order) -> u64 {
    let answer = u64::from(order.max_answer_tokens);
    let most = order.context_tokens - order.context_tokens / 100;
    tokens.min(most.saturating_sub(answer)).max(1)
}

fn document_seed(seed: &Seed, label: &str, rung: usize) -> Seed {
    seed.child_number(label, rung as u64)
}
