//! Bounds that hold at all times at once: with the nominal confidence, no look after any trial ever rules
//! out the true rate. So one may look after every trial, and stop when one likes what one sees.
//!
//! A rate p is bet against: the bet's capital after k hits in n trials is the likelihood of an average
//! over other rates, divided by the likelihood of p,
//!
//! `M(p) = ∫ θᵏ (1-θ)ⁿ⁻ᵏ dF(θ) / (pᵏ (1-p)ⁿ⁻ᵏ)`.
//!
//! If p is the true rate, this is a fair game that starts at 1, and by Ville's inequality it ever reaches
//! `1 / error` with probability `error` at most. A rate against which it has is ruled out. (H. Robbins,
//! "Statistical methods related to the law of the iterated logarithm", Ann. Math. Statist. 41 (1970)
//! 1397-1409; S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric,
//! nonasymptotic confidence sequences", Ann. Statist. 49 (2021) 1055-1080.)
//!
//! The average F may be chosen freely, per p, before the first trial, and only decides where the bounds
//! are tight. Ours expect small rates of unknown magnitude; each choice is explained with its constant.
//!
//! All looks hold together: as long as the rate does not change, the lowest upper bound so far may be kept.

use super::beta::Beta;
use super::rate::{Rate, bisect};
use super::{Confidence, Interval, Probability, Tally};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// F of the two-sided interval is Beta([`MAGNITUDE`], 1), of density `0.1 θ^-0.9`: nearly the same weight
/// on each power of ten, so that no magnitude of rate need be guessed. Upper ends without hits at 95 %,
/// times n, after 10³ and 10⁶ trials: 3.7 and 4.4; with 0.25 instead 4.8 and 6.6; with Beta(½, 1) 6.6 and
/// 10; with the customary Beta(1, 1) 9.9 and 17. At a rate of 0.3 the interval is 6 to 9 % wider than with
/// the last.
const MAGNITUDE: f64 = 0.1;

/// F of the upper bound is p times Beta([`SHARE`], 1): the truth is some share of the rate p that is bet
/// against. Being relative to p, it costs the same at every n. At 95 %, n times the bound for 0, 1, 2 and
/// 10 hits is 3.40, 6.90, 9.27 and 23.3 (with a fixed n: 3.00, 4.74, 6.30 and 17.0); with ½ it is 3.79,
/// 6.66, 8.86 and 22.4; with 0.1, 3.16, 7.58, 10.1 and 24.6. Chosen for the usual case: no hit.
const SHARE: f64 = 0.25;

/// The two-sided confidence sequence. `[0, 1]` without trials; always holds `k/n`.
///
/// The capital is a convex function of p with its minimum, at most 1, at `k/n`: so what it does not rule
/// out is an interval around that. It need not lie around [`clopper_pearson`](super::clopper_pearson) of
/// the same confidence, which gives each side half of the error even where, without hits, only one side
/// can err; it does lie around the one-sided bounds of the same confidence.
#[must_use]
pub fn anytime(tally: Tally, confidence: Confidence) -> Interval {
    let needed = -confidence.ln_error();
    let observed = Rate::of(tally.hits(), tally.trials());
    let beta = Beta::new(MAGNITUDE + tally.hits() as f64, 1.0 + tally.misses() as f64);
    // The density of F is `MAGNITUDE × θ^(MAGNITUDE - 1)`.
    let capital = |rate: Rate| {
        MAGNITUDE.ln() - beta.ln_weight(rate) + MAGNITUDE * rate.ln() + rate.complement().ln()
    };
    let is_ruled_out = |rate: Rate| capital(rate) >= needed;
    let lower = if tally.hits() == 0 {
        Probability::ZERO
    } else {
        let (bound, _) = bisect(Rate::LOWEST, observed, |rate| !is_ruled_out(rate));
        Probability::saturating(bound.get())
    };
    let upper = if tally.misses() == 0 {
        Probability::ONE
    } else {
        let (_, bound) = bisect(observed, Rate::HIGHEST, is_ruled_out);
        Probability::saturating(bound.get())
    };
    Interval { lower, upper }
}

/// The one-sided upper confidence sequence: the rate is at most this, and at most what this was at any
/// earlier look. 1 without trials.
///
/// Only lower rates are bet on, so the whole error is on this side. That what is not ruled out is all
/// rates below one bound: with `θ = t p` the capital is
///
/// `M(p) = ∫₀¹ SHARE t^(SHARE-1) tᵏ ((1 - t p) / (1 - p))ⁿ⁻ᵏ dt`,
///
/// which grows with p under the integral for each t. In the same way it falls with k and grows with n - k,
/// so that the bound grows with the hits and falls with the misses, always. And it is never below
/// [`upper_bound`](super::upper_bound): counts up to k are less likely than the error at a rate that k
/// rules out, by Markov's inequality.
#[must_use]
pub fn anytime_upper(tally: Tally, confidence: Confidence) -> Probability {
    if tally.misses() == 0 {
        return Probability::ONE;
    }
    let needed = -confidence.ln_error();
    let beta = Beta::new(SHARE + tally.hits() as f64, 1.0 + tally.misses() as f64);
    // The integral over θ from 0 to p is the part of a beta distribution below p.
    let capital = |rate: Rate| {
        SHARE.ln() - beta.ln_weight(rate) + rate.complement().ln() + beta.ln_below(rate)
    };
    let (_, bound) = bisect(Rate::LOWEST, Rate::HIGHEST, |rate| capital(rate) >= needed);
    Probability::saturating(bound.get())
}
