#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::{Alerts, Database, Evidence, Fleet, Log, LogFormat, Serve, Spool, Store};
use crate::drill;
use crate::incident::Rules;
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
        fleet: Fleet {
            labels: Vec::new(),
            lease: Duration::from_secs(300),
            rounds_at_once: 8,
        },
        spool: Spool { max_bytes: 1 << 30 },
        serve: Serve { listen: None },
        evidence: Evidence {
            keys: None,
            max_bytes: 1 << 20,
            retention: Duration::from_secs(30 * 24 * 3_600),
        },
        incidents: Rules {
            reopen_within: time::Duration::ZERO,
            clean_for: time::Duration::ZERO,
        },
        alerts: Alerts {
            status_page: None,
            retention: Duration::from_secs(90 * 24 * 3_600),
        },
        receivers: Vec::new(),
        drill: drill::Settings {
            every: None,
            at: Duration::ZERO,
            deadline: Duration::from_secs(300),
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

fn one_line(every: u64) -> Timetable {
    Timetable::new(
        &config(vec![scenario("crosstalk", &["a"], every, 0)]),
        "test",
    )
}

/// All of an endpoint's scenarios decided upon until a moment.
fn decided(timetable: &Timetable, endpoint: &str, until: OffsetDateTime) -> Decided {
    let names = timetable.scenarios(endpoint).into_iter();
    names.map(|name| (name, until)).collect()
}

/// The order of the first tick after the start, and when it was due.
fn first_order(timetable: &Timetable) -> (Order, OffsetDateTime) {
    let decided = decided(timetable, "a", seconds(START));
    let at = timetable.next("a", &decided).unwrap();
    let mut due = timetable.due("a", &decided, at);
    assert_eq!((due.orders.len(), due.skipped.len()), (1, 0));
    (due.orders.remove(0), at)
}

#[test]
fn a_tick_is_due_from_its_moment_until_it_is_decided_upon() {
    let timetable = one_line(60);
    let start = decided(&timetable, "a", seconds(START));
    assert_eq!(timetable.due("a", &start, seconds(START)), Due::default());
    let (order, at) = first_order(&timetable);
    assert_eq!(order.tick.at, at);
    assert!(at > seconds(START) && at <= seconds(START + 60));
    let just_before = at - time::Duration::MILLISECOND;
    assert_eq!(timetable.due("a", &start, just_before), Due::default());
    assert_eq!(timetable.due("a", &start, at).orders, [order]);
    let after = decided(&timetable, "a", at);
    assert_eq!(timetable.due("a", &after, at), Due::default());
    assert!(timetable.next("a", &after).unwrap() > at);
}

#[test]
fn ticks_that_pass_while_a_round_runs_are_skipped_when_it_ends() {
    let timetable = one_line(60);
    let (order, at) = first_order(&timetable);
    assert_eq!(
        timetable.passed(&order, at + time::Duration::seconds(59)),
        None
    );
    let end = at + time::Duration::seconds(150);
    let skipped = timetable.passed(&order, end).unwrap();
    assert_eq!(
        (skipped.reason, skipped.count()),
        (SkipReason::StillRunning, 2)
    );
    assert_eq!(
        (skipped.first.number, skipped.last.number),
        (order.tick.number + 1, order.tick.number + 2)
    );
    let after = decided(&timetable, "a", skipped.last.at);
    assert_eq!(timetable.due("a", &after, end), Due::default());
    let due = timetable.due("a", &after, at + time::Duration::seconds(180));
    assert_eq!(due.orders[0].tick.number, order.tick.number + 3);
}

#[test]
fn of_many_missed_ticks_the_latest_is_run_and_the_rest_are_one_late_skip() {
    let timetable = one_line(60);
    let (_, at) = first_order(&timetable);
    let start = decided(&timetable, "a", seconds(START));
    let due = timetable.due("a", &start, at + time::Duration::hours(1));
    assert_eq!((due.orders.len(), due.skipped.len()), (1, 1));
    let skipped = &due.skipped[0];
    assert_eq!((skipped.reason, skipped.count()), (SkipReason::Late, 60));
    assert_eq!(skipped.first.at, at);
    assert_eq!(skipped.last.number + 1, due.orders[0].tick.number);
}

#[test]
fn a_clock_that_goes_back_brings_no_tick_again() {
    let timetable = one_line(60);
    let (_, at) = first_order(&timetable);
    let after = decided(&timetable, "a", at);
    assert_eq!(
        timetable.due("a", &after, seconds(START - 86_400)),
        Due::default()
    );
    assert_eq!(timetable.due("a", &after, at), Due::default());
}

#[test]
fn every_scenario_runs_at_each_of_its_endpoints_on_a_grid_and_seed_of_its_own() {
    let config = config(vec![
        scenario("crosstalk", &["a", "b"], 900, 0),
        scenario("overflow", &["a"], 900, 0),
    ]);
    let timetable = Timetable::new(&config, "test");
    let orders = |endpoint| {
        let start = decided(&timetable, endpoint, seconds(START));
        timetable.due(endpoint, &start, seconds(START + 900)).orders
    };
    let (at_a, at_b) = (orders("a"), orders("b"));
    let lines = at_a.iter().chain(&at_b).map(|order| {
        (
            order.endpoint.as_str(),
            order.scenario.as_str(),
            order.scenario_index,
        )
    });
    let expected = [
        ("a", "crosstalk", 0),
        ("a", "overflow", 1),
        ("b", "crosstalk", 0),
    ];
    assert_eq!(lines.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
    assert!(at_a.is_sorted_by(|one, next| one.tick.at < next.tick.at));
    assert_ne!(at_a[0].seed, at_a[1].seed);
    assert_ne!(at_a[0].seed, at_b[0].seed);
}

#[test]
fn other_installations_have_other_seeds_and_ticks() {
    let config = config(vec![scenario("crosstalk", &["a"], 86_400, 0)]);
    let first = |label: &str| first_order(&Timetable::new(&config, label)).0;
    assert_eq!(first("one"), first("one"));
    assert_ne!(first("one").seed, first("two").seed);
    assert_ne!(first("one").tick.at, first("two").tick.at);
}

#[test]
fn what_is_upcoming_is_what_will_be_ordered() {
    let config = config(vec![
        scenario("crosstalk", &["a", "b"], 900, 90),
        scenario("overflow", &["a"], 3_600, 0),
    ]);
    let timetable = Timetable::new(&config, "test");
    let until = seconds(START + 7_200);
    let upcoming = timetable.upcoming("a", seconds(START), until);
    assert_eq!(upcoming.len(), 8 + 2);
    let mut ordered = Vec::new();
    let mut decided = decided(&timetable, "a", seconds(START));
    while let Some(at) = timetable.next("a", &decided).filter(|&at| at < until) {
        for order in timetable.due("a", &decided, at).orders {
            decided.insert(order.scenario.clone(), order.tick.at);
            ordered.push(order);
        }
    }
    assert_eq!(upcoming, ordered);
}

#[test]
fn a_scenario_whose_past_is_not_known_has_nothing_due() {
    let timetable = one_line(60);
    let nothing = Decided::default();
    assert_eq!(timetable.next("a", &nothing), None);
    assert_eq!(
        timetable.due("a", &nothing, seconds(START + 3_600)),
        Due::default()
    );
    assert_eq!(
        timetable.next("b", &decided(&timetable, "a", seconds(START))),
        None
    );
}

proptest! {
    /// Whatever the rhythm of asking, whatever rounds take, and whoever dies in between: every cell is decided
    /// exactly once, in order.
    #[test]
    fn each_cell_is_ordered_or_skipped_exactly_once(
        every in 10u64..1_000,
        jitter_share in 0u64..=50,
        steps in prop::collection::vec((1i64..3_000, 0i64..2_000, any::<bool>()), 1..60),
    ) {
        let config = config(vec![scenario("crosstalk", &["a"], every, every * jitter_share / 100)]);
        let timetable = Timetable::new(&config, "test");
        let mut now = seconds(START);
        let mut until = decided(&timetable, "a", now);
        let mut outcomes = Vec::new();
        for (pause, takes, dies) in steps {
            now += time::Duration::seconds(pause);
            let due = timetable.due("a", &until, now);
            let mut skips = due.skipped;
            prop_assert!(due.orders.len() <= 1, "two rounds at once");
            let order = due.orders.into_iter().next();
            // Who dies after the skips were recorded leaves the order to the next one.
            if let Some(order) = order.filter(|_| !dies) {
                outcomes.extend(skips.drain(..).flat_map(|skip| skip.first.number..=skip.last.number));
                outcomes.push(order.tick.number);
                until.insert(order.scenario.clone(), order.tick.at);
                now += time::Duration::seconds(takes);
                skips.extend(timetable.passed(&order, now));
            }
            for skipped in skips {
                prop_assert!(skipped.last.at <= now);
                until.insert(skipped.scenario.clone(), skipped.last.at);
                outcomes.extend(skipped.first.number..=skipped.last.number);
            }
        }
        prop_assert!(outcomes.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{:?}", outcomes);
    }
}
