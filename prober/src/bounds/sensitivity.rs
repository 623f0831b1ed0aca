//! How much of what leaks we see: what models repeat of the canaries in their own context.
//!
//! A canary that reached a context without right is seen only when the model repeats it. How likely that
//! is, is measured on canaries that are there by right: of so many asked for, so many came back.

use super::{Confidence, OutOfRange, Probability, Tally, lower_bound};

/// Parts of a context's depth that are counted apart.
const PARTS: usize = 10;

/// Own-canary recall: of so many questions, so many were answered with the canary asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sensitivity(Tally);

impl Sensitivity {
    /// Checks that no more was repeated than asked for.
    ///
    /// # Errors
    ///
    /// When there was.
    pub fn new(repeated: u64, asked: u64) -> Result<Self, OutOfRange> {
        Tally::new(repeated, asked).map(Self)
    }

    /// One question more.
    pub fn observe(&mut self, repeated: bool) {
        self.0.observe(repeated);
    }

    /// How many canaries came back.
    #[must_use]
    pub fn repeated(self) -> u64 {
        self.0.hits()
    }

    /// How many were asked for.
    #[must_use]
    pub fn asked(self) -> u64 {
        self.0.trials()
    }

    /// The share that came back. `None` when nothing was asked, so that nothing is known.
    #[must_use]
    pub fn estimate(self) -> Option<Probability> {
        let share = self.repeated() as f64 / self.asked() as f64;
        (self.asked() > 0).then(|| Probability::saturating(share))
    }

    /// The least it is, with this confidence (Clopper and Pearson's one-sided bound, for a number of
    /// questions fixed beforehand). 0 when nothing was asked.
    #[must_use]
    pub fn lower(self, confidence: Confidence) -> Probability {
        lower_bound(self.0, confidence)
    }
}

/// The bound on all leaks that follows from one on detected leaks: a rate r of leaks, of which a share
/// `sensitivity` is detected, gives detected leaks at the rate `r × sensitivity`. At most 1; 1 where
/// nothing can be detected.
///
/// It is as sure as both of its parts together. With [`Sensitivity::lower`] as the sensitivity, give each
/// [`Confidence::for_each_of_two`]; with the estimate, it holds only as far as that is right.
#[must_use]
pub fn corrected(bound: Probability, sensitivity: Probability) -> Probability {
    if bound >= sensitivity {
        return Probability::ONE;
    }
    Probability::saturating(bound.get() / sensitivity.get())
}

/// Sensitivity by depth: models repeat what stands in the middle of a long context less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByDepth {
    parts: [Sensitivity; PARTS],
}

impl ByDepth {
    /// Takes one question and where in the context its canary stood, from 0 (the start) to 1 (the end).
    /// Returns whether it was counted: a depth outside of that is not.
    pub fn observe(&mut self, depth: f64, repeated: bool) -> bool {
        if !(0.0..=1.0).contains(&depth) {
            return false;
        }
        // The end belongs to the last part.
        let part = ((depth * PARTS as f64) as usize).min(PARTS - 1);
        self.parts[part].observe(repeated);
        true
    }

    /// The equal parts, from the start of the context to its end.
    #[must_use]
    pub fn parts(&self) -> &[Sensitivity] {
        &self.parts
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn nobody_asked_means_nothing_is_known() {
        let sensitivity = Sensitivity::default();
        assert_eq!(sensitivity.estimate(), None);
        let confidence = Confidence::new(0.95).unwrap();
        assert_eq!(sensitivity.lower(confidence), Probability::ZERO);
    }

    #[test]
    fn nine_in_ten_is_at_least_six_in_ten() {
        let sensitivity = Sensitivity::new(9, 10).unwrap();
        assert_eq!(sensitivity.estimate(), Some(probability(0.9)));
        let lower = sensitivity.lower(Confidence::new(0.95).unwrap()).get();
        assert!((lower - 0.605_836_6).abs() < 1e-6, "{lower}");
    }

    #[test]
    fn more_repeated_than_asked_cannot_be() {
        assert!(Sensitivity::new(2, 1).is_err());
    }

    #[test]
    fn half_the_sensitivity_doubles_the_bound_up_to_certainty() {
        let half = probability(0.5);
        assert_eq!(corrected(probability(0.125), half), probability(0.25));
        assert_eq!(corrected(probability(0.75), half), Probability::ONE);
        assert_eq!(
            corrected(probability(0.125), Probability::ONE),
            probability(0.125)
        );
    }

    #[test]
    fn a_blind_probe_bounds_nothing() {
        for bound in [0.0, 1e-9, 1.0] {
            assert_eq!(
                corrected(probability(bound), Probability::ZERO),
                Probability::ONE
            );
        }
    }

    #[test]
    fn depths_fall_into_ten_equal_parts_with_the_end_in_the_last() {
        let mut by_depth = ByDepth::default();
        for (depth, repeated) in [
            (0.0, true),
            (0.099, false),
            (0.1, true),
            (0.95, true),
            (1.0, false),
        ] {
            assert!(by_depth.observe(depth, repeated));
        }
        let counts: Vec<_> = by_depth
            .parts()
            .iter()
            .map(|part| (part.repeated(), part.asked()))
            .collect();
        let mut expected = vec![(0, 0); 10];
        (expected[0], expected[1], expected[9]) = ((1, 2), (1, 1), (1, 2));
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_depth_outside_the_context_is_not_counted() {
        let mut by_depth = ByDepth::default();
        for depth in [f64::NAN, -0.01, 1.01] {
            assert!(!by_depth.observe(depth, true), "{depth}");
        }
        assert_eq!(by_depth, ByDepth::default());
    }
}
