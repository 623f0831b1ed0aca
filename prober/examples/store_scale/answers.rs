//! Asks what dashboards and commands ask.

use crate::fill::{ENDPOINTS, SCENARIOS, endpoint_name, key};
use crate::grafana::{DASHBOARDS, Range, panels, sql};
use crate::millis;
use canary_gen::{ProbeNumber, TenantNumber};
use prober::budget::day_of;
use prober::ids::{EndpointId, IncidentId, RoundId};
use prober::incident::Rules;
use prober::store::{Access, Act, Store};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgPool;
use std::time::{Duration, Instant};
use time::OffsetDateTime;

/// What an answer may take at the 95th percentile.
const LIMIT: Duration = Duration::from_millis(100);

const RANGES: [(&str, i64); 5] = [
    ("1 h", 1),
    ("24 h", 24),
    ("7 d", 168),
    ("30 d", 720),
    ("90 d", 2_160),
];

/// What commands and the service ask of the store.
const READS: [&str; 18] = [
    "incidents, unresolved",
    "incidents, all",
    "incident",
    "incident_events",
    "incident_findings",
    "incident_findings of the largest",
    "evidence",
    "access_evidence",
    "round",
    "history",
    "standing",
    "spent",
    "decided",
    "abandoned",
    "donor",
    "schema_state",
    "weeks",
    "resolve_quiet (upkeep)",
];

struct Timed {
    what: String,
    times: Vec<Duration>,
}

impl Timed {
    /// The time that so many of a hundred answers do not take longer than.
    fn percentile(&self, percent: usize) -> Duration {
        let place = (self.times.len() * percent).div_ceil(100);
        self.times[place.saturating_sub(1)]
    }
}

pub(crate) async fn run(
    store: &Store,
    pool: &PgPool,
    now: OffsetDateTime,
    times: usize,
    is_json: bool,
) {
    let mut all = Vec::new();
    let known = Known::look(pool).await;
    let (incident, endpoint) = (known.largest.to_string(), endpoint_name(1));
    let variables = [
        ("incident", incident.as_str()),
        ("endpoint", endpoint.as_str()),
    ];
    for (file, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        for (name, hours) in RANGES {
            let range = Range {
                from: now - time::Duration::hours(hours),
                to: now,
            };
            for panel in panels(&dashboard) {
                for query in sql(panel) {
                    let sql = range.expand(query, &variables);
                    let what = format!("{file}, {name}: {}", panel["title"].as_str().unwrap());
                    all.push(
                        time_it(what, times, async |_| {
                            // As Grafana sends it: text, to be planned each time.
                            let sql = AssertSqlSafe(sql.as_str());
                            sqlx::raw_sql(sql).fetch_all(pool).await.unwrap().len()
                        })
                        .await,
                    );
                }
            }
        }
    }
    for what in READS {
        all.push(
            time_it(what.to_owned(), times, async |time| {
                known.read(store, what, time, now).await
            })
            .await,
        );
    }
    all.sort_by_key(|one| one.percentile(95));
    print(&all, is_json, &known);
}

async fn time_it(what: String, times: usize, ask: impl AsyncFn(usize) -> usize) -> Timed {
    ask(0).await;
    let mut taken = Vec::with_capacity(times);
    for time in 0..times {
        let begun = Instant::now();
        std::hint::black_box(ask(time).await);
        taken.push(begun.elapsed());
    }
    taken.sort_unstable();
    Timed { what, times: taken }
}

fn print(all: &[Timed], is_json: bool, known: &Known) {
    let row = |one: &Timed| (millis(one.percentile(50)), millis(one.percentile(95)));
    if is_json {
        let answers: Vec<_> = all
            .iter()
            .map(|one| {
                let (p50, p95) = row(one);
                json!({ "what": one.what, "p50_ms": p50, "p95_ms": p95 })
            })
            .collect();
        println!("{}", json!({ "rows": known.rows, "answers": answers }));
        return;
    }
    let rows: Vec<String> = known
        .rows
        .iter()
        .map(|(table, rows)| format!("{rows} {table}"))
        .collect();
    println!(
        "{}\n\n| answer | p50, ms | p95, ms |\n|---|---:|---:|",
        rows.join(", ")
    );
    for one in all {
        let (p50, p95) = row(one);
        println!("| {} | {p50:.2} | {p95:.2} |", one.what);
    }
    let slow = all.iter().filter(|one| one.percentile(95) > LIMIT).count();
    println!(
        "\n{slow} of {} take longer than {} ms at the 95th percentile",
        all.len(),
        LIMIT.as_millis()
    );
}

/// What there is to ask for.
struct Known {
    rows: Vec<(String, i64)>,
    incidents: Vec<i64>,
    largest: i64,
    evidence: Vec<i64>,
    rounds: i64,
    probes: i64,
}

impl Known {
    async fn look(pool: &PgPool) -> Self {
        let ids = async |sql: &'static str| -> Vec<i64> {
            sqlx::query_scalar(sql).fetch_all(pool).await.unwrap()
        };
        let mut rows = Vec::new();
        for table in [
            "probes",
            "rounds",
            "findings",
            "incidents",
            "evidence",
            "probe_sums",
            "endpoint_sums",
            "round_sums",
        ] {
            let count = format!("select count(*) from {table}");
            let count = sqlx::query_scalar(AssertSqlSafe(count))
                .fetch_one(pool)
                .await
                .unwrap();
            rows.push((table.to_owned(), count));
        }
        Self {
            incidents: ids("select id from incidents").await,
            largest: ids("select id from incidents order by findings desc limit 1").await[0],
            evidence: ids("select probe_id from evidence where sealed is not null limit 1000")
                .await,
            rounds: ids("select max(id) from rounds where state = 'finished'").await[0],
            probes: ids("select max(id) from probes").await[0],
            rows,
        }
    }

    async fn read(&self, store: &Store, what: &str, time: usize, now: OffsetDateTime) -> usize {
        // Another one each time, all over the weeks.
        let spread = |most: i64| 1 + (time as i64 * 7_919 * 7_919) % most;
        let incident = IncidentId::new(self.incidents[time * 31 % self.incidents.len()]);
        let largest = IncidentId::new(self.largest);
        let number = 1 + time as u64 % ENDPOINTS;
        let name = endpoint_name(number);
        let scenario = SCENARIOS[time % SCENARIOS.len()];
        let endpoints: Vec<_> = (1..=ENDPOINTS as i64).map(EndpointId::new).collect();
        let probe = |id: i64| ProbeNumber::new(id as u64).unwrap();
        match what {
            "incidents, unresolved" => store.incidents(false).await.unwrap().len(),
            "incidents, all" => store.incidents(true).await.unwrap().len(),
            "incident" => store.incident(incident).await.unwrap().map_or(0, |_| 1),
            "incident_events" => store.incident_events(incident).await.unwrap().len(),
            "incident_findings" => store.incident_findings(incident, 20).await.unwrap().len(),
            "incident_findings of the largest" => {
                store.incident_findings(largest, 20).await.unwrap().len()
            }
            "evidence" => store.evidence(100).await.unwrap().len(),
            "access_evidence" => {
                let access = Access {
                    who: "Ada".to_owned(),
                    login: "ada at lab".to_owned(),
                    reason: "benchmark".to_owned(),
                    at: now,
                };
                let probe = probe(self.evidence[time * 31 % self.evidence.len()]);
                store
                    .access_evidence(probe, Act::Show, &access)
                    .await
                    .unwrap()
                    .map_or(0, |_| 1)
            }
            "round" => store
                .round(RoundId::new(spread(self.rounds)))
                .await
                .unwrap()
                .map_or(0, |_| 1),
            "history" => {
                store
                    .history(EndpointId::new(number as i64), scenario)
                    .await
                    .unwrap()
                    .rounds as usize
            }
            "standing" => store
                .standing(&name, day_of(now))
                .await
                .unwrap()
                .map_or(0, |_| 1),
            "spent" => store
                .spent(EndpointId::new(number as i64), day_of(now))
                .await
                .unwrap()
                .tokens() as usize,
            "decided" => store.decided(&endpoints).await.unwrap().len(),
            "abandoned" => store.abandoned(&endpoints, "prober-1").await.unwrap().len(),
            "donor" => {
                let key = key();
                let tenant = TenantNumber::new(1).unwrap();
                let donor = store.donor(tenant, probe(spread(self.probes)), key).await;
                donor.unwrap().map_or(0, |_| 1)
            }
            "schema_state" => store.schema_state().await.unwrap().applied.len(),
            "weeks" => store.weeks().await.unwrap().len(),
            _ => {
                // Nothing is over yet.
                let rules = Rules {
                    reopen_within: time::Duration::DAY,
                    clean_for: time::Duration::weeks(1_000),
                };
                store.resolve_quiet(&rules, now).await.unwrap().len()
            }
        }
    }
}
