//! `boundary`: prompts of a whole number of pages or chunks, one token less and one more, each after a
//! donor that filled the cache. Whoever counts pages wrongly reads one that was never written.
//!
//! Public reports: sgl-project/sglang #22819.

use super::{Order, PlannedProbe, Role};

pub(super) fn steps(
    order: &Order,
    chunk_tokens: u32,
    longest: u64,
    waves: u32,
) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("boundary");
    let mut choices = seed.child("order").choices();
    let mut lengths = Vec::new();
    for unit in [order.page_tokens, chunk_tokens].map(u64::from) {
        for _ in 0..waves {
            // At least half of the longest, so that the question is not the only thing in the last page.
            let most = (longest / unit).max(1);
            let whole = unit * choices.between(most.div_ceil(2), most);
            lengths.extend([whole - 1, whole, whole + 1]);
        }
    }
    choices.shuffle(&mut lengths);
    lengths
        .into_iter()
        .enumerate()
        .flat_map(|(index, tokens)| {
            let donor = choices.below(order.tenants as u64) as usize;
            let victim = super::somebody_else(donor, order, &mut choices);
            let seed = |label| seed.child_number(label, index as u64);
            // A little longer than the victim, so that its pages are the ones that the victim gets.
            let longer = tokens + u64::from(order.page_tokens) * choices.between(1, 3);
            let longer = longer.min(super::most_tokens(order));
            let donor = PlannedProbe::new(order, donor, Role::Donor, longer, seed("donor"));
            let victim = PlannedProbe::new(order, victim, Role::Victim, tokens, seed("victim"));
            // Whatever page it gets of whatever request before, there is a canary in it.
            [vec![donor], vec![victim.listing()]]
        })
        .collect()
}
