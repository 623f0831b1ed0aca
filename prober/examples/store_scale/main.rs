//! How many records the store takes in a second, and how fast it answers when there are millions.
//!
//! ```text
//! scripts/bench-store [rate | answers] [--probes N] [--findings N] [--json]
//! ```
//!
//! `rate`: batches of judged probes against bare inserts of as many rows into tables without index, check or reference.
//! `answers`: fills a database (`fill.rs`), then asks whatever dashboards and commands ask, again and again, in a warm
//! cache. Makes a database of its own on the server of TEST_DATABASE_URL and drops it.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

mod answers;
mod fill;
#[path = "../../tests/support/grafana.rs"]
mod grafana;
mod rate;

use clap::{Parser, Subcommand};
use prober::clock::{Clock as _, SystemClock};
use prober::store::{Location, Store};
use secrecy::SecretString;
use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use std::time::Duration;

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// Records a second.
    Rate {
        /// So many records of each size of batch, at most.
        #[arg(long, default_value_t = 60_000)]
        records: usize,
    },
    /// Times of answers.
    Answers {
        /// How many probes there are.
        #[arg(long, default_value_t = 20_000_000)]
        probes: u64,
        /// How many findings there are.
        #[arg(long, default_value_t = 100_000)]
        findings: u64,
        /// How often each is asked.
        #[arg(long, default_value_t = 40)]
        times: usize,
        /// Leave the database, and use it if it is there.
        #[arg(long)]
        keep: bool,
    },
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    let now = SystemClock.now();
    match args.what {
        What::Rate { records } => {
            let database = Database::make("bench_rate", false).await;
            let store = database.store(4).await;
            rate::run(&store, &database.pool().await, now, records, args.json).await;
            store.close().await;
            database.drop().await;
        }
        What::Answers {
            probes,
            findings,
            times,
            keep,
        } => {
            let database = Database::make("bench_answers", keep).await;
            let (store, pool) = (database.store(1).await, database.pool().await);
            if !database.is_old {
                let size = fill::Size { probes, findings };
                fill::fill(&store, &pool, now, size).await;
            }
            answers::run(&store, &pool, now, times, args.json).await;
            store.close().await;
            pool.close().await;
            if !keep {
                database.drop().await;
            }
        }
    }
}

/// A database of our own on the server.
struct Database {
    server: String,
    name: &'static str,
    is_old: bool,
}

impl Database {
    async fn make(name: &'static str, keep: bool) -> Self {
        let server = std::env::var("TEST_DATABASE_URL");
        let server = server.expect("TEST_DATABASE_URL is not set: run scripts/bench-store");
        let mut admin = PgConnection::connect(&server).await.unwrap();
        let is_old: bool =
            sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
                .bind(name)
                .fetch_one(&mut admin)
                .await
                .unwrap();
        if !(is_old && keep) {
            let again = [
                format!("drop database if exists {name}"),
                format!("create database {name}"),
            ];
            for statement in again {
                admin.execute(AssertSqlSafe(statement)).await.unwrap();
            }
        }
        admin.close().await.unwrap();
        Self {
            server,
            name,
            is_old: is_old && keep,
        }
    }

    fn url(&self) -> String {
        format!("{}/{}", self.server.rsplit_once('/').unwrap().0, self.name)
    }

    async fn store(&self, max_connections: u32) -> Store {
        let location = Location::Server {
            url: SecretString::from(self.url()),
            max_connections,
        };
        Store::open(&location).await.unwrap()
    }

    async fn pool(&self) -> PgPool {
        PgPool::connect(&self.url()).await.unwrap()
    }

    async fn drop(self) {
        let mut admin = PgConnection::connect(&self.server).await.unwrap();
        let drop = format!("drop database {} with (force)", self.name);
        admin.execute(AssertSqlSafe(drop)).await.unwrap();
        admin.close().await.unwrap();
    }
}

/// In milliseconds, with two digits behind the point.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 100.0
}
