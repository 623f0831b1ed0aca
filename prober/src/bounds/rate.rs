//! A rate known by its logarithm, and the search for one.

/// Steps of the search. They narrow the logarithm down to 1e-17, below what an `f64` of a rate resolves.
const STEPS: u32 = 64;
/// Logarithm of the lowest rate looked at, about 1e-87: no bound from a 64-bit count is near it.
const LOWEST: f64 = -200.0;

/// A rate strictly between 0 and 1. By its logarithm both it and its complement are exact to the last
/// digits: one in a billion as well as all but one in a billion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    ln: f64,
}

impl Rate {
    /// The lowest rate looked at.
    pub(super) const LOWEST: Self = Self { ln: LOWEST };
    /// The end of the range, 1.
    pub(super) const HIGHEST: Self = Self { ln: 0.0 };

    /// The share `hits / trials`; the lowest rate for no hits.
    pub(super) fn of(hits: u64, trials: u64) -> Self {
        if hits == 0 {
            return Self::LOWEST;
        }
        Self {
            ln: (hits as f64 / trials as f64).ln(),
        }
    }

    /// The logarithm of the rate.
    pub(super) fn ln(self) -> f64 {
        self.ln
    }

    /// The rate.
    pub(super) fn get(self) -> f64 {
        self.ln.exp()
    }

    /// One minus the rate.
    pub(super) fn complement(self) -> f64 {
        -self.ln.exp_m1()
    }
}

/// The last rate known to be below, and the first known to be above, where `is_above` changes from false
/// to true on its way from `low` to `high`. It is never asked about these two.
pub(super) fn bisect(low: Rate, high: Rate, is_above: impl Fn(Rate) -> bool) -> (Rate, Rate) {
    let (mut low, mut high) = (low, high);
    for _ in 0..STEPS {
        let middle = Rate {
            ln: f64::midpoint(low.ln, high.ln),
        };
        if is_above(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_a_rate_at_either_end_of_the_range() {
        for sought in [1e-80, 1e-12, 0.3, 1.0 - 1e-12] {
            let (low, high) = bisect(Rate::LOWEST, Rate::HIGHEST, |rate| rate.get() >= sought);
            assert!((low.get() / sought - 1.0).abs() < 1e-13, "{sought}");
            assert!((high.get() / sought - 1.0).abs() < 1e-13, "{sought}");
        }
    }

    #[test]
    fn a_search_without_a_change_ends_where_it_could_have_been() {
        let (_, high) = bisect(Rate::LOWEST, Rate::HIGHEST, |_| false);
        assert_eq!(high.get(), 1.0);
        let (low, _) = bisect(Rate::LOWEST, Rate::HIGHEST, |_| true);
        assert_eq!(low.get(), Rate::LOWEST.get());
    }

    #[test]
    fn a_complement_is_exact_next_to_one() {
        let (low, _) = bisect(Rate::LOWEST, Rate::HIGHEST, |rate| {
            rate.complement() <= 1e-9
        });
        assert!((low.complement() / 1e-9 - 1.0).abs() < 1e-6);
    }
}
