//! Fills a database with the facts of thirteen weeks, by statements over whole sets.
//!
//! Forty endpoints with eleven scenarios each, whose rounds have twenty probes and are spread evenly over the time; two
//! fifths of the findings are of one endpoint, which has one defect the whole time. The sums are computed from the
//! rows. Sightings are left out (nothing that is timed reads them), and triggers do not run.

use canary_gen::{KeyId, KeyRing};
use prober::store::{EndpointFacts, Store};
use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, Connection, Executor as _};
use std::time::Instant;
use time::{Duration, OffsetDateTime};

pub(crate) const ENDPOINTS: u64 = 40;
pub(crate) const SCENARIOS: [&str; 11] = [
    "overflow",
    "crosstalk",
    "cancel",
    "pressure",
    "return",
    "sandwich",
    "boundary",
    "burst",
    "prefix",
    "twin",
    "identity",
];
const PROBES_A_ROUND: u64 = 20;
const WEEKS: i64 = 13;

/// How much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) probes: u64,
    pub(crate) findings: u64,
}

/// The key that all canaries are minted with.
pub(crate) fn key() -> KeyId {
    KeyRing::from_root(&[1; 32]).minting().id()
}

/// The name of an endpoint, from 1.
pub(crate) fn endpoint_name(number: u64) -> String {
    format!("endpoint-{number:02}")
}

pub(crate) async fn fill(store: &Store, pool: &PgPool, now: OffsetDateTime, size: Size) {
    let begins_at = now - Duration::weeks(WEEKS);
    let begun = Instant::now();
    let told = |what: &str| eprintln!("fill: {what} after {:.0} s", begun.elapsed().as_secs_f64());
    register(store, begins_at).await;
    for week in 0..=WEEKS {
        store
            .prepare_weeks(begins_at + Duration::weeks(week))
            .await
            .unwrap();
    }
    let lines = ENDPOINTS * SCENARIOS.len() as u64;
    let ticks = (size.probes / PROBES_A_ROUND / lines).max(2 * WEEKS as u64);
    let probes = (ticks * lines * PROBES_A_ROUND) as f64;
    let words = Words {
        begins_at,
        step_s: (Duration::weeks(WEEKS).whole_seconds() as u64 / ticks).max(1),
        ticks,
        // Of a million probes of the first endpoint, and of the others.
        often: 0.4 * size.findings as f64 / (probes / ENDPOINTS as f64) * 1e6,
        seldom: 0.6 * size.findings as f64 / (probes * 39.0 / 40.0) * 1e6,
    };
    run(pool, &[words.put(include_str!("fill/begin.sql"))]).await;
    told("rounds are there");
    // A connection a core: two halves of the weeks at once.
    let week = |week: i64| {
        let from = begins_at + Duration::weeks(week);
        let text = words.put(include_str!("fill/week.sql"));
        text.replace("{from}", &from.to_string())
            .replace("{until}", &(from + Duration::WEEK).to_string())
    };
    let (odd, even): (Vec<_>, Vec<_>) = (0..WEEKS)
        .map(|at| (at, week(at)))
        .partition(|(at, _)| at % 2 == 1);
    let texts =
        |weeks: Vec<(i64, String)>| weeks.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    let (odd, even) = (texts(odd), texts(even));
    tokio::join!(run(pool, &odd), run(pool, &even));
    told("probes are there");
    run(pool, &[words.put(include_str!("fill/end.sql"))]).await;
    told("sums, findings and incidents are there");
    pool.execute("vacuum (analyze)").await.unwrap();
    told("vacuumed");
}

async fn register(store: &Store, at: OffsetDateTime) {
    for number in 1..=ENDPOINTS {
        let facts = EndpointFacts {
            name: endpoint_name(number),
            api: "openai-chat",
            base_url: format!("https://{number}.example/v1"),
            model: "m".to_owned(),
            context_tokens: 1_000_000,
            tenants: ["acme", "globex", "initech"].map(str::to_owned).to_vec(),
        };
        let endpoint = store.register_endpoint(&facts, at).await.unwrap();
        let names = SCENARIOS.map(str::to_owned);
        store.open_lines(endpoint.id, &names, at).await.unwrap();
        store
            .record_build(endpoint.id, ("m", "fp_1"), at)
            .await
            .unwrap();
    }
}

/// What stands in the statements.
struct Words {
    begins_at: OffsetDateTime,
    step_s: u64,
    ticks: u64,
    often: f64,
    seldom: f64,
}

impl Words {
    fn put(&self, sql: &str) -> String {
        sql.replace("{begins_at}", &self.begins_at.to_string())
            .replace("{step_s}", &self.step_s.to_string())
            .replace("{ticks}", &self.ticks.to_string())
            .replace("{often}", &self.often.to_string())
            .replace("{seldom}", &self.seldom.to_string())
            .replace("{key}", &key().to_string())
            .replace("{scenarios}", &SCENARIOS.join(","))
            .replace("{probes_a_round}", &PROBES_A_ROUND.to_string())
    }
}

async fn run(pool: &PgPool, scripts: &[String]) {
    let mut connection = pool.acquire().await.unwrap();
    for setting in [
        "set session_replication_role = replica",
        "set work_mem = '1GB'",
        "set maintenance_work_mem = '1GB'",
        "set synchronous_commit = off",
    ] {
        connection.execute(setting).await.unwrap();
    }
    for script in scripts {
        sqlx::raw_sql(AssertSqlSafe(script.as_str()))
            .execute(&mut *connection)
            .await
            .unwrap();
    }
    // Not back to the pool with these settings.
    connection.detach().close().await.unwrap();
}
