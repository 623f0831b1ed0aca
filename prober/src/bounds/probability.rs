//! Numbers that were checked where they came in.

use std::fmt;

/// A number, or a pair of counts, that cannot be what it was given as.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum OutOfRange {
    /// Not a number, negative or above 1.
    #[error("`{0}` is not a probability (expected a number from 0 to 1)")]
    Probability(f64),
    /// Not a number, or not strictly between 0 and 1.
    #[error("`{0}` is not a confidence (expected a number above 0 and below 1, such as 0.95)")]
    Confidence(f64),
    /// More hits than trials.
    #[error("`{hits}` hits in `{trials}` trials cannot be (expected at most one hit a trial)")]
    Tally {
        /// How often it happened.
        hits: u64,
        /// How often it could have.
        trials: u64,
    },
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// What never happens.
    pub const ZERO: Self = Self(0.0);
    /// What always happens.
    pub const ONE: Self = Self(1.0);

    /// Checks the range.
    ///
    /// # Errors
    ///
    /// When the value is not a number, negative or above 1.
    pub fn new(value: f64) -> Result<Self, OutOfRange> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(OutOfRange::Probability(value))
        }
    }

    /// The result of a calculation that may be off by a rounding, or means 1 when it is above.
    pub(super) fn saturating(value: f64) -> Self {
        Self(value.clamp(0.0, 1.0))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// How sure a bound is, strictly between 0 and 1.
///
/// Kept as its complement, the allowed error, because that is what the calculations use and because
/// halving the error of a confidence near 1 would otherwise round to certainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    error: f64,
}

impl Confidence {
    /// Checks the range.
    ///
    /// # Errors
    ///
    /// When the value is not a number, 0 or less, or 1 or more.
    pub fn new(value: f64) -> Result<Self, OutOfRange> {
        if value > 0.0 && value < 1.0 {
            Ok(Self { error: 1.0 - value })
        } else {
            Err(OutOfRange::Confidence(value))
        }
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        1.0 - self.error
    }

    /// What each of two statements has to be sure of, so that both hold together with this confidence
    /// (the errors add up at worst). For a bound on detected leaks and one on the sensitivity, say.
    #[must_use]
    pub fn for_each_of_two(self) -> Self {
        Self {
            error: self.error / 2.0,
        }
    }

    /// Logarithm of the allowed error, 0 or less.
    pub(super) fn ln_error(self) -> f64 {
        self.error.ln()
    }
}

/// A range of rates, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lowest rate in it.
    pub lower: Probability,
    /// The highest rate in it.
    pub upper: Probability,
}

impl Interval {
    /// Whether a rate lies in it.
    #[must_use]
    pub fn contains(&self, rate: Probability) -> bool {
        (self.lower..=self.upper).contains(&rate)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_probability_is_refused_and_told_what_was_expected() {
        for value in [f64::NAN, -1e-300, 1.0 + f64::EPSILON, f64::INFINITY] {
            assert!(Probability::new(value).is_err(), "{value}");
        }
        for value in [0.0, -0.0, f64::MIN_POSITIVE, 1.0] {
            assert!(Probability::new(value).is_ok(), "{value}");
        }
        assert_eq!(
            Probability::new(1.5).unwrap_err().to_string(),
            "`1.5` is not a probability (expected a number from 0 to 1)"
        );
    }

    #[test]
    fn certainty_and_its_opposite_are_no_confidence() {
        for value in [f64::NAN, -0.5, 0.0, 1.0, 95.0] {
            assert!(Confidence::new(value).is_err(), "{value}");
        }
        assert_eq!(
            Confidence::new(95.0).unwrap_err().to_string(),
            "`95` is not a confidence (expected a number above 0 and below 1, such as 0.95)"
        );
    }

    #[test]
    fn a_confidence_gives_back_its_number() {
        for value in [0.5, 0.9, 0.95, 0.99, 1.0 - f64::EPSILON / 2.0] {
            assert_eq!(Confidence::new(value).unwrap().get(), value);
        }
    }

    #[test]
    fn the_surest_confidence_can_still_be_split() {
        let surest = Confidence::new(1.0 - f64::EPSILON / 2.0).unwrap();
        assert!(surest.for_each_of_two().ln_error() > f64::NEG_INFINITY);
        assert!(surest.for_each_of_two().ln_error() < surest.ln_error());
    }

    #[test]
    fn an_interval_holds_both_its_ends() {
        let rate = |value| Probability::new(value).unwrap();
        let interval = Interval {
            lower: rate(0.25),
            upper: rate(0.5),
        };
        assert!(interval.contains(rate(0.25)) && interval.contains(rate(0.5)));
        assert!(!interval.contains(rate(0.2499)) && !interval.contains(rate(0.5001)));
    }
}
