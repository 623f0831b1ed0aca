//! How often something happened, of how often it could have.

use super::OutOfRange;

/// Hits in trials: leaks in probes, recalls in questions. Never more hits than trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    hits: u64,
    trials: u64,
}

impl Tally {
    /// Checks that there are no more hits than trials.
    ///
    /// # Errors
    ///
    /// When there are.
    pub fn new(hits: u64, trials: u64) -> Result<Self, OutOfRange> {
        if hits <= trials {
            Ok(Self { hits, trials })
        } else {
            Err(OutOfRange::Tally { hits, trials })
        }
    }

    /// So many trials without a hit.
    #[must_use]
    pub fn clean(trials: u64) -> Self {
        Self { hits: 0, trials }
    }

    /// One trial more.
    pub fn observe(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.trials += 1;
    }

    /// How often it happened.
    #[must_use]
    pub fn hits(self) -> u64 {
        self.hits
    }

    /// How often it could have.
    #[must_use]
    pub fn trials(self) -> u64 {
        self.trials
    }

    /// How often it did not happen.
    #[must_use]
    pub fn misses(self) -> u64 {
        self.trials - self.hits
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn more_hits_than_trials_cannot_be() {
        assert_eq!(
            Tally::new(3, 2).unwrap_err().to_string(),
            "`3` hits in `2` trials cannot be (expected at most one hit a trial)"
        );
        assert!(Tally::new(2, 2).is_ok());
        assert!(Tally::new(u64::MAX, u64::MAX).is_ok());
    }

    #[test]
    fn observing_counts_both_outcomes() {
        let mut tally = Tally::default();
        for hit in [true, false, false] {
            tally.observe(hit);
        }
        assert_eq!(tally, Tally::new(1, 3).unwrap());
        assert_eq!(tally.misses(), 2);
    }
}
