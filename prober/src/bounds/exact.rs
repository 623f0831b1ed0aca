//! Bounds for a number of trials that was fixed beforehand.
//!
//! C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of
//! the binomial", Biometrika 26 (1934) 404-413: a rate is ruled out when it would give so many hits, or
//! more extreme ones, with less than the allowed error. Never below the nominal confidence, at any rate
//! and any number of trials; above it by what the counts being whole numbers costs.
//!
//! Right to twelve digits up to a billion trials. Counts above 2⁵³ are rounded like any `f64`.

use super::beta::Beta;
use super::rate::{Rate, bisect};
use super::{Confidence, Interval, Probability, Tally};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// The two-sided interval, with half of the error on each side. `[0, 1]` without trials.
#[must_use]
pub fn clopper_pearson(tally: Tally, confidence: Confidence) -> Interval {
    let each = confidence.for_each_of_two();
    Interval {
        lower: lower_bound(tally, each),
        upper: upper_bound(tally, each),
    }
}

/// The one-sided upper bound: the rate is at most this. 1 without trials; `1 - error^(1/n)`, about
/// `3/n` at 95 %, without hits.
#[must_use]
pub fn upper_bound(tally: Tally, confidence: Confidence) -> Probability {
    let ln_error = confidence.ln_error();
    if tally.misses() == 0 {
        return Probability::ONE;
    }
    if tally.hits() == 0 {
        return Probability::saturating(-(ln_error / tally.trials() as f64).exp_m1());
    }
    let beta = Beta::new(tally.hits() as f64 + 1.0, tally.misses() as f64);
    let (_, bound) = bisect(Rate::LOWEST, Rate::HIGHEST, |rate| {
        beta.ln_above(rate) < ln_error
    });
    Probability::saturating(bound.get())
}

/// The one-sided lower bound: the rate is at least this. 0 without hits.
#[must_use]
pub fn lower_bound(tally: Tally, confidence: Confidence) -> Probability {
    let ln_error = confidence.ln_error();
    if tally.hits() == 0 {
        return Probability::ZERO;
    }
    if tally.misses() == 0 {
        return Probability::saturating((ln_error / tally.trials() as f64).exp());
    }
    let beta = Beta::new(tally.hits() as f64, tally.misses() as f64 + 1.0);
    let (bound, _) = bisect(Rate::LOWEST, Rate::HIGHEST, |rate| {
        beta.ln_below(rate) >= ln_error
    });
    Probability::saturating(bound.get())
}
