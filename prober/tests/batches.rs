//! A batch of records gives exactly what they give one by one, whoever records them how often.
#![allow(clippy::unwrap_used)]

mod support;

use canary_gen::scan::{Proof, Views};
use canary_gen::{Form, Identity, ProbeNumber, Seed, Sighting, Slot, TenantNumber};
use prober::budget::{Budget, Cost, Money};
use prober::evidence::{Binding, Sealed};
use prober::ids::{IncidentId, RoundId};
use prober::judge::Seen;
use prober::scenario::{PlannedProbe, Role};
use prober::store::{NewProbe, NewRound, ProbeRecord, Usage};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::HashSet;
use std::sync::Arc;
use support::ledger::{Ledger, NOW, anomaly, key, leak, violation};
use support::records::{RULES, new_round, plan};
use support::*;
use time::{Duration, OffsetDateTime};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// A record that may be made.
#[derive(Clone, Debug)]
struct Draft {
    /// Of which probe: the first half is of one endpoint, the second of another.
    place: usize,
    verdict: &'static str,
    /// Some hours after it was planned.
    hours: i64,
    tokens: u64,
    seen: u64,
    findings: usize,
    is_kept: bool,
}

/// Probes of a round at each of two endpoints.
const PROBES: usize = 6;

fn draft() -> impl Strategy<Value = Draft> {
    let verdict = prop_oneof![Just("clean"), Just("leak"), Just("inconclusive")];
    (
        0..PROBES,
        verdict,
        0..50i64,
        0..900u64,
        0..4u64,
        0..4usize,
        any::<bool>(),
    )
        .prop_map(
            |(place, verdict, hours, tokens, seen, findings, is_kept)| Draft {
                place,
                verdict,
                hours,
                tokens,
                seen,
                findings,
                is_kept,
            },
        )
}

fn sighting(place: usize, slot: u64) -> Seen {
    Seen {
        sighting: Sighting {
            identity: Identity {
                tenant: TenantNumber::new(slot % 2).unwrap(),
                probe: ProbeNumber::new(1 + place as u64).unwrap(),
                slot: Slot::new(slot).unwrap(),
            },
            key: key(),
            form: Form::Code,
            proof: Proof::Repaired { damages: 1 },
            weight_bits: 64,
            views: Views::default(),
            offset: 5 + slot,
            length: 30,
        },
        place: "choices[0].message.content".to_owned(),
        in_answer: true,
        occurrences: 2,
    }
}

impl Draft {
    fn record(&self, (round, probe): (RoundId, ProbeNumber)) -> ProbeRecord {
        let sealed = Sealed {
            of: Binding { probe, round },
            key: "00112233aabbccdd".parse().unwrap(),
            plain_bytes: 3,
            is_cut: false,
            bytes: vec![1, 2, 3],
        };
        let money = Money::from_micros(self.tokens);
        let witnesses = ProbeNumber::new(probe.get().saturating_sub(1).max(1));
        let findings = [leak(), violation(), anomaly(1)].into_iter();
        ProbeRecord {
            probe,
            round,
            own: (TenantNumber::new(0).unwrap(), ProbeNumber::new(1).unwrap()),
            finished_at: NOW + Duration::hours(self.hours),
            outcome: "answered".into(),
            status: (self.tokens > 100).then_some(200),
            finish_reason: (self.seen > 1).then(|| "stop".to_owned()),
            usage: Usage {
                prompt: (self.tokens > 200).then_some(self.tokens),
                completion: Some(self.seen),
                cached: None,
            },
            response_bytes: self.tokens * 4,
            ttft_ms: (self.seen > 2).then_some(9),
            duration_ms: self.tokens,
            own_canaries: 1,
            verdict: self.verdict.into(),
            reason: (self.verdict != "leak").then_some("no_recall".into()),
            seen: (0..self.seen)
                .map(|slot| sighting(self.place, slot))
                .collect(),
            cost: Cost {
                prompt_tokens: self.tokens,
                answer_tokens: self.seen,
                money,
            },
            findings: findings
                .take(self.findings)
                .map(|mut finding| {
                    finding.witnesses.extend(witnesses);
                    finding
                })
                .collect(),
            evidence: self.is_kept.then_some(sealed),
        }
    }
}

/// A database with two endpoints.
struct Books {
    database: TestDatabase,
    ledgers: [Ledger; 2],
}

impl Books {
    async fn open() -> Self {
        let database = TestDatabase::new().await;
        let ledgers = [
            Ledger::at(&database, "glm").await,
            Ledger::at(&database, "kimi").await,
        ];
        Self { database, ledgers }
    }

    /// Probes of new rounds. Some are charged, to a day or the next.
    async fn planned(&self, started_at: OffsetDateTime) -> Vec<(RoundId, ProbeNumber)> {
        let mut all = Vec::new();
        for ledger in &self.ledgers {
            let new = NewRound {
                name: format!("n{}", all.len()),
                ..new_round(ledger.endpoint.id, key(), started_at)
            };
            let round = ledger.store.begin_round(&new).await.unwrap();
            let probe = |place: usize| NewProbe {
                tenant: ledger.endpoint.tenants[place % 2].id,
                step: place as u32,
                planned: PlannedProbe::new(&plan(), 0, Role::Peer, 300, Seed::from_number(1)),
            };
            let probes: Vec<NewProbe> = (0..PROBES / 2).map(probe).collect();
            let planned = ledger.store.plan_probes(round, &probes, started_at);
            for (place, probe) in planned.await.unwrap().into_iter().enumerate() {
                let cost = Cost {
                    prompt_tokens: 1_000,
                    answer_tokens: 16,
                    money: Money::from_micros(5),
                };
                let at = started_at + Duration::days(place as i64 % 2);
                let (id, limits) = (ledger.endpoint.id, Budget::default());
                if place < 2 {
                    let reserved = ledger.store.reserve(id, probe, cost, &limits, at);
                    assert!(reserved.await.unwrap());
                }
                all.push((round, probe));
            }
        }
        all
    }

    async fn record(&self, records: &[ProbeRecord]) -> Vec<Vec<IncidentId>> {
        let recorded = self.ledgers[0].store.record_probes(records, &RULES);
        recorded.await.unwrap()
    }

    /// Every fact.
    async fn facts(&self) -> Vec<String> {
        let texts = async |query: String| -> Vec<String> {
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(query));
            query.fetch_all(&self.database.pool).await.unwrap()
        };
        let tables = "select relname::text from pg_class
                      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> '_sqlx_migrations'
                      order by 1";
        let mut facts = Vec::new();
        for table in texts(tables.to_owned()).await {
            // What names an incident elsewhere is drawn at random, and what the server's clock says is another time.
            let rows = format!(
                "select '{table} ' || (to_jsonb(t) - array['uid', 'noted_at'] #- '{{notice,uid}}')::text
                 from {table} t order by 1"
            );
            facts.extend(texts(rows).await);
        }
        facts
    }

    async fn close(self) {
        for ledger in self.ledgers {
            ledger.store.close().await;
        }
    }
}

#[test]
fn a_batch_gives_exactly_what_its_records_give_one_by_one_and_twice_as_once() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let (single, batched) = runtime.block_on(async { (Books::open().await, Books::open().await) });
    let case = std::cell::Cell::new(0);
    let cases = (vec(draft(), 0..14), 1..8usize);
    let mut runner = TestRunner::new(Config {
        cases: 24,
        failure_persistence: None,
        ..Config::default()
    });
    let ran = runner.run(&cases, |(drafts, size)| {
        case.set(case.get() + 1);
        // Every round in a week of its own.
        let at = NOW + Duration::weeks(case.get());
        runtime.block_on(async {
            let (one, other) = (single.planned(at).await, batched.planned(at).await);
            assert_eq!(one, other);
            let records: Vec<_> = drafts
                .iter()
                .map(|draft| draft.record(one[draft.place]))
                .collect();
            let mut told = Vec::new();
            for record in &records {
                let incidents = single.ledgers[0].store.record_probe(record, &RULES);
                told.push(incidents.await.unwrap());
            }
            let mut told_of_batches = Vec::new();
            for batch in records.chunks(size) {
                told_of_batches.extend(batched.record(batch).await);
            }
            assert_eq!(told, told_of_batches);
            let facts = batched.facts().await;
            assert_eq!(single.facts().await, facts);
            // The acknowledgement was lost.
            let again = batched.record(&records).await;
            assert!(again.iter().all(Vec::is_empty) && again.len() == records.len());
            assert_eq!(batched.facts().await, facts);
        });
        Ok(())
    });
    ran.unwrap();
    runtime.block_on(async {
        single.close().await;
        batched.close().await;
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_at_once_that_share_probes_in_any_order_never_wait_in_a_circle_and_count_each_once()
{
    let books = Arc::new(Books::open().await);
    let mut planned = Vec::new();
    for round in 0..20 {
        planned.extend(books.planned(NOW + Duration::minutes(round)).await);
    }
    let draft = Draft {
        place: 0,
        verdict: "leak",
        hours: 1,
        tokens: 300,
        seen: 2,
        findings: 1,
        is_kept: true,
    };
    let records: Vec<_> = planned.iter().map(|&probe| draft.record(probe)).collect();
    let barrier = Arc::new(Barrier::new(8));
    let mut tasks = JoinSet::new();
    for task in 0..8 {
        let (books, barrier, mut records) =
            (Arc::clone(&books), Arc::clone(&barrier), records.clone());
        let length = records.len();
        records.rotate_left(task * length / 8);
        if task % 2 == 1 {
            records.reverse();
        }
        tasks.spawn(async move {
            barrier.wait().await;
            let mut told = 0;
            for batch in records.chunks(30) {
                let of_batch = books.record(batch).await;
                told += of_batch.iter().map(Vec::len).sum::<usize>();
            }
            told
        });
    }
    let told: usize = tasks.join_all().await.into_iter().sum();
    assert_eq!(told, records.len(), "each finding is told once");
    let all = records.len() as i64;
    for count in [
        "select sum(probes)::bigint from probe_sums where span = 'day'",
        "select sum(probes)::bigint from probe_sums where span = 'hour'",
        "select sum(findings)::bigint from incidents",
        "select count(*) from findings",
        "select count(*) / 2 from sightings",
    ] {
        assert_eq!(books.database.count(count).await, all, "{count}");
    }
    let agree = "select count(*) from spending
                 where (endpoint_id, day, prompt_tokens, answer_tokens, micros) in
                       (select endpoint_id, charged_on, sum(charged_prompt_tokens), sum(charged_answer_tokens),
                               sum(charged_micros)
                        from probes join rounds on rounds.id = round_id group by 1, 2)";
    assert_eq!(
        books.database.count(agree).await,
        4,
        "two endpoints, two days"
    );
}

#[tokio::test]
async fn probes_whose_round_does_not_tell_their_week_are_found_all_the_same() {
    let books = Books::open().await;
    let planned = books.planned(NOW).await;
    // As a prober of the version before did.
    sqlx::query("update rounds set probes_planned_at = null")
        .execute(&books.database.pool)
        .await
        .unwrap();
    books.planned(NOW + Duration::weeks(1)).await;
    let draft = Draft {
        place: 0,
        verdict: "clean",
        hours: 1,
        tokens: 300,
        seen: 2,
        findings: 0,
        is_kept: false,
    };
    let records: Vec<_> = planned.iter().map(|&probe| draft.record(probe)).collect();
    books.record(&records).await;
    let judged = "select count(*) from probes where verdict = 'clean'";
    assert_eq!(books.database.count(judged).await, PROBES as i64);
    assert!(books.record(&[]).await.is_empty());
    books.close().await;
}

#[tokio::test]
async fn probes_of_a_round_lie_in_the_week_of_its_first_and_are_numbered_in_order() {
    let books = Books::open().await;
    let ledger = &books.ledgers[0];
    let new = new_round(ledger.endpoint.id, key(), NOW);
    let round = ledger.store.begin_round(&new).await.unwrap();
    let probe = NewProbe {
        tenant: ledger.endpoint.tenants[0].id,
        step: 0,
        planned: PlannedProbe::new(&plan(), 0, Role::Peer, 300, Seed::from_number(1)),
    };
    let mut probes = vec![probe; 40];
    probes[39].planned.repeats = Some(7);
    let some = ledger
        .store
        .plan_probes(round, &probes[..20], NOW)
        .await
        .unwrap();
    let later = NOW + Duration::weeks(3);
    let all = ledger
        .store
        .plan_probes(round, &probes, later)
        .await
        .unwrap();
    assert_eq!(some, all[..20]);
    assert!(all.is_sorted());
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 40);
    let weeks = "select count(distinct planned_at) from probes";
    assert_eq!(books.database.count(weeks).await, 1);
    let repeats = "select repeats from probes where repeats is not null";
    assert_eq!(books.database.count(repeats).await, all[7].get() as i64);
    books.close().await;
}
