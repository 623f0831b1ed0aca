use super::*;
use proptest::prelude::*;

/// How far off a p-value may be, as a part of it.
const TOLERANCE: f64 = 1e-12;

fn p_of(sample: &[u64], than: &[u64]) -> f64 {
    faster(sample, than).unwrap().get()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERANCE * other
}

fn values(list: &str) -> Vec<u64> {
    list.split(' ')
        .map(|value| value.parse().unwrap())
        .collect()
}

/// Few different values, so that many are equal.
fn tied(most: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..6_u64, 1..=most)
}

/// All ways to pick a sample of that size out of the values: what is picked, and what is left.
fn arrangements(all: &[u64], size: usize) -> Vec<(Vec<u64>, Vec<u64>)> {
    let picked = |mask: u32, wanted: bool| {
        let is_wanted = |place: &usize| (mask >> place & 1 == 1) == wanted;
        (0..all.len())
            .filter(is_wanted)
            .map(|place| all[place])
            .collect()
    };
    (0_u32..1 << all.len())
        .filter(|mask| mask.count_ones() as usize == size)
        .map(|mask| (picked(mask, true), picked(mask, false)))
        .collect()
}

/// Of all ways to pick the sample, the share with a p-value no larger than the level.
fn share_at(level: f64, p_values: &[f64]) -> f64 {
    let so_low = p_values
        .iter()
        .filter(|&&p| p <= level * (1.0 + TOLERANCE))
        .count();
    so_low as f64 / p_values.len() as f64
}

/// The p-value of every way to pick the sample.
fn p_values(all: &[u64], size: usize) -> Vec<f64> {
    arrangements(all, size)
        .iter()
        .map(|(sample, than)| p_of(sample, than))
        .collect()
}

#[test]
fn an_independent_implementation_agrees_to_twelve_digits() {
    let table = include_str!("../../../tests/data/bounds/rank.csv");
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert!(rows.len() >= 30, "{}", rows.len());
    for row in rows {
        let [sample, than, expected] = row.split(',').collect::<Vec<_>>().try_into().unwrap();
        let p = p_of(&values(sample), &values(than));
        assert!(near(p, expected.parse().unwrap()), "{row}: {p}");
    }
}

#[test]
fn nothing_is_told_of_nothing_or_of_too_much() {
    let most = [1; MOST_RANKED];
    let too_many = [1; MOST_RANKED + 1];
    assert_eq!(faster(&[], &[1]), None);
    assert_eq!(faster(&[1], &[]), None);
    assert_eq!(faster(&[1], &too_many), None);
    assert_eq!(faster(&too_many, &[1]), None);
    assert!(near(p_of(&most, &most), 1.0));
}

#[test]
fn the_lowest_p_value_is_that_of_one_arrangement_of_all() {
    let ways =
        |size: u64, of: u64| (0..size).fold(1.0, |ways, k| ways * (of - k) as f64 / (k + 1) as f64);
    for (size, other) in [(1, 1), (1, 128), (128, 1), (5, 7), (64, 64), (128, 128)] {
        let low: Vec<u64> = (0..size).collect();
        let high: Vec<u64> = (0..other).map(|value| u64::MAX - value).collect();
        assert!(near(p_of(&low, &high), ways(size, size + other).recip()));
        assert!(near(p_of(&high, &low), 1.0));
    }
}

#[test]
fn that_level_check_notices_a_p_value_a_tenth_too_small() {
    let wrong: Vec<f64> = p_values(&[1, 2, 2, 3, 4, 5], 3)
        .iter()
        .map(|p| 0.9 * p)
        .collect();
    assert!(
        wrong
            .iter()
            .any(|&level| share_at(level, &wrong) > level * (1.0 + TOLERANCE))
    );
}

proptest! {
    #[test]
    fn under_the_null_no_level_is_exceeded_and_every_p_value_is_its_own_level(
        sample in tied(5), than in tied(5),
    ) {
        let p_values = p_values(&[sample.clone(), than].concat(), sample.len());
        for &level in &p_values {
            let share = share_at(level, &p_values);
            prop_assert!(near(share, level), "{share} instead of {level}");
        }
    }

    #[test]
    fn the_p_value_is_the_share_of_arrangements_with_ranks_as_low(sample in tied(5), than in tied(6)) {
        // By pairs, not by ranks: which is lower in how many, half of one where they are equal.
        let lower = |(sample, than): &(Vec<u64>, Vec<u64>)| {
            let pairs = sample.iter().flat_map(|one| than.iter().map(move |other| one.cmp(other)));
            pairs.map(|order| 1 - order as i64).sum::<i64>()
        };
        let all = arrangements(&[&sample[..], &than].concat(), sample.len());
        let p = p_of(&sample, &than);
        let observed = lower(&(sample, than));
        let as_low = all.iter().filter(|arrangement| lower(arrangement) >= observed).count();
        prop_assert!(near(p, as_low as f64 / all.len() as f64), "{p}");
    }

    #[test]
    fn only_the_order_of_values_matters(
        sample in tied(20), than in tied(20), gaps in prop::array::uniform6(1..1_000_000_u64),
    ) {
        let stretched = |values: &[u64]| -> Vec<u64> {
            values.iter().map(|&value| gaps.iter().take(value as usize + 1).sum()).collect()
        };
        prop_assert_eq!(faster(&sample, &than), faster(&stretched(&sample), &stretched(&than)));
    }

    #[test]
    fn the_order_in_which_values_are_given_does_not_matter(sample in tied(20), than in tied(20)) {
        let backward = |values: &[u64]| values.iter().rev().copied().collect::<Vec<_>>();
        prop_assert_eq!(faster(&sample, &than), faster(&backward(&sample), &backward(&than)));
    }

    #[test]
    fn being_lower_is_the_others_being_higher(sample in tied(20), than in tied(20)) {
        let mirrored = |values: &[u64]| values.iter().map(|value| !value).collect::<Vec<_>>();
        let (p, other) = (p_of(&sample, &than), p_of(&mirrored(&than), &mirrored(&sample)));
        prop_assert!(near(p, other), "{p} {other}");
    }

    #[test]
    fn both_ways_together_count_the_observed_ranks_twice(sample in tied(20), than in tied(20)) {
        let both = p_of(&sample, &than) + p_of(&than, &sample);
        prop_assert!(both > 1.0, "{both}");
    }

    #[test]
    fn one_step_lower_among_distinct_values_makes_the_p_value_smaller(
        order in Just((0..24_u64).collect::<Vec<_>>()).prop_shuffle(), size in 1..24_usize,
    ) {
        let (sample, than) = order.split_at(size);
        let before = |value: &u64| value.checked_sub(1);
        let value = sample.iter().find(|&value| before(value).is_some_and(|lower| than.contains(&lower)));
        prop_assume!(value.is_some());
        let value = *value.unwrap();
        // Exchanged with its neighbour below, which is one of the others.
        let exchanged = |values: &[u64]| -> Vec<u64> {
            let exchange = |&other: &u64| match value - other.min(value) {
                0 if other == value => value - 1,
                1 => value,
                _ => other,
            };
            values.iter().map(exchange).collect()
        };
        prop_assert!(p_of(&exchanged(sample), &exchanged(than)) < p_of(sample, than));
    }
}
