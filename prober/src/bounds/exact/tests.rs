use super::*;

fn tally(hits: u64, trials: u64) -> Tally {
    Tally::new(hits, trials).unwrap()
}

fn confidence(value: f64) -> Confidence {
    Confidence::new(value).unwrap()
}

#[test]
fn published_intervals_are_reproduced() {
    for (hits, lower, upper) in [
        (0, 0.0, 0.308_50),
        (1, 0.002_53, 0.445_02),
        (5, 0.187_09, 0.812_91),
        (10, 0.691_50, 1.0),
    ] {
        let interval = clopper_pearson(tally(hits, 10), confidence(0.95));
        assert!((interval.lower.get() - lower).abs() < 6e-6, "{interval:?}");
        assert!((interval.upper.get() - upper).abs() < 6e-6, "{interval:?}");
    }
}

#[test]
fn no_leak_in_n_trials_bounds_the_rate_by_the_rule_of_three() {
    for trials in [100, 10_000, 1_000_000_000_000] {
        let bound = upper_bound(Tally::clean(trials), confidence(0.95)).get();
        let three = bound * trials as f64;
        assert!((2.95..3.0).contains(&three), "{trials}: {three}");
    }
}

#[test]
fn no_leak_bounds_the_rate_by_the_root_of_the_error() {
    for trials in [1, 2, 10, 100] {
        let bound = upper_bound(Tally::clean(trials), confidence(0.9)).get();
        let root = 1.0 - 0.1_f64.powf(1.0 / trials as f64);
        assert!((bound - root).abs() < 1e-15, "{trials}: {bound} {root}");
    }
}

#[test]
fn no_trial_proves_nothing() {
    let nothing = Interval {
        lower: Probability::ZERO,
        upper: Probability::ONE,
    };
    assert_eq!(clopper_pearson(Tally::default(), confidence(0.95)), nothing);
    assert_eq!(
        upper_bound(Tally::default(), confidence(0.95)),
        Probability::ONE
    );
    assert_eq!(
        lower_bound(Tally::default(), confidence(0.95)),
        Probability::ZERO
    );
}

#[test]
fn the_interval_of_misses_mirrors_that_of_hits() {
    for (hits, trials) in [(0, 7), (3, 7), (7, 7), (20, 1_000), (500, 1_000)] {
        let hit = clopper_pearson(tally(hits, trials), confidence(0.99));
        let missed = clopper_pearson(tally(trials - hits, trials), confidence(0.99));
        assert!((hit.lower.get() + missed.upper.get() - 1.0).abs() < 1e-13);
        assert!((hit.upper.get() + missed.lower.get() - 1.0).abs() < 1e-13);
    }
}

#[test]
fn counts_no_prober_reaches_still_give_an_interval_around_the_share() {
    for (hits, trials) in [
        (u64::MAX / 2, u64::MAX),
        (1, u64::MAX),
        (1_000_000, u64::MAX),
    ] {
        let interval = clopper_pearson(tally(hits, trials), confidence(0.95));
        let share = hits as f64 / trials as f64;
        assert!(
            interval.lower.get() < share && share < interval.upper.get(),
            "{interval:?}"
        );
    }
}

/// Rates around which the coverage of so many trials is low and high.
const RATES: [f64; 12] = [
    0.000_1, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.17, 0.25, 0.3, 0.5, 0.7,
];
const TRIALS: [u64; 4] = [1, 10, 100, 500];

/// The chances of all counts of hits, from none to all.
fn chances(trials: u64, rate: f64) -> Vec<f64> {
    let odds = rate / (1.0 - rate);
    let none = (1.0 - rate).powi(i32::try_from(trials).unwrap());
    (0..trials)
        .scan(none, |chance, hits| {
            *chance *= (trials - hits) as f64 / (hits + 1) as f64 * odds;
            Some(*chance)
        })
        .fold(vec![none], |mut all, chance| {
            all.push(chance);
            all
        })
}

/// The exact chance to cover the true rate, lowest over all rates and numbers of trials: of the interval,
/// the upper and the lower bound.
fn lowest_coverage(confidence: Confidence) -> [f64; 3] {
    let mut lowest = [1.0_f64; 3];
    for trials in TRIALS {
        let bounds: Vec<_> = (0..=trials)
            .map(|hits| tally(hits, trials))
            .map(|tally| {
                (
                    clopper_pearson(tally, confidence),
                    upper_bound(tally, confidence),
                    lower_bound(tally, confidence),
                )
            })
            .collect();
        for rate in RATES {
            let truth = Probability::new(rate).unwrap();
            let mut covered = [0.0; 3];
            for (chance, (interval, upper, lower)) in chances(trials, rate).iter().zip(&bounds) {
                covered[0] += chance * f64::from(u8::from(interval.contains(truth)));
                covered[1] += chance * f64::from(u8::from(*upper >= truth));
                covered[2] += chance * f64::from(u8::from(*lower <= truth));
            }
            for (lowest, covered) in lowest.iter_mut().zip(covered) {
                *lowest = lowest.min(covered);
            }
        }
    }
    lowest
}

#[test]
fn the_true_rate_is_covered_at_least_as_often_as_promised() {
    for promised in [0.8, 0.95, 0.99] {
        for covered in lowest_coverage(confidence(promised)) {
            assert!(covered >= promised - 1e-12, "{promised}: {covered}");
        }
    }
}

#[test]
fn that_check_notices_an_error_half_as_large_again() {
    for promised in [0.8, 0.95, 0.99] {
        let wrong = confidence(1.0 - 1.5 * (1.0 - promised));
        for covered in lowest_coverage(wrong) {
            assert!(covered < promised, "{promised}: {covered}");
        }
    }
}
