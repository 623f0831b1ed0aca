//! `return`: sessions that come back after others have filled the caches, so that their pages come from
//! the host's memory or from disk: tiered caches hand back another session's.
//!
//! Public reports: NVIDIA/TensorRT-LLM #8813, ggml-org/llama.cpp #27148, LMCache/LMCache #4385.

use super::{Load, Order, PlannedProbe, Role};

pub(super) fn steps(order: &Order, load: &Load) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("return");
    let mut choices = seed.child("order").choices();
    let sessions = super::everybody(order, load, &seed.child("sessions"));
    let visit =
        |(tenant, seed)| PlannedProbe::new(order, tenant, Role::Donor, load.tokens, seed).listing();
    // One after the other: each first visit finds room, and later ones push it out.
    let mut steps: Vec<Vec<PlannedProbe>> = sessions
        .iter()
        .map(|&session| vec![visit(session)])
        .collect();
    for wave in 0..load.waves {
        let seed = seed.child_number("wave", u64::from(wave));
        // How much it takes to push them out of which cache is not known: now a little, now as much again.
        let mut fill = super::everybody(order, load, &seed);
        fill.truncate(choices.between(1, fill.len() as u64) as usize);
        steps.extend(fill.into_iter().map(|stranger| vec![visit(stranger)]));
        // All come back at once, with strangers in between: pages are loaded while others are evicted.
        let mut back: Vec<PlannedProbe> = steps[..sessions.len()]
            .iter()
            .enumerate()
            .map(|(place, step)| PlannedProbe {
                role: Role::Returner,
                repeats: Some(place),
                ..step[0]
            })
            .collect();
        back.extend(
            super::everybody(order, load, &seed.child("beside"))
                .into_iter()
                .map(|stranger| PlannedProbe {
                    role: Role::Peer,
                    ..visit(stranger)
                }),
        );
        choices.shuffle(&mut back);
        steps.push(back);
    }
    steps
}
