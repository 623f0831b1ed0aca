//! Weeks of probes come and go; sums stay what they sum up.
#![allow(clippy::unwrap_used)]

mod support;

use canary_gen::{KeyRing, ProbeNumber, Seed};
use prober::clock::{Clock as _, SystemClock};
use prober::scenario::{PlannedProbe, Role};
use prober::store::{NewProbe, Retention, Store};
use sqlx::migrate::Migrator;
use std::borrow::Cow;
use support::records::{facts, new_round, plan};
use support::*;
use time::macros::{date, datetime};
use time::{Duration, OffsetDateTime};

const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

const KEEP: Retention = Retention {
    probes: Duration::days(90),
    hours: Duration::days(90),
};

/// Plans some probes of a round of its own.
async fn plan_at(store: &Store, probes: usize, now: OffsetDateTime) -> Vec<ProbeNumber> {
    let endpoint = store.register_endpoint(&facts(), now).await.unwrap();
    let key = KeyRing::from_root(&[1; 32]).minting().id();
    store.register_key(key, now).await.unwrap();
    let round = new_round(endpoint.id, key, now);
    let round = store.begin_round(&round).await.unwrap();
    let probe = NewProbe {
        tenant: endpoint.tenants[0].id,
        step: 0,
        planned: PlannedProbe::new(&plan(), 0, Role::Peer, 300, Seed::from_number(1)),
    };
    let numbers = store.plan_probes(round, &vec![probe; probes], now).await;
    numbers.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_probers_that_plan_for_a_new_week_at_once_make_its_partition_once() {
    let database = TestDatabase::new().await;
    let stores = [
        Store::open(&database.location()).await.unwrap(),
        Store::open(&database.location()).await.unwrap(),
    ];
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let store = stores[task % 2].clone();
            // Sunday evening and Monday morning.
            let now = datetime!(2027-03-07 23:59 UTC) + Duration::seconds(10 * task as i64);
            tokio::spawn(async move { plan_at(&store, 3, now).await })
        })
        .collect();
    let mut numbers = Vec::new();
    for task in tasks {
        numbers.extend(task.await.unwrap());
    }
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), 48, "no number twice");
    let weeks = stores[0].weeks().await.unwrap();
    assert_eq!(weeks, [date!(2027 - 03 - 01), date!(2027 - 03 - 08)]);
    let first = "select count(*) from probes_2027_03_01";
    assert_eq!(database.count(first).await, 18);
    for store in stores {
        store.close().await;
    }
}

#[tokio::test]
async fn weeks_are_dropped_when_all_of_them_is_older_than_it_is_kept() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    for weeks in 0..20 {
        plan_at(&store, 2, NOW - Duration::weeks(weeks)).await;
    }
    store.prepare_weeks(NOW).await.unwrap();
    assert_eq!(store.weeks().await.unwrap().len(), 21);
    let pruned = store.prune(KEEP, NOW).await.unwrap();
    // 90 days before the first of December is the second of September, in the week from the 31st of August.
    assert_eq!(pruned.weeks.last(), Some(&date!(2026 - 08 - 24)));
    let left = store.weeks().await.unwrap();
    assert_eq!(left.first(), Some(&date!(2026 - 08 - 31)));
    assert_eq!(left.last(), Some(&date!(2026 - 12 - 07)));
    let old = "select count(*) from probes where planned_at < '2026-08-31'";
    assert_eq!(database.count(old).await, 0);
    assert_eq!(database.count("select count(*) from probes").await, 28);
    assert_eq!(store.prune(KEEP, NOW).await.unwrap().weeks, []);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_are_what_they_sum_up_and_outlive_it_as_findings_do() {
    let both = format!("{OVERFLOW}{CROSSTALK}");
    let rehearsal = Rehearsal::new(&["stale-pages"], &both).await;
    let Rehearsal {
        database,
        config,
        store,
        ..
    } = &rehearsal;
    let mut leaks = 0;
    for seed in 1..=2 {
        leaks += run_round(config, store, seed).await.leaks;
    }
    assert!(leaks > 0);
    for span in ["hour", "day"] {
        assert_eq!(differences(database, span).await, 0, "{span}");
    }
    let findings = database.count("select count(*) from findings").await;
    let hours = "select count(*) from probe_sums where span = 'hour'";
    let days = "select count(*) from probe_sums where span = 'day'";
    let before = (database.count(hours).await, database.count(days).await);
    assert!(findings > 0 && before.0 > 0);
    let later = SystemClock.now() + Duration::days(100);
    let pruned = store.prune(KEEP, later).await.unwrap();
    assert!(pruned.sums > 0);
    assert_eq!(database.count("select count(*) from probes").await, 0);
    assert_eq!(database.count("select count(*) from sightings").await, 0);
    assert_eq!(database.count(hours).await, 0);
    let hours = "select count(*) from endpoint_sums where span = 'hour'";
    assert_eq!(database.count(hours).await, 0);
    assert_eq!(database.count(days).await, before.1);
    let left = "select count(*) from findings join tenants on tenants.id = tenant_id";
    assert_eq!(database.count(left).await, findings);
}

/// In how many rows the sums differ from what they sum up.
async fn differences(database: &TestDatabase, span: &str) -> i64 {
    let probes = "select endpoint_id, name, role, probes.verdict, coalesce(probes.reason, ''), count(*),
                         sum(coalesce(prompt_tokens, 0)), sum(coalesce(completion_tokens, 0)), sum(duration_ms)
                  from probes join rounds on rounds.id = round_id where probes.verdict is not null group by 1, 2, 3, 4, 5";
    let probe_sums =
        "select endpoint_id, name, role, verdict, reason, sum(probes), sum(prompt_tokens),
                             sum(answer_tokens), sum(duration_ms)
                      from probe_sums where span = $1 group by 1, 2, 3, 4, 5";
    let proving = "select endpoint_id, probes.verdict, coalesce(probes.reason, ''), count(*)
                   from probes join rounds on rounds.id = round_id
                   where probes.verdict is not null and role <> 'calibration' group by 1, 2, 3";
    let endpoint_sums = "select endpoint_id, verdict, reason, sum(probes)
                         from endpoint_sums where span = $1 group by 1, 2, 3";
    let rounds = "select endpoint_id, name, verdict, count(*), sum(responses), sum(leaks), sum(asked), sum(recalled)
                  from rounds where state = 'finished' group by 1, 2, 3";
    let round_sums = "select endpoint_id, name, verdict, sum(rounds), sum(responses), sum(leaks), sum(asked), sum(recalled)
                      from round_sums where span = $1 group by 1, 2, 3";
    let mut differences = 0;
    for (rows, sums) in [
        (probes, probe_sums),
        (proving, endpoint_sums),
        (rounds, round_sums),
    ] {
        let query = format!(
            "select count(*) from (({rows} except {sums}) union all ({sums} except {rows})) d"
        );
        let query = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(query));
        differences += query.bind(span).fetch_one(&database.pool).await.unwrap();
    }
    differences
}

/// The schema as it was before a version.
async fn schema_before(database: &TestDatabase, version: i64) {
    let mut migrator: Migrator = sqlx::migrate!("../migrations");
    let before = migrator.iter().filter(|known| known.version < version);
    migrator.migrations = Cow::Owned(before.cloned().collect());
    migrator.run(&database.pool).await.unwrap();
}

#[tokio::test]
async fn what_was_recorded_before_there_were_partitions_is_kept_and_summed_up() {
    let database = TestDatabase::new().await;
    schema_before(&database, 6).await;
    sqlx::raw_sql(
        "insert into endpoints (name, api, base_url, model, context_tokens, first_seen_at, updated_at, changed_at)
         values ('glm', 'openai-chat', 'u', 'm', 1000, now(), now(), now());
         insert into tenants (endpoint_id, name, first_seen_at) values (1, 'acme', now());
         insert into rounds (endpoint_id, scenario, name, seed, state, started_at, finished_at, verdict, responses, leaks)
         values (1, 'overflow', 'overflow', 1, 'finished', now(), now(), 'leak', 0, 1);
         insert into rounds (endpoint_id, scenario, name, state, started_at, reason)
         values (1, 'overflow', 'overflow', 'skipped', now() + interval '1 second', 'late');
         insert into probes (round_id, tenant_id, step, role, form, layout, document_seed, tokens_wanted, planned_at,
                             finished_at, verdict, reason, repeats)
         select 1, 1, 1, 'peer', 'uuid', 'dense', decode(repeat('00', 32), 'hex'), 5, now() - n * interval '3 days',
                now() - n * interval '3 days', 'inconclusive', 'no_recall', case when n > 1 then 1 end
         from generate_series(1, 10) n;
         insert into sightings (probe_id, donor_tenant, donor_probe, slot, key_id, form, strength, own, place,
                                byte_offset, byte_length, occurrences)
         values (3, 0, 3, 1, 'k', 'uuid', 'exact', true, 'body', 1, 1, 1);
         insert into findings (round_id, probe_id, kind, certainty, found_at)
         values (1, 3, 'limit_violation', 'confirmed', now())",
    )
    .execute(&database.pool)
    .await
    .unwrap();
    let store = Store::attach(&database.location()).await.unwrap();
    assert_eq!(
        store.schema_state().await.unwrap().pending.first(),
        Some(&6)
    );
    store.migrate().await.unwrap();
    assert_eq!(store.schema_state().await.unwrap().pending, [0_i64; 0]);
    assert_eq!(database.count("select count(*) from probes").await, 10);
    let joined = "select count(*) from sightings
                  join probes on probes.id = sightings.probe_id and probes.planned_at = probe_planned_at
                  join findings on findings.probe_id = probes.id and findings.tenant_id = probes.tenant_id";
    assert_eq!(database.count(joined).await, 1);
    for span in ["hour", "day"] {
        for sums in [
            "select sum(probes)::bigint from probe_sums where span = $1",
            "select sum(probes)::bigint from endpoint_sums where span = $1",
        ] {
            let sum = sqlx::query_scalar::<_, i64>(sums).bind(span);
            assert_eq!(sum.fetch_one(&database.pool).await.unwrap(), 10);
        }
    }
    let rounds =
        "select count(*) from round_sums where span = 'day' and verdict in ('leak', 'skipped')";
    assert_eq!(database.count(rounds).await, 2);
    let numbers = plan_at(&store, 1, SystemClock.now()).await;
    assert_eq!(numbers[0].get(), 11, "numbers go on");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn db_tells_migrates_and_prunes() {
    let database = TestDatabase::new().await;
    schema_before(&database, 6).await;
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal("http://127.0.0.1:9/v1"), CROSSTALK);
    let run = |what: &str, format: &str| {
        let config = config.to_str().unwrap();
        let args = ["db", what, "--config", config, "--format", format];
        let output = tokio::task::block_in_place(|| {
            prober(&args)
                .env("DATABASE_URL", &database.url)
                .output()
                .unwrap()
        });
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let out = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), out, said)
    };
    let (code, out, said) = run("status", "text");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        out.contains("version 5") && out.contains("prober db migrate"),
        "{out}"
    );
    let (code, out, said) = run("migrate", "text");
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("applied migration 6"), "{out}");
    let store = Store::open(&database.location()).await.unwrap();
    let old = SystemClock.now() - Duration::days(200);
    plan_at(&store, 2, old).await;
    store.prepare_weeks(SystemClock.now()).await.unwrap();
    store.close().await;
    let (code, out, said) = run("status", "json");
    assert_eq!(code, Some(0), "{said}");
    let status: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(status["weeks"].as_array().unwrap().len(), 3);
    assert_eq!(status["pending"].as_array().unwrap().len(), 0);
    let (code, out, said) = run("prune", "text");
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("dropped 1 week"), "{out}");
    assert_eq!(database.count("select count(*) from probes").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_by_hand_that_nobody_carries_out_is_given_up_after_a_while() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    plan_at(&store, 1, NOW).await;
    plan_at(&store, 1, NOW + Duration::DAY).await;
    assert_eq!(store.give_up_by_hand(NOW).await.unwrap(), 0);
    let later = NOW + Duration::HOUR;
    assert_eq!(store.give_up_by_hand(later).await.unwrap(), 1);
    assert_eq!(store.give_up_by_hand(later).await.unwrap(), 0);
    let states = "select count(*) from rounds where state = 'lost' and reason is not null";
    assert_eq!(database.count(states).await, 1);
}
