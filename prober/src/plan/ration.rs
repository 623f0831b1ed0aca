//! Where a budget is spent: on the rounds that find most, first.
//!
//! A round over the advertised limit finds what the founding incident was, and one of a scenario that has
//! not run since the endpoint changed finds what the change brought. Rounds of a lower rank get what the
//! rest of the day's rounds of a higher rank, as they stand on the grid, leave of the budget: so no round is
//! ever missed because of one of a lower rank.

use super::{Order, SkipReason};
use crate::budget::{Budget, Cost};
use crate::scenario::Recipe;
use std::collections::HashSet;
use time::OffsetDateTime;

/// How much a round is worth, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Neither of both.
    Routine,
    /// Over-long, or the first of its scenario since the endpoint changed.
    Preferred,
    /// Both.
    First,
}

impl Rank {
    /// Of a round that is or is not over-long, and is or is not the first of its scenario since a change.
    #[must_use]
    pub fn of(is_overlong: bool, is_first_since_change: bool) -> Self {
        match (is_overlong, is_first_since_change) {
            (true, true) => Self::First,
            (false, false) => Self::Routine,
            _ => Self::Preferred,
        }
    }
}

/// A round of an endpoint that is due or will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// When it is due.
    pub at: OffsetDateTime,
    /// The name of its scenario.
    pub scenario: String,
    /// Whether it sends prompts over the advertised limit.
    pub is_overlong: bool,
    /// What it costs at most.
    pub cost: Cost,
}

impl Claim {
    /// That of an order.
    #[must_use]
    pub fn new(order: &Order, recipe: &Recipe, cost: Cost) -> Self {
        Self {
            at: order.tick.at,
            scenario: order.scenario.clone(),
            is_overlong: matches!(recipe, Recipe::Overflow { .. }),
            cost,
        }
    }
}

/// Which of the `waiting` rounds is next: its place in the list, and whether it may run, given what was
/// spent today. `upcoming`: those of the rest of the day. `fresh`: scenarios that have not run since the
/// endpoint changed. `None` if nobody waits.
///
/// Without a limit the one that is due longest runs.
#[must_use]
pub fn choose(
    budget: &Budget,
    spent: Cost,
    waiting: &[Claim],
    upcoming: &[Claim],
    fresh: &HashSet<String>,
) -> Option<(usize, Result<(), SkipReason>)> {
    if !budget.is_limited() {
        let (place, _) = waiting
            .iter()
            .enumerate()
            .min_by_key(|(_, claim)| claim.at)?;
        return Some((place, Ok(())));
    }
    let claims: Vec<&Claim> = waiting.iter().chain(upcoming).collect();
    let ranks = ranks(&claims, fresh);
    let worth = |place: &usize| (std::cmp::Reverse(ranks[*place]), waiting[*place].at);
    let place = (0..waiting.len()).min_by_key(worth)?;
    let others = (0..claims.len()).filter(|other| *other != place);
    let others: Vec<(Rank, &Claim)> = others.map(|other| (ranks[other], claims[other])).collect();
    let admitted = admit(budget, spent, (ranks[place], claims[place]), &others);
    Some((place, admitted))
}

/// The rank of each claim: of a scenario in `fresh`, only the earliest is the first since the change.
fn ranks(claims: &[&Claim], fresh: &HashSet<String>) -> Vec<Rank> {
    let mut by_time: Vec<usize> = (0..claims.len()).collect();
    by_time.sort_by_key(|&place| claims[place].at);
    let mut ranks = vec![Rank::Routine; claims.len()];
    let mut seen = HashSet::new();
    for place in by_time {
        let claim = claims[place];
        let is_first = fresh.contains(&claim.scenario) && seen.insert(&claim.scenario);
        ranks[place] = Rank::of(claim.is_overlong, is_first);
    }
    ranks
}

fn admit(
    budget: &Budget,
    spent: Cost,
    (rank, claim): (Rank, &Claim),
    others: &[(Rank, &Claim)],
) -> Result<(), SkipReason> {
    if !budget.allows(spent.plus(claim.cost)) {
        return Err(SkipReason::OverBudget);
    }
    let mut before: Vec<&(Rank, &Claim)> =
        others.iter().filter(|(other, _)| *other > rank).collect();
    before.sort_by_key(|(other, claim)| (std::cmp::Reverse(*other), claim.at));
    // What does not fit anyhow is not kept for.
    let kept = before.iter().fold(spent, |kept, (_, other)| {
        let with = kept.plus(other.cost);
        if budget.allows(with) { with } else { kept }
    });
    if budget.allows(kept.plus(claim.cost)) {
        Ok(())
    } else {
        Err(SkipReason::KeptForOthers)
    }
}

/// What becomes of rounds, in the order of their time, if each costs what it may at most: `None` for one
/// that runs. `spent`: on the day of the first of them.
#[must_use]
pub fn forecast(
    budget: &Budget,
    spent: Cost,
    now: OffsetDateTime,
    claims: &[Claim],
    fresh: &HashSet<String>,
) -> Vec<Option<SkipReason>> {
    let (mut day, mut spent, mut fresh) = (crate::budget::day_of(now), spent, fresh.clone());
    let mut fates = Vec::with_capacity(claims.len());
    for (place, claim) in claims.iter().enumerate() {
        let its_day = crate::budget::day_of(claim.at);
        if its_day != day {
            (day, spent) = (its_day, Cost::default());
        }
        let later = &claims[place + 1..];
        let today = later.partition_point(|later| crate::budget::day_of(later.at) == day);
        let waiting = std::slice::from_ref(claim);
        let fate = match choose(budget, spent, waiting, &later[..today], &fresh) {
            Some((_, Err(reason))) => Some(reason),
            _ => {
                spent = spent.plus(claim.cost);
                fresh.remove(&claim.scenario);
                None
            }
        };
        fates.push(fate);
    }
    fates
}

#[cfg(test)]
mod tests;
