//! Divergence: equal requests at temperature 0, different answers, and only where a stranger was near.
//!
//! An endpoint whose answers differ by themselves (batches computed in another order give other last
//! bits) differs alone, too: of each set the third answer of the request alone is the control. An answer
//! counts as different if it equals neither of the first two alone: of these one was computed whole and
//! one came from the prefix cache, if there is one.

use super::compare::Compared;
use super::{Finding, ProbeResult};
use crate::bounds::{Tally, more_often};
use crate::endpoint::{Digest, Outcome};
use crate::scenario::Role;
use std::collections::BTreeMap;

/// A round without a defect shows a divergence at most so often.
const LEVEL: f64 = 1e-3;
/// How often a request was sent alone.
const ALONE: usize = 3;

/// The answers of one set, with their places in the results.
#[derive(Default)]
struct Set {
    solo: Vec<Digest>,
    /// After a stranger's request, then beside strangers'.
    amid: Vec<(usize, Digest)>,
}

pub(super) fn compare(results: &[ProbeResult], compared: &mut Compared) {
    let mut sets: BTreeMap<u32, Set> = BTreeMap::new();
    for (place, result) in results.iter().enumerate() {
        let (Outcome::Answered, Some(answer)) = (&result.outcome, result.answer) else {
            continue;
        };
        let set = sets.entry(result.set).or_default();
        match result.role {
            Role::Solo => set.solo.push(answer),
            Role::Amid => set.amid.push((place, answer)),
            _ => {}
        }
    }
    let complete: Vec<&Set> = sets
        .values()
        .filter(|set| set.solo.len() == ALONE && set.amid.len() == 2)
        .collect();
    let mut alone = Tally::default();
    complete
        .iter()
        .for_each(|set| alone.observe(set.differs(set.solo[ALONE - 1])));
    for (index, beside) in [(0, false), (1, true)] {
        let mut amid = Tally::default();
        let mut first = None;
        for set in &complete {
            let (place, answer) = set.amid[index];
            let differs = set.differs(answer);
            amid.observe(differs);
            first = first.or(differs.then_some(place));
        }
        let chance = more_often(amid, alone).get();
        if let Some(first) = first.filter(|_| chance <= LEVEL) {
            let finding = Finding::Divergence {
                beside,
                differing: amid.hits(),
                differing_alone: alone.hits(),
                sets: amid.trials(),
                chance,
            };
            compared.findings.push((first, finding));
        }
    }
}

impl Set {
    fn differs(&self, answer: Digest) -> bool {
        !self.solo[..ALONE - 1].contains(&answer)
    }
}
