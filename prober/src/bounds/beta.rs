//! The beta distribution in logarithms: tails of binomial counts up to a billion trials and beyond.
//!
//! Written here because the crate tried (`statrs` 0.19) silently stops its continued fraction after 140
//! terms and subtracts logarithms of gamma functions of size 1e10: it finds I(½; n/2, n/2), which is ½, to
//! be -0.5 for n = 1e8 and -3.7 for 1e9. Here the large parts cancel on paper:
//!
//! - the density, as a deviance plus small corrections (the idea of C. Loader, "Fast and accurate
//!   computation of binomial probabilities", 2000);
//! - the tail, as the density times the even part of the continued fraction of DLMF 8.17.22, whose terms
//!   are all positive on the nearer side of the mean (as used by Didonato & Morris, "Algorithm 708", ACM
//!   TOMS 18, 1992).

use super::rate::Rate;
use std::f64::consts::TAU;

/// Terms of the continued fraction, at most. It takes about 4 ∛n of them at worst, near
/// the mean: 4,300 for a billion trials.
const MOST_TERMS: u32 = 1_000_001;
/// A term that changes the fraction by less is the last one.
const SETTLED: f64 = 1e-15;
/// From here on the series of [`stirling_error`] is exact to the last digit.
const SERIES_FROM: f64 = 16.0;

/// A beta distribution with both parameters above 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beta {
    a: f64,
    b: f64,
    /// What of the logarithm of the weight does not depend on the rate.
    constant: f64,
}

impl Beta {
    pub(super) fn new(a: f64, b: f64) -> Self {
        let sum = a + b;
        let errors = stirling_error(a) + stirling_error(b) - stirling_error(sum);
        Self {
            a,
            b,
            constant: 0.5 * (a / sum * b / TAU).ln() - errors,
        }
    }

    /// `ln(pᵃ qᵇ / B(a, b))`, `q = 1 - p`: the logarithm of the density times `p q`.
    pub(super) fn ln_weight(&self, rate: Rate) -> f64 {
        let sum = self.a + self.b;
        self.constant
            - deviance(self.a, sum * rate.get())
            - deviance(self.b, sum * rate.complement())
    }

    /// Logarithm of the part below a rate, `ln I_p(a, b)`: that a binomial count of `a + b - 1` trials
    /// is `a` or more, for whole numbers.
    pub(super) fn ln_below(&self, rate: Rate) -> f64 {
        if self.is_below_mean(rate) {
            self.ln_near_below(rate)
        } else {
            ln_complement(self.ln_near_above(rate))
        }
    }

    /// Logarithm of the part above a rate: that a binomial count of `a + b - 1` trials is below `a`, for
    /// whole numbers.
    pub(super) fn ln_above(&self, rate: Rate) -> f64 {
        if self.is_below_mean(rate) {
            ln_complement(self.ln_near_below(rate))
        } else {
            self.ln_near_above(rate)
        }
    }

    fn is_below_mean(&self, rate: Rate) -> bool {
        self.a * rate.complement() >= self.b * rate.get()
    }

    fn ln_near_below(&self, rate: Rate) -> f64 {
        let (p, q) = (rate.get(), rate.complement());
        self.ln_weight(rate) - fraction(self.a, self.b, p, q).ln()
    }

    fn ln_near_above(&self, rate: Rate) -> f64 {
        let (p, q) = (rate.get(), rate.complement());
        self.ln_weight(rate) - fraction(self.b, self.a, q, p).ln()
    }
}

/// The weight of a beta distribution divided by its part below `x`, for `x` not above the mean;
/// `y = 1 - x`.
///
/// Partial fractions alternate around the value and the last one allowed is too small, so that a fraction
/// cut off there makes the tail, and with it the bound, too large rather than too small.
fn fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let slack = (a * y - b * x).max(0.0);
    let mut value = a * (slack + 1.0) / (a + 1.0);
    let (mut upward, mut downward) = (value, 0.0);
    for term in 1..MOST_TERMS {
        let m = f64::from(term);
        let odd = a + 2.0 * m - 1.0;
        let numerator = (a + m - 1.0) / odd * x * ((a + b + m - 1.0) / odd * x) * m * (b - m);
        let denominator = m
            + m * (b - m) * x / odd
            + (a + m) * (slack + 1.0 + m * (1.0 + y)) / (a + 2.0 * m + 1.0);
        downward = 1.0 / (denominator + numerator * downward);
        upward = denominator + numerator / upward;
        let change = upward * downward;
        value *= change;
        if (change - 1.0).abs() <= SETTLED {
            break;
        }
    }
    value
}

/// `x ln(x / m) - (x - m)`, not negative: how far a count `x` is from its expectation `m`.
fn deviance(x: f64, m: f64) -> f64 {
    let excess = x - m;
    if excess.abs() < 0.5 * m {
        x * (excess / m).ln_1p() - excess
    } else {
        x * (x / m).ln() - excess
    }
}

/// What Stirling's formula leaves of `ln Γ(x)`: `ln Γ(x) - (x ln x - x + ½ ln(2π / x))`, for x above 0.
fn stirling_error(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    // From `Γ(x + 1) = x Γ(x)`.
    while x < SERIES_FROM {
        sum += (x + 0.5) * x.recip().ln_1p() - 1.0;
        x += 1.0;
    }
    let z = (x * x).recip();
    let series = 1.0 / 1260.0 - z * (1.0 / 1680.0 - z / 1188.0);
    sum + (1.0 / 12.0 - z * (1.0 / 360.0 - z * series)) / x
}

/// `ln(1 - exp(z))` for z of 0 or less.
fn ln_complement(z: f64) -> f64 {
    (-z.exp().min(1.0)).ln_1p()
}
