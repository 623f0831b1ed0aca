//! Whether something happens more often here than there: Fisher's exact test.
//!
//! R. A. Fisher, "The logic of inductive inference", J. R. Statist. Soc. 98 (1935) 39-82: if the place made
//! no difference, then given how often it happened in both places together, each choice of trials for it to
//! happen in would be as likely as any other, and the hits here would have a hypergeometric distribution.
//!
//! Chances are added up as parts of the likeliest one, each from its neighbour, and divided by their sum:
//! no factorials of which large parts would have to cancel. Right to eleven digits up to a billion trials,
//! for p-values down to 1e-280.

use super::{Probability, Tally};
use std::iter::successors;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// Trials in each place, at most. The work grows with the root of the hits: this many take 10 ms at worst,
/// a million 0.2 ms.
const MOST_TRIALS: u64 = 1_000_000_000;

/// The p-value of "hits are more frequent here than there": the chance of so many hits here, or more, if
/// the place made no difference, given the hits in both places together.
///
/// 1 where nothing can be told: without trials in one of the places, without hits, without misses, and
/// beyond a billion trials. Never 0: what is below the range of numbers is rounded up.
///
/// It assumes that trials are independent and hit at one rate here and one there, or else that it was drawn
/// at random which trial is made where. It is for one look at numbers of trials that were fixed beforehand.
#[must_use]
pub fn more_often(here: Tally, than_there: Tally) -> Probability {
    if here.trials().max(than_there.trials()) > MOST_TRIALS {
        return Probability::ONE;
    }
    let margins = Margins::of(here, than_there);
    let observed = here.hits() as f64;
    let (mut as_many, mut all) = (0.0, 0.0);
    for (hits, chance) in margins.chances() {
        all += chance;
        if hits >= observed {
            as_many += chance;
        }
    }
    Probability::saturating((as_many / all).max(f64::MIN_POSITIVE))
}

/// What the test takes as given.
#[derive(Clone, Copy, Debug)]
struct Margins {
    /// Trials here.
    here: f64,
    /// Trials there.
    there: f64,
    /// Hits in both places together.
    hits: f64,
}

impl Margins {
    fn of(here: Tally, there: Tally) -> Self {
        Self {
            here: here.trials() as f64,
            there: there.trials() as f64,
            hits: (here.hits() + there.hits()) as f64,
        }
    }

    /// The counts of hits here and their chances, as parts of that of the likeliest count: all that are
    /// above the range of numbers' lower end.
    fn chances(self) -> impl Iterator<Item = (f64, f64)> {
        let start = Some((self.likeliest(), 1.0));
        let upward = successors(start, move |&(hits, chance)| {
            let next = chance * self.step(hits);
            (next >= f64::MIN_POSITIVE).then_some((hits + 1.0, next))
        });
        let downward = successors(start, move |&(hits, chance)| {
            let next = chance * self.step_back(hits);
            (next >= f64::MIN_POSITIVE).then_some((hits - 1.0, next))
        });
        upward.chain(downward.skip(1))
    }

    fn likeliest(self) -> f64 {
        let share = (self.here + 1.0) / (self.here + self.there + 2.0);
        let (fewest, most) = ((self.hits - self.there).max(0.0), self.hits.min(self.here));
        ((self.hits + 1.0) * share).floor().clamp(fewest, most)
    }

    /// The chance of one hit more here, as a part of the chance of so many. 0 if there cannot be more.
    fn step(self, hits: f64) -> f64 {
        let hits_there = self.hits - hits;
        let misses_there = self.there - hits_there;
        (self.here - hits) / (hits + 1.0) * (hits_there / (misses_there + 1.0))
    }

    /// The chance of one hit less here, as a part of the chance of so many. 0 if there cannot be fewer.
    fn step_back(self, hits: f64) -> f64 {
        let hits_there = self.hits - hits;
        let misses_there = self.there - hits_there;
        hits / (self.here - hits + 1.0) * (misses_there / (hits_there + 1.0))
    }
}
