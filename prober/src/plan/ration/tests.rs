#![allow(clippy::unwrap_used)]

use super::*;
use crate::budget::Prices;
use proptest::prelude::*;

fn at(minute: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_800_000_000 - 1_800_000_000 % 86_400 + minute * 60)
        .unwrap()
}

fn claim(minute: i64, scenario: &str, tokens: u64) -> Claim {
    Claim {
        at: at(minute),
        scenario: scenario.to_owned(),
        is_overlong: scenario.starts_with("overflow"),
        cost: Prices::default().cost(tokens, 0),
    }
}

fn budget(tokens: u64) -> Budget {
    Budget {
        tokens_per_day: Some(tokens),
        ..Budget::default()
    }
}

fn fates(budget: &Budget, claims: &[Claim], fresh: &[&str]) -> Vec<Option<SkipReason>> {
    let fresh = fresh.iter().map(ToString::to_string).collect();
    forecast(budget, Cost::default(), at(0), claims, &fresh)
}

#[test]
fn a_round_gets_what_later_rounds_of_a_higher_rank_leave() {
    let day = [
        claim(10, "crosstalk", 30),
        claim(20, "overflow", 60),
        claim(30, "crosstalk", 30),
    ];
    let kept = Some(SkipReason::KeptForOthers);
    let over = Some(SkipReason::OverBudget);
    assert_eq!(fates(&budget(120), &day, &[]), [None, None, None]);
    assert_eq!(fates(&budget(100), &day, &[]), [None, None, over]);
    assert_eq!(fates(&budget(80), &day, &[]), [kept, None, over]);
    assert_eq!(fates(&Budget::default(), &day, &[]), [None, None, None]);
}

#[test]
fn nothing_is_kept_for_a_round_that_could_not_be_paid_anyhow() {
    let day = [claim(10, "crosstalk", 30), claim(20, "overflow", 600)];
    let over = Some(SkipReason::OverBudget);
    assert_eq!(fates(&budget(100), &day, &[]), [None, over]);
}

#[test]
fn each_day_has_its_own_budget() {
    let days = [claim(10, "crosstalk", 70), claim(1_450, "crosstalk", 70)];
    assert_eq!(fates(&budget(100), &days, &[]), [None, None]);
}

#[test]
fn after_a_change_the_first_round_of_each_scenario_goes_first() {
    let day = [
        claim(10, "twin", 40),
        claim(20, "burst", 40),
        claim(30, "burst", 40),
    ];
    let kept = Some(SkipReason::KeptForOthers);
    assert_eq!(fates(&budget(80), &day, &["burst"])[..2], [None, None]);
    assert_eq!(fates(&budget(60), &day, &["burst"])[..2], [kept, None]);
    let waiting = [
        claim(1, "burst", 1),
        claim(2, "twin", 1),
        claim(3, "overflow", 1),
    ];
    let next = |waiting: &[Claim], fresh: &[&str]| {
        let fresh = fresh.iter().map(ToString::to_string).collect();
        choose(&budget(9), Cost::default(), waiting, &[], &fresh)
            .unwrap()
            .0
    };
    assert_eq!(next(&waiting, &[]), 2, "over-long");
    assert_eq!(next(&waiting, &["twin"]), 1, "as good, and due longer");
    assert_eq!(next(&waiting, &["twin", "overflow"]), 2, "both");
    let nobody = choose(&budget(9), Cost::default(), &[], &[], &HashSet::new());
    assert_eq!(nobody, None);
}

#[test]
fn without_a_limit_the_round_that_is_due_longest_is_next() {
    let waiting = [claim(2, "overflow", 1), claim(1, "twin", 1)];
    let next = choose(
        &Budget::default(),
        Cost::default(),
        &waiting,
        &[],
        &HashSet::new(),
    );
    assert_eq!(next, Some((1, Ok(()))));
}

fn days() -> impl Strategy<Value = Vec<Claim>> {
    let names = prop::sample::select(vec!["overflow", "overflow-long", "twin", "burst"]);
    prop::collection::vec((0i64..1_440, names, 1u64..50), 0..40).prop_map(|rounds| {
        let mut claims: Vec<Claim> = rounds
            .into_iter()
            .map(|(minute, scenario, tokens)| claim(minute, scenario, tokens))
            .collect();
        claims.sort_by_key(|claim| claim.at);
        claims
    })
}

proptest! {
    #[test]
    fn no_day_costs_more_than_its_budget(day in days(), limit in 1u64..600) {
        let fates = fates(&budget(limit), &day, &["twin", "overflow"]);
        let run = day.iter().zip(&fates).filter(|(_, fate)| fate.is_none());
        prop_assert!(run.map(|(claim, _)| claim.cost.tokens()).sum::<u64>() <= limit);
    }

    /// Rounds of a lower rank take nothing from those of a higher one: these run or not as if they were alone.
    #[test]
    fn no_overlong_round_is_missed_because_of_another(day in days(), limit in 1u64..600) {
        let budget = budget(limit);
        let alone: Vec<Claim> = day.iter().filter(|claim| claim.is_overlong).cloned().collect();
        let together: Vec<_> = day
            .iter()
            .zip(fates(&budget, &day, &[]))
            .filter(|(claim, _)| claim.is_overlong)
            .map(|(_, fate)| fate.is_none())
            .collect();
        let apart: Vec<_> = fates(&budget, &alone, &[]).iter().map(Option::is_none).collect();
        prop_assert_eq!(together, apart);
    }
}
