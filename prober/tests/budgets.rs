//! Budgets: hard limits, over restarts and between probers, spent where they buy most.
#![allow(clippy::unwrap_used)]

mod support;

use canary_gen::{KeyRing, ProbeNumber, Seed};
use prober::budget::{Budget, Cost, Money, Prices, day_of};
use prober::clock::{Clock, FixedClock};
use prober::ids::EndpointId;
use prober::round::{Event, RoundError, RoundOrder};
use prober::scenario::{PlannedProbe, Role};
use prober::store::{NewProbe, Store};
use std::path::PathBuf;
use std::sync::Arc;
use support::records::{facts, new_round, plan};
use support::service::{Service, watched_database};
use support::*;
use time::macros::datetime;
use tokio::runtime::Handle;

const NOW: time::OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

fn tokens(limit: u64) -> Budget {
    Budget {
        tokens_per_day: Some(limit),
        ..Budget::default()
    }
}

fn cost(tokens: u64) -> Cost {
    Prices::default().cost(tokens, 0)
}

/// An endpoint with so many planned probes.
async fn planned(store: &Store, probes: usize) -> (EndpointId, Vec<ProbeNumber>) {
    let endpoint = store.register_endpoint(&facts(), NOW).await.unwrap();
    let key = KeyRing::from_root(&[1; 32]).minting().id();
    store.register_key(key, NOW).await.unwrap();
    let order = plan();
    let round = new_round(endpoint.id, key, NOW);
    let round = store.begin_round(&round).await.unwrap();
    let probe = NewProbe {
        tenant: endpoint.tenants[0].id,
        step: 0,
        planned: PlannedProbe::new(&order, 0, Role::Peer, 300, Seed::from_number(1)),
    };
    let numbers = store.plan_probes(round, &vec![probe; probes], NOW).await;
    (endpoint.id, numbers.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reservations_at_once_by_several_probers_never_pass_the_limit() {
    let database = TestDatabase::new().await;
    let stores = [
        Store::open(&database.location()).await.unwrap(),
        Store::open(&database.location()).await.unwrap(),
    ];
    let (endpoint, probes) = planned(&stores[0], 40).await;
    let tasks: Vec<_> = probes
        .iter()
        .enumerate()
        .map(|(index, &probe)| {
            let store = stores[index % 2].clone();
            tokio::spawn(async move {
                let limits = tokens(1_000);
                let reserved = store.reserve(endpoint, probe, cost(70), &limits, NOW);
                reserved.await.unwrap()
            })
        })
        .collect();
    let mut paid = 0;
    for task in tasks {
        paid += u64::from(task.await.unwrap());
    }
    assert_eq!(paid, 14);
    let spent = stores[1].spent(endpoint, day_of(NOW)).await.unwrap();
    assert_eq!(spent.tokens(), 980);
    for store in stores {
        store.close().await;
    }
}

#[tokio::test]
async fn a_reservation_made_twice_is_charged_once_and_each_day_has_its_own() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let (endpoint, probes) = planned(&store, 4).await;
    let reserve = async |probe: usize, tokens_wanted: u64, now| {
        let (cost, limits) = (cost(tokens_wanted), tokens(100));
        let reserved = store.reserve(endpoint, probes[probe], cost, &limits, now);
        reserved.await.unwrap()
    };
    assert!(!reserve(0, 101, NOW).await, "more than a whole day's");
    assert!(reserve(0, 90, NOW).await);
    assert!(reserve(0, 90, NOW).await, "the acknowledgement was lost");
    assert!(!reserve(1, 11, NOW).await);
    assert!(reserve(1, 10, NOW).await);
    assert!(reserve(2, 100, NOW + time::Duration::DAY).await);
    let spent = store.spent(endpoint, day_of(NOW)).await.unwrap();
    assert_eq!(spent.tokens(), 100);
    let money = Budget {
        money_per_day: Some(Money::from_micros(5)),
        ..Budget::default()
    };
    let dear = Cost {
        money: Money::from_micros(6),
        ..cost(1)
    };
    let later = NOW + time::Duration::DAY * 2;
    let paid = store
        .reserve(endpoint, probes[3], dear, &money, later)
        .await;
    assert!(!paid.unwrap());
    store.close().await;
}

#[tokio::test]
async fn a_build_that_was_not_seen_for_a_day_is_a_change_but_for_the_first() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let (endpoint, _) = planned(&store, 1).await;
    let seen = async |fingerprint: &str, hours: i64| {
        let at = NOW + time::Duration::hours(hours);
        let recorded = store.record_build(endpoint, ("glm", fingerprint), at);
        recorded.await.unwrap()
    };
    assert!(!seen("fp_1", 0).await, "the first");
    assert!(seen("fp_2", 1).await, "another");
    assert!(!seen("fp_1", 2).await, "two behind one address");
    assert!(!seen("fp_2", 3).await);
    assert!(seen("fp_1", 40).await, "rolled back");
    let standing = store.standing("glm", day_of(NOW)).await.unwrap().unwrap();
    assert_eq!(standing.changed_at, NOW + time::Duration::hours(40));
    assert!(!standing.has_run_since_change("crosstalk"));
    store.close().await;
}

/// The rehearsal with a budget of so many tokens a day.
async fn rehearsed(limit: &str, scenarios: &str) -> (TestDatabase, Endpoint, Workplace, PathBuf) {
    let database = watched_database().await;
    let engine = simulate(small_engine(&[])).await;
    let workplace = Workplace::new();
    let more = format!("[endpoints.budget]\n{limit}\ninput_price = 1\noutput_price = 2\n");
    let endpoint = EndpointText {
        more: &more,
        ..rehearsal(&engine.base_url)
    };
    let config = workplace.write(&endpoint, scenarios);
    (database, engine, workplace, config)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_round_cost_is_settled_and_the_next_one_that_does_not_fit_is_refused() {
    let (database, _engine, _workplace, config) =
        rehearsed("tokens_per_day = 70000", CROSSTALK).await;
    let config = prober::config::load_with(&config, &|_| None).unwrap();
    let store = Store::open(&database.location()).await.unwrap();
    let (mut executor, session) = ready(&config, &store).await;
    let clock = Arc::new(FixedClock::new(NOW));
    executor.clock = Arc::clone(&clock) as Arc<dyn Clock>;
    let first = run_with(&config, &executor, &session, 1).await;
    assert_eq!(first.verdict, "clean", "{first}");
    let spent = store.spent(session.id(), day_of(NOW)).await.unwrap();
    assert_eq!(spent.answer_tokens, first.completion_tokens);
    // Of the shortest calibration document, the guess is charged: it was counted far shorter.
    let counted = first.prompt_tokens;
    let charged = spent.prompt_tokens;
    assert!((counted..counted + 30).contains(&charged), "{charged}");
    let micros = spent.prompt_tokens + 2 * spent.answer_tokens;
    assert!(spent.money.micros() >= micros && spent.money.micros() < micros + 100);
    // Rounds are told apart by when they began.
    clock.advance(time::Duration::SECOND);
    let second = run_with(&config, &executor, &session, 2).await;
    assert_eq!(second.verdict, "clean", "{second}");
    let order = RoundOrder {
        scenario: &config.scenarios[0],
        seed: 3,
        due_at: None,
        replay: None,
    };
    clock.advance(time::Duration::SECOND);
    let refused = executor.run(&session, &order).await;
    assert!(
        matches!(refused, Err(RoundError::OverBudget { .. })),
        "{refused:?}"
    );
    assert_eq!(database.count("select count(*) from rounds").await, 2);
    clock.advance(time::Duration::DAY);
    let next_day = run_with(&config, &executor, &session, 3).await;
    assert_eq!(next_day.verdict, "clean", "{next_day}");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_that_cannot_be_paid_any_more_is_not_sent_and_the_round_says_why() {
    let (database, _engine, _workplace, config) =
        rehearsed("tokens_per_day = 70000", CROSSTALK).await;
    let config = prober::config::load_with(&config, &|_| None).unwrap();
    let store = Store::open(&database.location()).await.unwrap();
    let (mut executor, session) = ready(&config, &store).await;
    executor.clock = Arc::new(FixedClock::new(NOW));
    let pool = database.pool.clone();
    // Another prober spends what is left, once the round has been found to fit.
    executor.observer = Arc::new(move |event| {
        if matches!(event, Event::Started { .. }) {
            let spend = sqlx::query(
                "insert into spending select id, date '2026-12-01', 1, 69990, 0, 0 from endpoints",
            );
            let spent = spend.execute(&pool);
            tokio::task::block_in_place(|| Handle::current().block_on(spent)).unwrap();
        }
    });
    let report = run_with(&config, &executor, &session, 1).await;
    assert_eq!(report.verdict, "inconclusive", "{report}");
    assert_eq!(
        report.reason.as_deref(),
        Some("the budget of the day was spent")
    );
    let sent = "select count(*) from probes where sent_at is not null";
    assert_eq!(database.count(sent).await, 0);
    let spent = store.spent(session.id(), day_of(NOW)).await.unwrap();
    assert_eq!(spent.tokens(), 69_990);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_exits_with_4_and_sends_nothing_when_the_budget_does_not_allow_the_round() {
    let (database, _engine, _workplace, config) =
        rehearsed("money_per_day = 0.01", CROSSTALK).await;
    let output = tokio::task::block_in_place(|| {
        prober(&["once", "--config", config.to_str().unwrap()])
            .env("DATABASE_URL", &database.url)
            .output()
            .unwrap()
    });
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("budget of endpoint `rehearsal`"), "{said}");
    assert!(output.stdout.is_empty());
    assert_eq!(database.count("select count(*) from probes").await, 0);
}

const SPENT: &str = "select coalesce(sum(prompt_tokens + answer_tokens), 0)::bigint from spending";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_survives_kill_9() {
    let scenario = "[[scenarios]]\nkind = \"crosstalk\"\nevery = \"10s\"\njitter = \"0s\"\ntokens = 1500\nwaves = 3\n";
    let (database, _engine, _workplace, config) =
        rehearsed("tokens_per_day = 30000", scenario).await;
    let mut service = Service::run(&config, &database);
    let sent = "select count(*) from probes where role = 'peer' and sent_at is not null";
    service.until(&database, sent).await;
    service.process.kill();
    let before = database.count(SPENT).await;
    assert!(before > 0);
    let charged = "select coalesce(sum(charged_prompt_tokens + charged_answer_tokens), 0)::bigint from probes";
    assert_eq!(
        database.count(charged).await,
        before,
        "what was on its way stays charged"
    );
    let again = Service::run(&config, &database);
    let skipped = "select count(*) from rounds where state = 'skipped' and reason like '%budget%'";
    again.until(&database, skipped).await;
    let after = database.count(SPENT).await;
    assert!(before <= after && after <= 30_000, "{before} {after}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tight_budget_lets_overflow_rounds_run_and_skips_those_of_a_lower_rank() {
    // Both every ten seconds. A round of the one costs more than one of the other, so that what the others leave
    // over never pays it.
    let scenarios = "[[scenarios]]\nkind = \"crosstalk\"\nevery = \"10s\"\njitter = \"0s\"\ntokens = 3000\nwaves = 6\n\
                     [[scenarios]]\nkind = \"overflow\"\nevery = \"10s\"\njitter = \"0s\"\nladder = [0.4, 1.2]\n";
    let (database, _engine, _workplace, config) =
        rehearsed("tokens_per_day = 220000", scenarios).await;
    // Both scenarios have run since the endpoint appeared, so that only the rank of their kind counts.
    let store = Store::open(&database.location()).await.unwrap();
    let loaded = prober::config::load_with(&config, &|_| None).unwrap();
    let (_, session) = ready(&loaded, &store).await;
    let at_most = |place: usize| {
        let scenario = &loaded.scenarios[place];
        let order = RoundOrder {
            scenario,
            seed: 1,
            due_at: None,
            replay: None,
        };
        session.cost_at_most(&order).tokens()
    };
    assert!(at_most(0) > at_most(1) && at_most(0) < 220_000);
    sqlx::query(
        "insert into rounds (endpoint_id, scenario, name, state, seed, started_at, finished_at, verdict)
         select $1, kind, kind, 'finished', 1, now(), now(), 'clean' from unnest(array['crosstalk', 'overflow']) kind",
    )
    .bind(session.id().get())
    .execute(&database.pool)
    .await
    .unwrap();
    store.close().await;
    let service = Service::run(&config, &database);
    service.until(&database, "select count(*) from rounds where name = 'overflow' and due_at is not null and state = 'finished'").await;
    // On a slow machine the others have spent all before one of these gets its turn: it is over budget then.
    service.until(&database, "select count(*) from rounds where name = 'crosstalk' and state = 'skipped' and reason like '%budget%'").await;
    let crosstalk = "select count(*) from rounds where name = 'crosstalk' and due_at is not null and state <> 'skipped'";
    assert_eq!(database.count(crosstalk).await, 0);
    assert!(database.count(SPENT).await <= 220_000);
}

#[test]
fn plan_says_what_the_next_hours_send_and_cost_without_a_database() {
    let workplace = Workplace::new();
    let endpoint = EndpointText {
        more: "[endpoints.budget]\ntokens_per_day = 100000\ninput_price = 0.5\n",
        ..rehearsal("http://127.0.0.1:9/v1")
    };
    // With jitter a day holds a tick more or less.
    let scenarios = format!("{CROSSTALK}jitter = \"0s\"\n");
    let config = workplace.write(&endpoint, &scenarios);
    let run = |more: &[&str]| {
        let start = ["plan", "--config", config.to_str().unwrap()];
        let output = prober(&[&start[..], more].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[]);
    assert!(
        text.contains("rehearsal") && text.contains("nothing was spent today"),
        "{text}"
    );
    let plan: serde_json::Value = serde_json::from_str(&run(&["--format", "json"])).unwrap();
    let endpoint = &plan["endpoints"][0];
    let crosstalk = &endpoint["scenarios"][0];
    assert_eq!(crosstalk["due"]["rounds"], 24);
    let (runs, skips) = (
        &crosstalk["runs"]["rounds"],
        &crosstalk["skipped"]["over_budget"],
    );
    assert_eq!(runs.as_u64().unwrap() + skips.as_u64().unwrap(), 24);
    assert!(runs.as_u64().unwrap() < 24 && runs.as_u64().unwrap() > 0);
    assert!(
        !workplace.path().join("state").exists(),
        "no embedded database is started"
    );
}
