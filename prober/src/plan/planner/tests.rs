#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::{Database, Log, LogFormat, Store};
use crate::scenario::{Load, Recipe};
use crate::store::Retention;
use canary_gen::Form;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

fn scenario(name: &str, endpoints: &[&str], every: u64, jitter: u64) -> Scenario {
    Scenario {
        name: name.to_owned(),
        endpoints: endpoints.iter().map(ToString::to_string).collect(),
        every: Duration::from_secs(every),
        jitter: Duration::from_secs(jitter),
        form: Form::Code,
        min_sensitivity: 0.5,
        max_answer_tokens: 96,
        recipe: Recipe::Crosstalk(Load {
            tokens: 1_500,
            requests: 1,
            waves: 4,
            stride_tokens: 400,
        }),
    }
}

fn config(scenarios: Vec<Scenario>) -> Config {
    Config {
        data_dir: "data".into(),
        key_ring_file: "data/canary.keys".into(),
        store: Store {
            database: Database::Embedded,
            max_connections: 8,
        },
        retention: Retention {
            probes: time::Duration::days(90),
            hours: time::Duration::days(400),
        },
        log: Log {
            format: LogFormat::Human,
            level: tracing::Level::INFO,
        },
        endpoints: Vec::new(),
        scenarios,
    }
}

fn seconds(number: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(number).unwrap()
}

const START: i64 = 1_800_000_000;

fn one_line(every: u64) -> Planner {
    let config = config(vec![scenario("crosstalk", &["a"], every, 0)]);
    Planner::new(&config, "test", seconds(START))
}

/// The order of the first tick, and when it was due.
fn first_order(planner: &mut Planner) -> (Order, OffsetDateTime) {
    let at = planner.next_tick().unwrap();
    let mut due = planner.due(at);
    assert_eq!((due.orders.len(), due.skipped.len()), (1, 0));
    (due.orders.remove(0), at)
}

#[test]
fn nothing_is_due_at_the_start_nor_twice_at_one_tick() {
    let mut planner = one_line(60);
    assert_eq!(planner.due(seconds(START)), Due::default());
    let (order, at) = first_order(&mut planner);
    assert_eq!(order.tick.at, at);
    assert!(at > seconds(START) && at <= seconds(START + 60));
    assert_eq!(planner.due(at), Due::default());
}

#[test]
fn a_round_that_still_runs_makes_its_ticks_be_skipped_one_report_a_tick() {
    let mut planner = one_line(60);
    let (order, at) = first_order(&mut planner);
    for minute in 1..=3 {
        let due = planner.due(at + time::Duration::minutes(minute));
        assert!(due.orders.is_empty());
        assert_eq!(due.skipped.len(), 1);
        let skipped = &due.skipped[0];
        assert_eq!(skipped.reason, SkipReason::StillRunning);
        assert_eq!(skipped.first.number, order.tick.number + minute);
        assert_eq!(skipped.count(), 1);
    }
    assert_eq!(planner.running(), 1);
}

#[test]
fn ticks_that_pass_unasked_while_a_round_runs_are_skipped_when_it_ends() {
    let mut planner = one_line(60);
    let (order, at) = first_order(&mut planner);
    let end = at + time::Duration::seconds(150);
    let skipped = planner.finished(&order, end).unwrap();
    assert_eq!(skipped.reason, SkipReason::StillRunning);
    assert_eq!(
        (skipped.first.number, skipped.last.number),
        (order.tick.number + 1, order.tick.number + 2)
    );
    assert_eq!(planner.due(end), Due::default());
    let due = planner.due(at + time::Duration::seconds(180));
    assert_eq!(due.orders[0].tick.number, order.tick.number + 3);
}

#[test]
fn a_round_that_ends_in_time_skips_nothing() {
    let mut planner = one_line(60);
    let (order, at) = first_order(&mut planner);
    assert_eq!(
        planner.finished(&order, at + time::Duration::seconds(59)),
        None
    );
    assert_eq!(planner.running(), 0);
    assert_eq!(
        planner.due(at + time::Duration::seconds(60)).orders.len(),
        1
    );
}

#[test]
fn of_many_missed_ticks_the_latest_is_run_and_the_rest_are_one_late_skip() {
    let mut planner = one_line(60);
    let at = planner.next_tick().unwrap();
    let due = planner.due(at + time::Duration::hours(1));
    assert_eq!((due.orders.len(), due.skipped.len()), (1, 1));
    let skipped = &due.skipped[0];
    assert_eq!((skipped.reason, skipped.count()), (SkipReason::Late, 60));
    assert_eq!(skipped.first.at, at);
    assert_eq!(skipped.last.number + 1, due.orders[0].tick.number);
}

#[test]
fn a_clock_that_goes_back_brings_no_tick_again() {
    let mut planner = one_line(60);
    let (order, at) = first_order(&mut planner);
    planner.finished(&order, at);
    assert_eq!(planner.due(seconds(START - 86_400)), Due::default());
    assert_eq!(planner.due(at), Due::default());
}

#[test]
fn an_order_that_is_not_running_cannot_finish() {
    let mut planner = one_line(60);
    let (order, at) = first_order(&mut planner);
    let stranger = Order {
        endpoint: "b".to_owned(),
        ..order.clone()
    };
    assert_eq!(
        planner.finished(&stranger, at + time::Duration::hours(1)),
        None
    );
    assert_eq!(planner.running(), 1);
    planner.finished(&order, at);
    assert_eq!(
        planner.finished(&order, at + time::Duration::hours(1)),
        None
    );
    assert_eq!(planner.due(at + time::Duration::minutes(1)).orders.len(), 1);
}

#[test]
fn every_scenario_runs_at_each_of_its_endpoints_on_a_grid_and_seed_of_its_own() {
    let config = config(vec![
        scenario("crosstalk", &["a", "b"], 900, 0),
        scenario("overflow", &["a"], 900, 0),
    ]);
    let mut planner = Planner::new(&config, "test", seconds(START));
    let due = planner.due(seconds(START + 900));
    let lines: BTreeSet<(&str, &str, usize)> = due
        .orders
        .iter()
        .map(|order| {
            (
                order.endpoint.as_str(),
                order.scenario.as_str(),
                order.scenario_index,
            )
        })
        .collect();
    let expected = [
        ("a", "crosstalk", 0),
        ("a", "overflow", 1),
        ("b", "crosstalk", 0),
    ];
    assert_eq!(lines, BTreeSet::from(expected));
    assert!(
        due.orders
            .is_sorted_by(|one, next| one.tick.at < next.tick.at)
    );
    assert_ne!(due.orders[0].seed, due.orders[1].seed);
    assert_ne!(due.orders[1].seed, due.orders[2].seed);
}

#[test]
fn other_installations_have_other_seeds_and_ticks() {
    let config = config(vec![scenario("crosstalk", &["a"], 86_400, 0)]);
    let first = |label: &str| {
        let mut planner = Planner::new(&config, label, seconds(START));
        first_order(&mut planner).0
    };
    assert_eq!(first("one"), first("one"));
    assert_ne!(first("one").seed, first("two").seed);
    assert_ne!(first("one").tick.at, first("two").tick.at);
}

#[test]
fn what_is_upcoming_is_what_will_be_ordered_and_looking_decides_nothing() {
    let config = config(vec![
        scenario("crosstalk", &["a", "b"], 900, 90),
        scenario("overflow", &["a"], 3_600, 0),
    ]);
    let mut planner = Planner::new(&config, "test", seconds(START));
    let until = seconds(START + 7_200);
    let upcoming = planner.upcoming("a", until);
    assert_eq!(upcoming, planner.upcoming("a", until));
    assert_eq!(upcoming.len(), 8 + 2);
    let mut ordered = Vec::new();
    while let Some(at) = planner.next_tick().filter(|&at| at < until) {
        for order in planner.due(at).orders {
            planner.finished(&order, at);
            ordered.push(order);
        }
    }
    ordered.retain(|order| order.endpoint == "a");
    assert_eq!(upcoming, ordered);
}

#[test]
fn a_planner_of_nothing_has_no_next_tick() {
    let mut planner = Planner::new(&config(Vec::new()), "test", seconds(START));
    assert_eq!(planner.next_tick(), None);
    assert_eq!(planner.due(seconds(START + 1)), Due::default());
}

proptest! {
    /// Whatever the rhythm of asking and finishing: every cell is decided exactly once, in order.
    #[test]
    fn each_cell_is_ordered_or_skipped_exactly_once(
        every in 10u64..1_000,
        jitter_share in 0u64..=50,
        steps in prop::collection::vec((1i64..3_000, any::<bool>()), 1..60),
    ) {
        let config = config(vec![scenario("crosstalk", &["a"], every, every * jitter_share / 100)]);
        let mut now = seconds(START);
        let mut planner = Planner::new(&config, "test", now);
        let mut running = None;
        let mut decided = Vec::new();
        for (step, finishes) in steps {
            now += time::Duration::seconds(step);
            let mut skips = Vec::new();
            if finishes && let Some(order) = running.take() {
                skips.extend(planner.finished(&order, now));
            }
            let due = planner.due(now);
            skips.extend(due.skipped);
            for skipped in skips {
                prop_assert!(skipped.last.at <= now);
                decided.extend(skipped.first.number..=skipped.last.number);
            }
            for order in due.orders {
                prop_assert!(running.is_none(), "two rounds at once");
                prop_assert!(order.tick.at <= now);
                decided.push(order.tick.number);
                running = Some(order);
            }
        }
        prop_assert!(decided.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{:?}", decided);
        prop_assert!(planner.next_tick().unwrap() > now);
    }

    #[test]
    fn a_restarted_planner_goes_on_with_the_same_orders(pause in 0i64..5_000) {
        let config = config(vec![scenario("crosstalk", &["a"], 600, 60)]);
        let now = seconds(START + pause);
        let next = |started: i64| {
            let mut planner = Planner::new(&config, "test", seconds(started));
            if let Some(order) = planner.due(now).orders.pop() {
                planner.finished(&order, now);
            }
            first_order(&mut planner).0
        };
        prop_assert_eq!(next(START), next(START + pause));
    }
}
