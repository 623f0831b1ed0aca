use super::super::{clopper_pearson, upper_bound};
use super::*;

/// Trials of a history, and histories of a simulation.
const TRIALS: u64 = 1_000;
const HISTORIES: u32 = 10_000;
/// Rates at which something can go wrong within a history, and some at which nothing can.
const RATES: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9];

fn tally(hits: u64, trials: u64) -> Tally {
    Tally::new(hits, trials).unwrap()
}

fn confidence(value: f64) -> Confidence {
    Confidence::new(value).unwrap()
}

#[test]
fn no_trial_proves_nothing() {
    let interval = anytime(Tally::default(), confidence(0.95));
    assert_eq!(interval.lower, Probability::ZERO);
    assert_eq!(interval.upper, Probability::ONE);
    assert_eq!(
        anytime_upper(Tally::default(), confidence(0.95)),
        Probability::ONE
    );
}

#[test]
fn no_leak_at_any_time_bounds_the_rate_by_three_and_a_half_over_n() {
    for trials in [100, 1_000, 10_000, 100_000, 1_000_000, 1_000_000_000_000] {
        let bound = anytime_upper(Tally::clean(trials), confidence(0.95)).get();
        let scaled = bound * trials as f64;
        assert!((3.34..3.41).contains(&scaled), "{trials}: {scaled}");
    }
}

#[test]
fn looking_at_any_time_costs_an_eighth_of_the_bound_without_leaks() {
    let clean = Tally::clean(100_000);
    let looking = anytime_upper(clean, confidence(0.95)).get();
    let fixed = upper_bound(clean, confidence(0.95)).get();
    assert!(
        (1.12..1.14).contains(&(looking / fixed)),
        "{}",
        looking / fixed
    );
}

#[test]
fn counts_no_prober_reaches_still_give_an_interval_around_the_share() {
    for (hits, trials) in [
        (u64::MAX / 2, u64::MAX),
        (1, u64::MAX),
        (u64::MAX - 1, u64::MAX),
    ] {
        let interval = anytime(tally(hits, trials), confidence(0.95));
        let share = hits as f64 / trials as f64;
        assert!(
            interval.lower.get() <= share && share <= interval.upper.get(),
            "{interval:?}"
        );
        assert!(anytime_upper(tally(hits, trials), confidence(0.95)).get() >= share);
    }
}

/// For each number of trials, the least and the most hits at which a rate is not ruled out.
struct Corridor {
    least: Vec<u64>,
    most: Vec<u64>,
}

impl Corridor {
    /// Both limits only grow with the trials, as bounds fall with misses: so one sweep finds them.
    fn new(rate: f64, bounds: impl Fn(Tally) -> (Probability, Probability)) -> Self {
        let truth = Probability::new(rate).unwrap();
        let (mut low, mut high) = (0, 0);
        let mut corridor = Self {
            least: vec![0],
            most: vec![0],
        };
        for trials in 1..=TRIALS {
            while low <= trials && bounds(tally(low, trials)).1 < truth {
                low += 1;
            }
            high = high.max(low.min(trials));
            while high < trials && bounds(tally(high + 1, trials)).0 <= truth {
                high += 1;
            }
            corridor.least.push(low);
            corridor.most.push(high);
        }
        corridor
    }

    fn holds(&self, hits: u64, trials: usize) -> bool {
        (self.least[trials]..=self.most[trials]).contains(&hits)
    }

    /// The exact chance that a history ever leaves the corridor: the distribution of the hits of those
    /// that never did, trial by trial.
    fn chance_to_leave(&self, rate: f64) -> f64 {
        let mut inside = vec![1.0];
        for trials in 1..self.least.len() {
            let mut next = vec![0.0; trials + 1];
            for (hits, chance) in inside.iter().enumerate() {
                next[hits] += chance * (1.0 - rate);
                next[hits + 1] += chance * rate;
            }
            for (hits, chance) in next.iter_mut().enumerate() {
                if !self.holds(hits as u64, trials) {
                    *chance = 0.0;
                }
            }
            inside = next;
        }
        1.0 - inside.iter().sum::<f64>()
    }

    /// The share of simulated histories that ever leave it, looked at after every trial.
    fn simulated_to_leave(&self, rate: f64, seed: u64) -> f64 {
        let threshold = (rate * 2.0_f64.powi(64)) as u64;
        let mut random = SplitMix(seed);
        let mut left = 0;
        for _ in 0..HISTORIES {
            let mut hits = 0;
            let mut inside = true;
            for trials in 1..self.least.len() {
                hits += u64::from(random.next() < threshold);
                inside &= self.holds(hits, trials);
            }
            left += u32::from(!inside);
        }
        f64::from(left) / f64::from(HISTORIES)
    }
}

/// Steele, Lea and Flood's generator: a counter, mixed.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

type Bounds = fn(Tally, Confidence) -> (Probability, Probability);

const TWO_SIDED: Bounds = |tally, confidence| {
    let interval = anytime(tally, confidence);
    (interval.lower, interval.upper)
};
const ONE_SIDED: Bounds = |tally, confidence| (Probability::ZERO, anytime_upper(tally, confidence));
const FIXED: Bounds = |tally, confidence| {
    let interval = clopper_pearson(tally, confidence);
    (interval.lower, interval.upper)
};

/// The chance, worst over the rates, that a look after some trial rules out the true rate.
fn worst_error(bounds: Bounds, confidence: Confidence) -> f64 {
    RATES
        .iter()
        .map(|&rate| Corridor::new(rate, |tally| bounds(tally, confidence)).chance_to_leave(rate))
        .fold(0.0, f64::max)
}

#[test]
fn a_look_after_every_trial_seldom_enough_rules_out_the_true_rate_in_ten_thousand_histories() {
    let allowed = 0.05;
    for (bounds, seed) in [(TWO_SIDED, 1), (ONE_SIDED, 2)] {
        for rate in RATES {
            let corridor = Corridor::new(rate, |tally| bounds(tally, confidence(1.0 - allowed)));
            let simulated = corridor.simulated_to_leave(rate, seed);
            assert!(simulated <= allowed, "{rate}: {simulated}");
            let exact = corridor.chance_to_leave(rate);
            let deviation = (exact * (1.0 - exact) / f64::from(HISTORIES)).sqrt();
            assert!(
                (simulated - exact).abs() <= 4.0 * deviation + 1e-9,
                "{rate}: {simulated} {exact}"
            );
        }
    }
}

#[test]
fn the_chance_to_ever_rule_out_the_true_rate_is_within_the_allowed_error() {
    for allowed in [0.2, 0.05, 0.001] {
        for bounds in [TWO_SIDED, ONE_SIDED] {
            let error = worst_error(bounds, confidence(1.0 - allowed));
            assert!(error <= allowed, "{allowed}: {error}");
        }
    }
}

#[test]
fn that_check_notices_an_error_half_as_large_again() {
    for bounds in [TWO_SIDED, ONE_SIDED] {
        let error = worst_error(bounds, confidence(0.925));
        assert!(error > 0.05, "{error}");
    }
}

#[test]
fn looking_after_every_trial_breaks_a_bound_for_a_fixed_number_of_trials() {
    let error = worst_error(FIXED, confidence(0.95));
    assert!(error > 0.15, "{error}");
}
