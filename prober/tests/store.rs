//! The store repeats an act without doing harm, and refuses what it does not know.
#![allow(clippy::unwrap_used)]

mod support;

use canary_gen::{KeyRing, Question, Seed};
use prober::judge::{Finding, RoundCounts, RoundVerdict};
use prober::scenario::{Cancel, PlannedHead, PlannedProbe, Role};
use prober::store::{
    EndpointFacts, JointFinding, Location, NewProbe, RoundEnd, SkippedRound, Store, StoreError,
};
use secrecy::SecretString;
use std::time::Duration;
use support::records::{RULES, facts, new_round, plan};
use support::*;
use time::macros::datetime;

const NOW: time::OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

#[tokio::test]
async fn every_act_of_a_round_may_be_repeated_and_changes_nothing_the_second_time() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let endpoint = store.register_endpoint(&facts(), NOW).await.unwrap();
    let again = store.register_endpoint(&facts(), NOW).await.unwrap();
    assert_eq!(endpoint.id, again.id);
    let numbers = |tenants: &[prober::store::RegisteredTenant]| {
        tenants
            .iter()
            .map(|tenant| tenant.number.get())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (numbers(&endpoint.tenants), numbers(&again.tenants)),
        (vec![0, 1], vec![0, 1])
    );

    let key = KeyRing::from_root(&[1; 32]).minting().id();
    let order = plan();
    let round = new_round(endpoint.id, key, NOW);
    let lines = [round.name.clone()];
    store.open_lines(endpoint.id, &lines, NOW).await.unwrap();
    store.open_lines(endpoint.id, &lines, NOW).await.unwrap();
    let minute = Duration::from_secs(60);
    let gained = store.lease(&[endpoint.id], "one", minute, 1).await;
    let skipped = SkippedRound {
        lease: gained.unwrap().remove(0).lease,
        scenario: "crosstalk",
        name: "crosstalk".to_owned(),
        due_at: NOW,
        last_due_at: NOW,
        ticks: 1,
        skipped_at: NOW + time::Duration::SECOND,
        reason: "late".to_owned(),
    };
    let probe = NewProbe {
        tenant: endpoint.tenants[0].id,
        step: 0,
        planned: PlannedProbe {
            head: Some(PlannedHead {
                seed: Seed::from_number(2),
                tokens: 90,
            }),
            question: Question::List,
            cancel: Some(Cancel::AfterPieces(2)),
            shared_id: Some(u64::MAX),
            ..PlannedProbe::new(&order, 0, Role::Peer, 300, Seed::from_number(1))
        },
    };
    let again = NewProbe {
        planned: PlannedProbe {
            repeats: Some(0),
            ..probe.planned
        },
        ..probe.clone()
    };
    let together = Finding::Divergence {
        beside: true,
        differing: 8,
        differing_alone: 0,
        sets: 8,
        chance: 1e-4,
    };
    let mut planned = Vec::new();
    for _ in 0..2 {
        store.register_key(key, NOW).await.unwrap();
        let id = store.begin_round(&round).await.unwrap();
        planned.push(
            store
                .plan_probes(id, &[probe.clone(), again.clone()], NOW)
                .await
                .unwrap(),
        );
        store.skip_round(&skipped).await.unwrap();
        let end = RoundEnd {
            round: id,
            verdict: RoundVerdict::Inconclusive("test".to_owned()),
            counts: RoundCounts::default(),
            findings: vec![JointFinding {
                shown_by: planned[0][1],
                finding: together.clone(),
                witnesses: Vec::new(),
            }],
            evidence: Vec::new(),
            finished_at: NOW,
        };
        store.finish_round(&end, &RULES).await.unwrap();
        let recorded = store.round(id).await.unwrap().unwrap();
        assert_eq!(
            (recorded.endpoint.as_str(), recorded.seed, recorded.plan),
            ("glm", 1, Some(round.plan.clone()))
        );
        assert_eq!(recorded.findings, ["divergence"]);
    }
    assert_eq!(planned[0], planned[1]);
    assert_eq!(database.count("select count(*) from findings").await, 1);
    let repeated = database
        .count("select count(*) from probes later join probes first on later.repeats = first.id")
        .await;
    assert_eq!(repeated, 1);
    let history = store.history(endpoint.id, "crosstalk").await.unwrap();
    assert_eq!((history.rounds, history.responses), (1, 0));
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.rounds, counts.probes), (2, 2));
    store.close().await;
}

#[tokio::test]
async fn a_limit_measured_elsewhere_is_forgotten_when_the_endpoint_moves() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let endpoint = store.register_endpoint(&facts(), NOW).await.unwrap();
    store.record_measured_limit(endpoint.id, 700).await.unwrap();
    let measured = async |facts: EndpointFacts| {
        store
            .register_endpoint(&facts, NOW)
            .await
            .unwrap()
            .measured_limit
    };
    assert_eq!(measured(facts()).await, Some(700));
    let other_model = EndpointFacts {
        model: "m2".to_owned(),
        ..facts()
    };
    assert_eq!(measured(other_model).await, None);
    store.close().await;
}

#[tokio::test]
async fn a_schema_of_a_newer_version_is_refused() {
    let database = TestDatabase::new().await;
    Store::open(&database.location())
        .await
        .unwrap()
        .close()
        .await;
    sqlx::query(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
         values (9999, 'from the future', true, '\\x00', 0)",
    )
    .execute(&database.pool)
    .await
    .unwrap();
    let refused = Store::open(&database.location()).await.err().unwrap();
    assert!(matches!(refused, StoreError::Migrate(_)), "{refused}");
}

#[tokio::test]
async fn a_url_that_is_none_is_refused_without_being_shown() {
    let location = Location::Server {
        url: SecretString::from("mysql://u:hunter2@h/d\u{0}".to_owned()),
        max_connections: 1,
    };
    let refused = Store::open(&location).await.err().unwrap();
    assert!(!prober::errors::chain(&refused).contains("hunter2"));
}

#[cfg(feature = "embedded-postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_store_that_is_in_use_is_refused_with_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Embedded {
        directory: folder.path().join("postgres"),
    };
    let first = Store::open(&location).await.unwrap();
    let refused = Store::open(&location).await.err().unwrap();
    let message = prober::errors::chain(&refused);
    assert!(
        message.contains("start the embedded Postgres in") && message.contains("in use"),
        "{message}"
    );
    first.close().await;
    Store::open(&location).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_somebody_holds_is_waited_for_no_longer_than_the_url_says() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let endpoint = store.register_endpoint(&facts(), NOW).await.unwrap();
    let url = format!("{}?options=-c%20lock_timeout%3D50ms", database.url);
    let location = Location::Server {
        url: SecretString::from(url),
        max_connections: 1,
    };
    let hurried = Store::open(&location).await.unwrap();
    let mut holder = database.pool.begin().await.unwrap();
    sqlx::query("lock table endpoints in access exclusive mode")
        .execute(&mut *holder)
        .await
        .unwrap();
    let refused = hurried.record_measured_limit(endpoint.id, 1_000).await;
    assert!(refused.unwrap_err().is_transient());
    holder.rollback().await.unwrap();
    hurried
        .record_measured_limit(endpoint.id, 1_000)
        .await
        .unwrap();
}
