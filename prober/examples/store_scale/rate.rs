//! Records judged probes as fast as it goes.

use crate::fill::{endpoint_name, key};
use canary_gen::scan::{Proof, Views};
use canary_gen::{Form, Identity, ProbeNumber, Seed, Sighting, Slot, TenantNumber};
use futures_util::future::join_all;
use prober::budget::{Cost, Money};
use prober::ids::RoundId;
use prober::incident::Rules;
use prober::judge::Seen;
use prober::scenario::{Order, PlannedProbe, Recipe, Role};
use prober::store::{
    EndpointFacts, NewProbe, NewRound, ProbeRecord, RegisteredEndpoint, Store, Usage,
};
use serde_json::json;
use sqlx::Executor as _;
use sqlx::postgres::PgPool;
use std::time::Instant;
use time::{Duration, OffsetDateTime};

const RULES: Rules = Rules {
    reopen_within: Duration::DAY,
    clean_for: Duration::DAY,
};
const PROBES_A_ROUND: usize = 500;
const SIGHTINGS_A_PROBE: u64 = 2;
/// Batches at once, each on a connection of its own.
const AT_ONCE: [usize; 2] = [1, 4];

struct Rate {
    what: &'static str,
    batch: usize,
    at_once: usize,
    records: usize,
    seconds: f64,
}

impl Rate {
    fn a_second(&self) -> f64 {
        self.records as f64 / self.seconds
    }
}

pub(crate) async fn run(
    store: &Store,
    pool: &PgPool,
    now: OffsetDateTime,
    most: usize,
    is_json: bool,
) {
    // As many weeks as are kept, so that numbers alone would be looked for in all of them.
    for week in 0..13 {
        store
            .prepare_weeks(now - Duration::weeks(week))
            .await
            .unwrap();
    }
    store.register_key(key(), now).await.unwrap();
    let mut endpoints = Vec::new();
    for number in 1..=4 {
        let facts = EndpointFacts {
            name: endpoint_name(number),
            api: "openai-chat",
            base_url: "https://example/v1".to_owned(),
            model: "m".to_owned(),
            context_tokens: 1_000_000,
            tenants: vec!["acme".to_owned(), "globex".to_owned()],
        };
        endpoints.push(store.register_endpoint(&facts, now).await.unwrap());
    }
    pool.execute(PLAIN).await.unwrap();
    let mut rates = Vec::new();
    let mut rounds = 0;
    for batch in [1, 10, 100, 1_000] {
        for at_once in AT_ONCE {
            let records = (batch * 2_000).min(most) / (batch * at_once) * (batch * at_once);
            let mut judged = Vec::new();
            while judged.len() < records {
                let endpoint = &endpoints[rounds % endpoints.len()];
                judged.extend(
                    plan(
                        (store, pool),
                        endpoint,
                        now + Duration::seconds(rounds as i64),
                    )
                    .await,
                );
                rounds += 1;
            }
            judged.truncate(records);
            pool.execute("analyze probes, sightings; checkpoint")
                .await
                .unwrap();
            // A round's probes are together, and so is what a batch has of an endpoint.
            let begun = Instant::now();
            let share = records / at_once;
            let recorded = judged.chunks(share).map(async |judged| {
                for batch in judged.chunks(batch) {
                    store.record_probes(batch, &RULES).await.unwrap();
                }
            });
            join_all(recorded).await;
            let seconds = begun.elapsed().as_secs_f64();
            rates.push(Rate {
                what: "record_probes",
                batch,
                at_once,
                records,
                seconds,
            });
            pool.execute("checkpoint").await.unwrap();
            let begun = Instant::now();
            let inserted = judged.chunks(share).map(async |judged| {
                for batch in judged.chunks(batch) {
                    insert_plainly(pool, batch).await;
                }
            });
            join_all(inserted).await;
            let seconds = begun.elapsed().as_secs_f64();
            rates.push(Rate {
                what: "bare inserts",
                batch,
                at_once,
                records,
                seconds,
            });
        }
    }
    print(&rates, is_json);
}

fn print(rates: &[Rate], is_json: bool) {
    if is_json {
        let rates: Vec<_> = rates.iter().map(|rate| {
            json!({ "what": rate.what, "batch": rate.batch, "at_once": rate.at_once, "records": rate.records,
                    "records_per_s": rate.a_second().round() })
        }).collect();
        println!("{}", json!({ "rates": rates }));
        return;
    }
    println!(
        "| batch | at once | records | record_probes, records/s | bare inserts, records/s | ratio |\n|---:|---:|---:|---:|---:|---:|"
    );
    for pair in rates.chunks(2) {
        let (ours, bare) = (pair[0].a_second(), pair[1].a_second());
        let Rate {
            batch,
            at_once,
            records,
            ..
        } = pair[0];
        println!(
            "| {batch} | {at_once} | {records} | {ours:.0} | {bare:.0} | {:.2} |",
            ours / bare
        );
    }
}

/// A round whose probes are charged and sent, and what came of them.
async fn plan(
    (store, pool): (&Store, &PgPool),
    endpoint: &RegisteredEndpoint,
    at: OffsetDateTime,
) -> Vec<ProbeRecord> {
    let round = NewRound {
        endpoint: endpoint.id,
        scenario: "crosstalk",
        name: "crosstalk".to_owned(),
        seed: 1,
        plan: json!({ "tenants": 2 }),
        replay_of: None,
        key: key(),
        due_at: None,
        started_at: at,
        lease: None,
    };
    let round = store.begin_round(&round).await.unwrap();
    let order = Order {
        recipe: Recipe::Limits { budget_tokens: 0 },
        seed: Seed::from_number(1),
        tenants: 2,
        context_tokens: 1_000_000,
        measured_limit: None,
        page_tokens: 64,
        form: Form::Code,
        max_answer_tokens: 16,
    };
    let probe = |step: usize| NewProbe {
        tenant: endpoint.tenants[step % 2].id,
        step: step as u32,
        planned: PlannedProbe::new(
            &order,
            0,
            Role::Peer,
            100_000,
            Seed::from_number(step as u64),
        ),
    };
    let probes: Vec<NewProbe> = (0..PROBES_A_ROUND).map(probe).collect();
    let numbers = store.plan_probes(round, &probes, at).await.unwrap();
    // As `reserve` does, all at once: each would wait for the disk.
    let charge = "
        with charged as (
            update probes set charged_on = ($2 at time zone 'UTC')::date, charged_prompt_tokens = 1100,
                              charged_answer_tokens = 60, charged_micros = 110
            where planned_at = $2 and round_id = (select round_id from probes where id = $1 and planned_at = $2)
            returning charged_on, charged_prompt_tokens as prompt, charged_answer_tokens as answer, charged_micros as micros
        )
        insert into spending as s (endpoint_id, day, requests, prompt_tokens, answer_tokens, micros)
        select $3, charged_on, count(*), sum(prompt), sum(answer), sum(micros) from charged group by charged_on
        on conflict on constraint spending_once do update
        set requests = s.requests + excluded.requests, prompt_tokens = s.prompt_tokens + excluded.prompt_tokens,
            answer_tokens = s.answer_tokens + excluded.answer_tokens, micros = s.micros + excluded.micros";
    sqlx::query(charge)
        .bind(numbers[0].get() as i64)
        .bind(at)
        .bind(endpoint.id.get())
        .execute(pool)
        .await
        .unwrap();
    numbers
        .into_iter()
        .map(|number| judged(round, number, at))
        .collect()
}

fn cost(tokens: u64) -> Cost {
    Cost {
        prompt_tokens: tokens,
        answer_tokens: 60,
        money: Money::from_micros(tokens / 10),
    }
}

fn judged(round: RoundId, probe: ProbeNumber, at: OffsetDateTime) -> ProbeRecord {
    let own = (TenantNumber::new(1).unwrap(), probe);
    let seen = |slot| Seen {
        sighting: Sighting {
            identity: Identity {
                tenant: own.0,
                probe,
                slot: Slot::new(slot).unwrap(),
            },
            key: key(),
            form: Form::Code,
            proof: Proof::Exact,
            weight_bits: 64,
            views: Views::default(),
            offset: 120,
            length: 30,
        },
        place: "choices[0].message.content".to_owned(),
        in_answer: true,
        occurrences: 2,
    };
    ProbeRecord {
        probe,
        round,
        own,
        finished_at: at + Duration::SECOND,
        outcome: "answered".into(),
        status: Some(200),
        finish_reason: Some("stop".to_owned()),
        usage: Usage {
            prompt: Some(1_000),
            completion: Some(60),
            cached: Some(0),
        },
        response_bytes: 5_000,
        ttft_ms: Some(900),
        duration_ms: 4_000,
        own_canaries: 2,
        verdict: "clean".into(),
        reason: Some("recall".into()),
        seen: (0..SIGHTINGS_A_PROBE).map(seen).collect(),
        cost: cost(1_000),
        findings: Vec::new(),
        evidence: None,
    }
}

/// The rows of a record, without anything that keeps them right or finds them again.
const PLAIN: &str = "
    create table plain_probes (id bigint, finished_at timestamptz, outcome text, status smallint, finish_reason text,
        prompt_tokens bigint, completion_tokens bigint, cached_tokens bigint, response_bytes bigint, ttft_ms bigint,
        duration_ms bigint, own_canaries integer, verdict text, reason text, charged_prompt_tokens bigint,
        charged_answer_tokens bigint, charged_micros bigint);
    create table plain_sightings (probe_id bigint, donor_tenant smallint, donor_probe bigint, slot smallint, key_id text,
        form text, strength text, own boolean, place text, byte_offset bigint, byte_length integer, occurrences integer,
        damages smallint, weight_bits integer, views text)";

async fn insert_plainly(pool: &PgPool, batch: &[ProbeRecord]) {
    let ids: Vec<i64> = batch
        .iter()
        .map(|record| record.probe.get() as i64)
        .collect();
    let finished: Vec<OffsetDateTime> = batch.iter().map(|record| record.finished_at).collect();
    let reasons: Vec<Option<&str>> = batch
        .iter()
        .map(|record| record.finish_reason.as_deref())
        .collect();
    let numbers: Vec<i64> = batch
        .iter()
        .map(|record| record.response_bytes as i64)
        .collect();
    let seen = || batch.iter().flat_map(|record| &record.seen);
    let donors: Vec<i64> = seen()
        .map(|seen| seen.sighting.identity.probe.get() as i64)
        .collect();
    let slots: Vec<i16> = seen()
        .map(|seen| seen.sighting.identity.slot.get() as i16)
        .collect();
    let keys: Vec<String> = seen().map(|seen| seen.sighting.key.to_string()).collect();
    let places: Vec<&str> = seen().map(|seen| seen.place.as_str()).collect();
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query(
        "insert into plain_probes
         select id, at, 'answered', 200, reason, n, n, n, n, n, n, 2, 'clean', 'recall', n, n, n
         from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::bigint[]) rows (id, at, reason, n)",
    )
    .bind(ids).bind(finished).bind(reasons).bind(numbers)
    .execute(&mut *transaction).await.unwrap();
    sqlx::query(
        "insert into plain_sightings
         select donor, 1, donor, slot, key, 'code', 'exact', true, place, 120, 30, 2, 0, 64, 'as is'
         from unnest($1::bigint[], $2::smallint[], $3::text[], $4::text[]) rows (donor, slot, key, place)",
    )
    .bind(donors).bind(slots).bind(keys).bind(places)
    .execute(&mut *transaction).await.unwrap();
    transaction.commit().await.unwrap();
}
