//! One prober at a time has an endpoint; who has lost it is refused; what it brings late is told apart.
#![allow(clippy::unwrap_used)]

mod support;

use canary_gen::{KeyId, KeyRing, Seed};
use prober::ids::{EndpointId, RoundId};
use prober::judge::{Finding, RoundCounts, RoundVerdict};
use prober::scenario::{PlannedProbe, Role};
use prober::store::{
    EndpointFacts, Gained, JointFinding, Lease, NewProbe, NewRound, RegisteredEndpoint, RoundEnd,
    SkippedRound, Store, StoreError,
};
use std::collections::BTreeSet;
use std::time::Duration;
use support::records::{RULES, facts, new_round, plan};
use support::*;
use time::OffsetDateTime;
use time::macros::datetime;

const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);
const TICK: OffsetDateTime = datetime!(2026-12-01 10:05 UTC);
const LEASE: Duration = Duration::from_secs(60);
const LINE: &str = "crosstalk";

struct Bench {
    database: TestDatabase,
    store: Store,
    endpoint: RegisteredEndpoint,
    key: KeyId,
}

impl Bench {
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let store = Store::open(&database.location()).await.unwrap();
        let endpoint = store.register_endpoint(&facts(), NOW).await.unwrap();
        let key = KeyRing::from_root(&[1; 32]).minting().id();
        store.register_key(key, NOW).await.unwrap();
        let lines = [LINE.to_owned()];
        store.open_lines(endpoint.id, &lines, NOW).await.unwrap();
        Self {
            database,
            store,
            endpoint,
            key,
        }
    }

    async fn try_lease(&self, holder: &str) -> Option<Gained> {
        let endpoints = [self.endpoint.id];
        let gained = self.store.lease(&endpoints, holder, LEASE, 9).await;
        gained.unwrap().pop()
    }

    async fn lease(&self, holder: &str) -> Lease {
        self.try_lease(holder).await.unwrap().lease
    }

    /// As if everybody's lease had been gained an hour earlier.
    async fn expire(&self) {
        let earlier = "update leases set leased_at = leased_at - interval '1 hour',
                                         expires_at = expires_at - interval '1 hour'";
        sqlx::query(earlier)
            .execute(&self.database.pool)
            .await
            .unwrap();
    }

    fn round(&self, lease: &Lease) -> NewRound {
        NewRound {
            due_at: Some(TICK),
            lease: Some(lease.clone()),
            ..new_round(self.endpoint.id, self.key, TICK)
        }
    }

    fn skipped(&self, lease: &Lease) -> SkippedRound {
        SkippedRound {
            lease: lease.clone(),
            scenario: "crosstalk",
            name: LINE.to_owned(),
            due_at: TICK,
            last_due_at: TICK + time::Duration::HOUR,
            ticks: 3,
            skipped_at: TICK + time::Duration::HOUR,
            reason: "late".to_owned(),
        }
    }

    /// A finding of a probe of its own, in a round.
    async fn end(&self, round: RoundId) -> RoundEnd {
        let probe = NewProbe {
            tenant: self.endpoint.tenants[0].id,
            step: 0,
            planned: PlannedProbe::new(&plan(), 0, Role::Peer, 300, Seed::from_number(1)),
        };
        let numbers = self.store.plan_probes(round, &[probe], TICK).await.unwrap();
        let finding = Finding::Divergence {
            beside: true,
            differing: 8,
            differing_alone: 0,
            sets: 8,
            chance: 1e-4,
        };
        RoundEnd {
            round,
            verdict: RoundVerdict::Inconclusive("test".to_owned()),
            counts: RoundCounts::default(),
            findings: vec![JointFinding {
                shown_by: numbers[0],
                finding,
                witnesses: Vec::new(),
            }],
            evidence: Vec::new(),
            finished_at: TICK + time::Duration::MINUTE,
        }
    }

    async fn decided_until(&self) -> OffsetDateTime {
        let mut decided = self.store.decided(&[self.endpoint.id]).await.unwrap();
        decided.remove(&self.endpoint.id).unwrap()[LINE]
    }
}

fn is_lost<T: std::fmt::Debug>(result: Result<T, StoreError>) -> bool {
    matches!(result.unwrap_err(), StoreError::LeaseLost)
}

#[tokio::test]
async fn one_prober_has_an_endpoint_until_it_gives_it_back_or_its_time_is_over() {
    let bench = Bench::new().await;
    let first = bench.lease("one").await;
    assert!(bench.try_lease("two").await.is_none());
    assert!(bench.store.renew(&first, LEASE).await.unwrap());
    bench.store.give_back(&first).await.unwrap();
    let second = bench.lease("two").await;
    assert!(second.token > first.token);
    // It is not the first one's to give back or to renew any more.
    bench.store.give_back(&first).await.unwrap();
    assert!(!bench.store.renew(&first, LEASE).await.unwrap());
    assert!(bench.try_lease("one").await.is_none());
    bench.expire().await;
    assert!(!bench.store.renew(&second, LEASE).await.unwrap());
    let third = bench.lease("one").await;
    assert!(third.token > second.token);
}

#[tokio::test]
async fn a_prober_that_died_takes_up_again_at_once_what_it_had() {
    let bench = Bench::new().await;
    let before = bench.lease("one").await;
    bench
        .store
        .begin_round(&bench.round(&before))
        .await
        .unwrap();
    let gained = bench.try_lease("one").await.unwrap();
    assert_eq!(gained.lost, 1);
    assert!(gained.lease.token > before.token);
    assert!(is_lost(
        bench.store.begin_round(&bench.round(&before)).await
    ));
}

#[tokio::test]
async fn who_has_lost_an_endpoint_neither_begins_nor_skips_rounds_there() {
    let bench = Bench::new().await;
    let old = bench.lease("one").await;
    bench.expire().await;
    // Though nobody has taken it yet.
    assert!(is_lost(bench.store.begin_round(&bench.round(&old)).await));
    assert!(is_lost(bench.store.skip_round(&bench.skipped(&old)).await));
    let new = bench.lease("two").await;
    assert!(is_lost(bench.store.begin_round(&bench.round(&old)).await));
    assert!(is_lost(bench.store.skip_round(&bench.skipped(&old)).await));
    assert_eq!(bench.decided_until().await, NOW);
    bench.store.begin_round(&bench.round(&new)).await.unwrap();
    assert_eq!(bench.decided_until().await, TICK);
}

#[tokio::test]
async fn a_tick_has_one_outcome_and_skipping_several_is_one_row() {
    let bench = Bench::new().await;
    let lease = bench.lease("one").await;
    for _ in 0..2 {
        bench
            .store
            .skip_round(&bench.skipped(&lease))
            .await
            .unwrap();
    }
    assert_eq!(bench.decided_until().await, TICK + time::Duration::HOUR);
    assert_eq!(bench.database.count("select count(*) from rounds").await, 1);
    let skipped = "select sum(rounds)::bigint from round_sums where span = 'day'";
    assert_eq!(bench.database.count(skipped).await, 3);
    // Whoever wants to run the same tick comes too late.
    bench.store.give_back(&lease).await.unwrap();
    let other = bench.lease("two").await;
    assert!(is_lost(bench.store.begin_round(&bench.round(&other)).await));
}

#[tokio::test]
async fn a_round_that_is_taken_over_is_lost_and_what_it_brings_late_is_in_no_sum() {
    let bench = Bench::new().await;
    let old = bench.lease("one").await;
    let lost = bench.store.begin_round(&bench.round(&old)).await.unwrap();
    let late = bench.end(lost).await;
    bench.expire().await;
    let gained = bench.try_lease("two").await.unwrap();
    assert_eq!(gained.lost, 1);
    assert!(bench.decided_until().await < TICK);
    let again = bench
        .store
        .begin_round(&bench.round(&gained.lease))
        .await
        .unwrap();
    assert_ne!(again, lost);

    // Both come to their ends, each twice.
    let end = bench.end(again).await;
    for _ in 0..2 {
        bench.store.finish_round(&late, &RULES).await.unwrap();
        bench.store.finish_round(&end, &RULES).await.unwrap();
    }
    let states: Vec<(String, bool)> = sqlx::query_as(
        "select state, late from rounds join findings on findings.round_id = rounds.id order by rounds.id",
    )
    .fetch_all(&bench.database.pool)
    .await
    .unwrap();
    let expected = [("lost".to_owned(), true), ("finished".to_owned(), false)];
    assert_eq!(states, expected);
    let rounds = "select sum(rounds)::bigint from round_sums where span = 'day'";
    assert_eq!(bench.database.count(rounds).await, 1);
}

#[tokio::test]
async fn a_round_by_hand_needs_no_lease_and_is_nobodys_to_lose() {
    let bench = Bench::new().await;
    let by_hand = new_round(bench.endpoint.id, bench.key, TICK);
    let round = bench.store.begin_round(&by_hand).await.unwrap();
    assert_eq!(bench.store.begin_round(&by_hand).await.unwrap(), round);
    assert_eq!(bench.try_lease("one").await.unwrap().lost, 0);
    assert_eq!(bench.decided_until().await, NOW);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probers_that_ask_at_once_never_get_the_same_endpoint() {
    let database = TestDatabase::new().await;
    let stores = [
        Store::open(&database.location()).await.unwrap(),
        Store::open(&database.location()).await.unwrap(),
    ];
    let mut endpoints: Vec<EndpointId> = Vec::new();
    for number in 0..40 {
        let facts = EndpointFacts {
            name: format!("endpoint-{number}"),
            ..facts()
        };
        let id = stores[0].register_endpoint(&facts, NOW).await.unwrap().id;
        let lines = [LINE.to_owned()];
        stores[0].open_lines(id, &lines, NOW).await.unwrap();
        endpoints.push(id);
    }
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (store, endpoints) = (stores[task % 2].clone(), endpoints.clone());
            tokio::spawn(async move {
                let mut taken = Vec::new();
                for _ in 0..4 {
                    let holder = format!("prober-{task}");
                    let gained = store.lease(&endpoints, &holder, LEASE, 3).await.unwrap();
                    assert!(gained.len() <= 3);
                    taken.extend(gained.into_iter().map(|one| (one.lease.endpoint, task)));
                }
                taken
            })
        })
        .collect();
    let mut taken = BTreeSet::new();
    for task in tasks {
        // Its own it may take again.
        taken.extend(task.await.unwrap());
    }
    let endpoints_taken: BTreeSet<_> = taken.iter().map(|(endpoint, _)| *endpoint).collect();
    assert_eq!(
        endpoints_taken.len(),
        taken.len(),
        "one endpoint, two probers"
    );
}
