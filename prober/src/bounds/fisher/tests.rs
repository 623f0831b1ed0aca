use super::*;
use proptest::prelude::*;

/// How far off a p-value may be, as a part of it.
const TOLERANCE: f64 = 1e-11;

fn tally(hits: u64, trials: u64) -> Tally {
    Tally::new(hits, trials).unwrap()
}

fn p_of(here: Tally, there: Tally) -> f64 {
    more_often(here, there).get()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERANCE * other
}

/// Trials of any magnitude up to a million, and any hits.
fn tallies() -> impl Strategy<Value = Tally> {
    (0.0_f64..13.8, 0.0_f64..=1.0, any::<bool>()).prop_map(|(ln_trials, share, is_rare)| {
        let trials = ln_trials.exp();
        let hits = if is_rare {
            trials.powf(share)
        } else {
            trials * share
        };
        tally((hits as u64).min(trials as u64), trials as u64)
    })
}

/// Ways to pick so many of so many.
fn ways(of: u64, picked: u64) -> f64 {
    (0..picked)
        .fold(1.0, |ways, k| ways * (of - k) as f64 / (k + 1) as f64)
        .round()
}

/// All outcomes of so many trials here and there.
fn outcomes(here: u64, there: u64) -> impl Iterator<Item = (Tally, Tally)> {
    (0..=here).flat_map(move |k| (0..=there).map(move |l| (tally(k, here), tally(l, there))))
}

/// Of all outcomes at one rate in both places: the chance of a p-value no larger than the level.
fn chance_at(level: f64, rate: f64, tables: &[(Tally, Tally, f64)]) -> f64 {
    let chance = |tally: Tally| {
        let power = |base: f64, count: u64| base.powi(i32::try_from(count).unwrap());
        let one = power(rate, tally.hits()) * power(1.0 - rate, tally.misses());
        ways(tally.trials(), tally.hits()) * one
    };
    let low = tables
        .iter()
        .filter(|table| table.2 <= level * (1.0 + TOLERANCE));
    low.map(|&(here, there, _)| chance(here) * chance(there))
        .sum()
}

/// A level that is exceeded at some rate, and the chance that exceeds it.
fn exceeded_level(tables: &[(Tally, Tally, f64)]) -> Option<(f64, f64)> {
    let rates = [0.01, 0.1, 0.3, 0.5, 0.8, 0.95];
    let levels = tables.iter().map(|table| table.2);
    levels
        .flat_map(|level| rates.map(|rate| (level, chance_at(level, rate, tables))))
        .find(|(level, chance)| *chance > level * (1.0 + TOLERANCE))
}

#[test]
fn an_independent_implementation_agrees_to_eleven_digits() {
    let table = include_str!("../../../tests/data/bounds/fisher.csv");
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert!(rows.len() >= 35, "{}", rows.len());
    for row in rows {
        let (counts, expected) = row.rsplit_once(',').unwrap();
        let counts: Vec<u64> = counts
            .split(',')
            .map(|count| count.parse().unwrap())
            .collect();
        let p = p_of(tally(counts[0], counts[1]), tally(counts[2], counts[3]));
        let expected = expected.parse::<f64>().unwrap().max(f64::MIN_POSITIVE);
        assert!(near(p, expected), "{row}: {p}");
    }
}

#[test]
fn nothing_is_told_without_trials_hits_or_misses() {
    for (here, there) in [
        (Tally::default(), Tally::default()),
        (Tally::default(), tally(1, 9)),
        (tally(9, 9), Tally::default()),
        (tally(0, 9), tally(0, 5)),
        (tally(9, 9), tally(5, 5)),
    ] {
        assert_eq!(
            more_often(here, there),
            Probability::ONE,
            "{here:?} {there:?}"
        );
    }
}

#[test]
fn the_p_value_is_the_share_of_ways_to_place_all_hits() {
    for (n, m) in [(1, 1), (1, 12), (12, 1), (5, 7), (9, 9), (10, 4)] {
        for (here, there) in outcomes(n, m) {
            let hits = here.hits() + there.hits();
            let so_many = (here.hits()..=n.min(hits)).filter(|k| hits - k <= m);
            let expected =
                so_many.map(|k| ways(n, k) * ways(m, hits - k)).sum::<f64>() / ways(n + m, hits);
            let p = p_of(here, there);
            assert!(
                near(p, expected),
                "{here:?} {there:?}: {p} instead of {expected}"
            );
        }
    }
}

#[test]
fn no_level_is_exceeded_at_any_common_rate() {
    for (n, m) in [(1, 1), (2, 9), (9, 2), (7, 7), (12, 5)] {
        let tables: Vec<_> = outcomes(n, m).map(|(a, b)| (a, b, p_of(a, b))).collect();
        assert_eq!(exceeded_level(&tables), None, "{n} {m}");
    }
}

#[test]
fn that_check_notices_leaving_out_half_of_the_observed_table() {
    // The "mid-p" value, which is popular and exceeds its level.
    let mid = |a: Tally, b: Tally| {
        let next = (a.misses() > 0 && b.hits() > 0).then(|| {
            p_of(
                tally(a.hits() + 1, a.trials()),
                tally(b.hits() - 1, b.trials()),
            )
        });
        0.5 * (p_of(a, b) + next.unwrap_or(0.0))
    };
    let tables: Vec<_> = outcomes(7, 7).map(|(a, b)| (a, b, mid(a, b))).collect();
    assert!(exceeded_level(&tables).is_some());
}

#[test]
fn what_is_too_small_for_a_number_is_not_zero() {
    let p = p_of(tally(1_000_000, 1_000_000), tally(0, 1_000_000));
    assert_eq!(p, f64::MIN_POSITIVE);
}

#[test]
fn counts_no_prober_reaches_prove_nothing_and_take_no_time() {
    let (most, more) = (tally(1, MOST_TRIALS), tally(1, MOST_TRIALS + 1));
    assert!(near(p_of(most, tally(0, MOST_TRIALS)), 0.5));
    for (here, there) in [
        (more, most),
        (most, more),
        (tally(u64::MAX, u64::MAX), Tally::clean(u64::MAX)),
    ] {
        assert_eq!(more_often(here, there), Probability::ONE);
    }
}

proptest! {
    #[test]
    fn more_hits_here_is_fewer_misses_here_and_fewer_hits_there(here in tallies(), there in tallies()) {
        let missed = |hit: Tally| tally(hit.misses(), hit.trials());
        let p = p_of(here, there);
        prop_assert!(near(p, p_of(missed(there), missed(here))));
    }

    #[test]
    fn both_ways_together_count_the_observed_table_twice(here in tallies(), there in tallies()) {
        prop_assert!(p_of(here, there) + p_of(there, here) > 1.0 - TOLERANCE);
    }

    #[test]
    fn one_hit_more_here_lowers_the_p_value_and_one_more_there_raises_it(
        here in tallies(), there in tallies(),
    ) {
        let p = p_of(here, there);
        if here.misses() > 0 {
            prop_assert!(p_of(tally(here.hits() + 1, here.trials()), there) <= p * (1.0 + TOLERANCE));
        }
        if there.misses() > 0 {
            prop_assert!(p_of(here, tally(there.hits() + 1, there.trials())) >= p * (1.0 - TOLERANCE));
        }
    }

    #[test]
    fn p_values_are_probabilities_above_zero(here in tallies(), there in tallies()) {
        let p = p_of(here, there);
        prop_assert!(p > 0.0 && p <= 1.0, "{p}");
    }
}
