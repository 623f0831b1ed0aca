//! What holds of all bounds, for any counts.

use super::*;
use proptest::prelude::*;

/// What a rounding may turn around, relative.
const ROUNDING: f64 = 1e-12;

/// Trials of any magnitude up to a billion, and hits of any magnitude up to all of them.
fn tallies() -> impl Strategy<Value = Tally> {
    (0.0_f64..20.7, 0.0_f64..=1.0, 0..4).prop_map(|(ln_trials, share, shape)| {
        let trials = ln_trials.exp() as u64;
        let hits = match shape {
            0 => 0,
            1 => (trials as f64 * share) as u64,
            _ => (trials as f64).powf(share) as u64,
        };
        Tally::new(hits.min(trials), trials).unwrap()
    })
}

/// From a toss to one error in a million.
fn confidences() -> impl Strategy<Value = Confidence> {
    (0.7_f64..14.0).prop_map(|nats| Confidence::new(1.0 - (-nats).exp()).unwrap())
}

fn share(tally: Tally) -> f64 {
    tally.hits() as f64 / tally.trials() as f64
}

/// The two ends of each interval, one-sided bounds as intervals with an open end.
fn all(tally: Tally, confidence: Confidence) -> [(&'static str, f64, f64); 4] {
    let exact = clopper_pearson(tally, confidence);
    let sequence = anytime(tally, confidence);
    [
        ("exact", exact.lower.get(), exact.upper.get()),
        (
            "one-sided",
            lower_bound(tally, confidence).get(),
            upper_bound(tally, confidence).get(),
        ),
        ("anytime", sequence.lower.get(), sequence.upper.get()),
        ("anytime upper", 0.0, anytime_upper(tally, confidence).get()),
    ]
}

fn at_most(low: f64, high: f64) -> bool {
    low <= high * (1.0 + ROUNDING)
}

proptest! {
    #[test]
    fn bounds_lie_around_the_observed_share(tally in tallies(), confidence in confidences()) {
        for (name, lower, upper) in all(tally, confidence) {
            prop_assert!((0.0..=1.0).contains(&lower) && (0.0..=1.0).contains(&upper));
            prop_assert!(at_most(lower, share(tally)), "{name}: {lower}");
            prop_assert!(at_most(share(tally), upper), "{name}: {upper}");
        }
    }

    #[test]
    fn one_hit_more_of_as_many_trials_raises_bounds(tally in tallies(), confidence in confidences()) {
        prop_assume!(tally.misses() > 0);
        let more = Tally::new(tally.hits() + 1, tally.trials()).unwrap();
        for (before, after) in all(tally, confidence).into_iter().zip(all(more, confidence)) {
            prop_assert!(at_most(before.1, after.1), "{before:?} {after:?}");
            prop_assert!(at_most(before.2, after.2), "{before:?} {after:?}");
        }
    }

    #[test]
    fn one_trial_more_without_a_hit_lowers_bounds(tally in tallies(), confidence in confidences()) {
        let more = Tally::new(tally.hits(), tally.trials() + 1).unwrap();
        for (before, after) in all(tally, confidence).into_iter().zip(all(more, confidence)) {
            prop_assert!(at_most(after.1, before.1), "{before:?} {after:?}");
            prop_assert!(at_most(after.2, before.2), "{before:?} {after:?}");
        }
    }

    #[test]
    fn more_confidence_widens_intervals(
        tally in tallies(), one in confidences(), other in confidences(),
    ) {
        let (less, more) = if one.get() < other.get() { (one, other) } else { (other, one) };
        for (narrow, wide) in all(tally, less).into_iter().zip(all(tally, more)) {
            prop_assert!(at_most(wide.1, narrow.1), "{narrow:?} {wide:?}");
            prop_assert!(at_most(narrow.2, wide.2), "{narrow:?} {wide:?}");
        }
    }

    #[test]
    fn bounds_for_all_times_lie_around_one_sided_bounds_for_a_fixed_time(
        tally in tallies(), confidence in confidences(),
    ) {
        let upper = upper_bound(tally, confidence).get();
        let lower = lower_bound(tally, confidence).get();
        let sequence = anytime(tally, confidence);
        prop_assert!(at_most(upper, anytime_upper(tally, confidence).get()));
        prop_assert!(at_most(upper, sequence.upper.get()));
        prop_assert!(at_most(sequence.lower.get(), lower));
    }
}
