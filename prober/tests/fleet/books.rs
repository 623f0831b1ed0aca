//! The books afterwards: what the database says, and what the endpoints saw.

use super::member::Member;
use super::world::START;
use super::world::{ENDPOINTS, World, budget, is_local, name, wants_local};
use sqlx::{PgConnection, Row as _};
use std::collections::{BTreeMap, HashMap};
use time::OffsetDateTime;

/// A row of `rounds`.
struct Outcome {
    endpoint: String,
    state: String,
    due_at: OffsetDateTime,
    last_due_at: Option<OffsetDateTime>,
    ticks: i64,
    prober: String,
    started_at: OffsetDateTime,
    finished_at: Option<OffsetDateTime>,
    reason: Option<String>,
}

/// Checks everything; a sentence about what there was.
pub(crate) async fn check(world: &World, members: &[Member]) -> String {
    let mut database = world.server.connect().await;
    let outcomes = outcomes(&mut database).await;
    let names: HashMap<String, usize> = members
        .iter()
        .flat_map(|member| member.names().into_iter().map(|name| (name, member.number)))
        .collect();
    let ticks = each_tick_has_one_outcome(world, &outcomes, &mut database).await;
    nobody_else_was_there(world, &outcomes, &names);
    labels_were_kept(&outcomes, &names);
    nothing_was_overspent(&mut database).await;
    let findings = each_leak_is_one_finding(&mut database).await;
    sums_agree(&mut database).await;

    let of = |state: &str| {
        outcomes
            .iter()
            .filter(|outcome| outcome.state == state)
            .count()
    };
    assert!(of("finished") > ENDPOINTS, "hardly anything was done");
    let mut skipped: BTreeMap<&str, i64> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.state == "skipped") {
        *skipped
            .entry(outcome.reason.as_deref().unwrap())
            .or_default() += outcome.ticks;
    }
    format!(
        "{ticks} ticks, {} rounds; {} more lost and done again; {findings} findings; skipped: {skipped:?}",
        of("finished"),
        of("lost"),
    )
}

async fn outcomes(database: &mut PgConnection) -> Vec<Outcome> {
    let rows = sqlx::query(
        "select endpoints.name as endpoint, state, due_at, last_due_at, ticks, prober, rounds.started_at,
                finished_at, reason
         from rounds join endpoints on endpoints.id = endpoint_id order by rounds.id",
    )
    .fetch_all(database)
    .await
    .unwrap();
    let outcome = |row: &sqlx::postgres::PgRow| Outcome {
        endpoint: row.get("endpoint"),
        state: row.get("state"),
        due_at: row.get("due_at"),
        last_due_at: row.get("last_due_at"),
        ticks: row.get("ticks"),
        prober: row.get("prober"),
        started_at: row.get("started_at"),
        finished_at: row.get("finished_at"),
        reason: row.get("reason"),
    };
    rows.iter().map(outcome).collect()
}

/// How many ticks there were.
async fn each_tick_has_one_outcome(
    world: &World,
    outcomes: &[Outcome],
    database: &mut PgConnection,
) -> usize {
    let decided: HashMap<String, OffsetDateTime> = sqlx::query_as(
        "select endpoints.name, decided_until from lines join endpoints on endpoints.id = endpoint_id",
    )
    .fetch_all(database)
    .await
    .unwrap()
    .into_iter()
    .collect();
    assert_eq!(decided.len(), ENDPOINTS);
    let mut count = 0;
    for (endpoint, until) in &decided {
        let after = *until + time::Duration::MILLISECOND;
        let ticks = world.timetable.upcoming(endpoint, START, after);
        let mut left: BTreeMap<OffsetDateTime, u32> =
            ticks.iter().map(|order| (order.tick.at, 0)).collect();
        count += left.len();
        let own = outcomes
            .iter()
            .filter(|outcome| outcome.endpoint == *endpoint);
        for outcome in own.filter(|outcome| outcome.state != "lost") {
            assert_ne!(outcome.state, "running", "{endpoint} {}", outcome.due_at);
            let last = outcome.last_due_at.unwrap_or(outcome.due_at);
            let covered = left.range_mut(outcome.due_at..=last);
            let mut ticks = 0;
            for (_, outcomes) in covered {
                *outcomes += 1;
                ticks += 1;
            }
            assert_eq!(ticks, outcome.ticks, "{endpoint} {}", outcome.due_at);
        }
        assert!(
            left.values().all(|outcomes| *outcomes == 1),
            "{endpoint}: {left:?}"
        );
    }
    count
}

/// While a round was under way that counts, no other member sent anything to its endpoint.
fn nobody_else_was_there(world: &World, outcomes: &[Outcome], names: &HashMap<String, usize>) {
    let mut seen = 0;
    for (number, door) in world.doors.iter().enumerate() {
        let arrivals = door.arrivals();
        let endpoint = name(number);
        let own = outcomes
            .iter()
            .filter(|outcome| outcome.endpoint == endpoint);
        for round in own.filter(|outcome| outcome.state == "finished") {
            let end = round.finished_at.unwrap();
            let member = names[&round.prober].to_string();
            for arrival in &arrivals {
                if (round.started_at..=end).contains(&arrival.at) {
                    assert_eq!(arrival.member, member, "{endpoint} at {}", arrival.at);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 0, "the doors saw nobody");
}

fn labels_were_kept(outcomes: &[Outcome], names: &HashMap<String, usize>) {
    let is_local_only = |outcome: &&Outcome| {
        let mut local = (0..ENDPOINTS).filter(|&number| wants_local(number));
        local.any(|number| name(number) == outcome.endpoint)
    };
    let mut rounds = 0;
    for outcome in outcomes.iter().filter(is_local_only) {
        assert!(is_local(names[&outcome.prober]), "{}", outcome.endpoint);
        rounds += 1;
    }
    assert!(rounds > 0);
}

async fn nothing_was_overspent(database: &mut PgConnection) {
    let limited: HashMap<String, u64> = (0..ENDPOINTS)
        .filter_map(|number| Some((name(number), budget(number)?)))
        .collect();
    let spent: Vec<(String, i64, i64)> = sqlx::query_as(
        "select endpoints.name, sum(spending.prompt_tokens + spending.answer_tokens)::bigint,
                (select coalesce(sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)), 0)::bigint
                 from probes join rounds on rounds.id = round_id where rounds.endpoint_id = endpoints.id)
         from spending join endpoints on endpoints.id = endpoint_id
         where endpoints.name = any($1) group by endpoints.id",
    )
    .bind(limited.keys().cloned().collect::<Vec<_>>())
    .fetch_all(&mut *database)
    .await
    .unwrap();
    assert!(!spent.is_empty(), "no budget allowed a round");
    for (endpoint, charged, used) in spent {
        assert!(
            charged <= limited[&endpoint].cast_signed(),
            "{endpoint} was charged {charged}"
        );
        assert!(used <= charged, "{endpoint} used {used} of {charged}");
    }
    let stopped: i64 =
        sqlx::query_scalar("select count(*) from rounds where reason like '%budget%'")
            .fetch_one(database)
            .await
            .unwrap();
    assert!(stopped > 0, "no budget was ever short");
}

async fn each_leak_is_one_finding(database: &mut PgConnection) -> i64 {
    let (findings, distinct, of_leaks, leaks, late, lost): (i64, i64, i64, i64, i64, i64) = sqlx::query_as(
        "select count(*), count(distinct (probe_id, donor_probe)), count(distinct probe_id),
                (select count(*) from probes where verdict = 'leak'),
                count(*) filter (where late),
                count(*) filter (where rounds.state = 'lost' and findings.found_at >= rounds.started_at and late)
         from findings join rounds on rounds.id = round_id where kind = 'leak'",
    )
    .fetch_one(&mut *database)
    .await
    .unwrap();
    assert_eq!(findings, distinct, "a finding was recorded twice");
    assert_eq!(
        of_leaks, leaks,
        "a leak without a finding, or a finding without a leak"
    );
    assert_eq!(late, lost, "late though its round was not lost");
    let evidence: i64 =
        sqlx::query_scalar("select count(*) from evidence where sealed is not null")
            .fetch_one(database)
            .await
            .unwrap();
    assert_eq!(
        evidence, leaks,
        "a leak whose response was not kept, or kept twice"
    );
    findings
}

async fn sums_agree(database: &mut PgConnection) {
    let (rounds, leaks, sum_of_rounds, sum_of_leaks): (i64, i64, i64, i64) = sqlx::query_as(
        "select sum(ticks)::bigint, coalesce(sum(leaks), 0)::bigint,
                (select sum(rounds)::bigint from round_sums where span = 'day'),
                (select sum(leaks)::bigint from round_sums where span = 'day')
         from rounds where state in ('finished', 'skipped')",
    )
    .fetch_one(database)
    .await
    .unwrap();
    assert_eq!((rounds, leaks), (sum_of_rounds, sum_of_leaks));
}
