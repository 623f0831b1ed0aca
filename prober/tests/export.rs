//! `prober export`, as a collector uses it.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use sqlx::{Connection as _, PgConnection};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use support::ledger::{Ledger, NOW, anomaly, leak, violation};
use support::*;
use time::Duration;

struct Collector<'a> {
    database: &'a TestDatabase,
    config: PathBuf,
}

impl<'a> Collector<'a> {
    fn new(database: &'a TestDatabase, workplace: &Workplace) -> Self {
        let config = workplace.write(&rehearsal("http://127.0.0.1:9/v1"), CROSSTALK);
        Self { database, config }
    }

    fn command(&self, args: &[&str]) -> Command {
        let config = ["--config", self.config.to_str().unwrap()];
        let mut command = prober(&[&["export"], args, &config].concat());
        command.env("DATABASE_URL", &self.database.url);
        command
    }

    /// What it writes, and the cursor it tells.
    fn run(&self, args: &[&str]) -> (String, String) {
        let mut command = self.command(args);
        told(&tokio::task::block_in_place(|| command.output().unwrap()))
    }

    /// The numbers of the findings it writes, and the cursor.
    fn numbers(&self, args: &[&str]) -> (Vec<i64>, String) {
        let (text, cursor) = self.run(&[&["--format", "json"], args].concat());
        (numbers(&text), cursor)
    }
}

fn told(output: &Output) -> (String, String) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let cursor = said.split("--after ").nth(1).unwrap().trim().to_owned();
    (String::from_utf8(output.stdout.clone()).unwrap(), cursor)
}

fn numbers(text: &str) -> Vec<i64> {
    let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["finding"].as_i64();
    text.lines().map(|line| number(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_are_chosen_and_written_in_each_format() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let collector = Collector::new(&database, &workplace);
    let ledger = Ledger::open(&database).await;
    assert_eq!(collector.numbers(&[]), (vec![], "0".to_owned()));
    let incidents = ledger.find(vec![leak(), violation()], NOW).await;
    let later = NOW + Duration::HOUR;
    ledger.find(vec![anomaly(1)], later).await;
    ledger.store.close().await;

    for (args, expected) in [
        (&[][..], &[1, 2, 3][..]),
        (&["--kind", "leak"], &[1]),
        (&["--kind", "leak", "--kind", "usage_anomaly"], &[1, 3]),
        (&["--since", "2026-12-01T10:30:00Z"], &[3]),
        (&["--until", "2026-12-01T10:30:00Z"], &[1, 2]),
        (&["--endpoint", "glm"], &[1, 2, 3]),
        (&["--endpoint", "another"], &[]),
        (&["--after", "1"], &[2, 3]),
    ] {
        let (numbers, cursor) = collector.numbers(args);
        assert_eq!((&*numbers, &*cursor), (expected, "3"), "{args:?}");
    }

    let (text, _) = collector.run(&["--kind", "leak"]);
    let event: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(event["class_uid"], 2004);
    assert_eq!(
        event["finding_info"]["uid_alt"],
        "other_tenant/over_limit/text"
    );
    let incident = incidents[0].to_string();
    assert_eq!(event["metadata"]["correlation_uid"], *incident);
    let (text, _) = collector.run(&["--format", "csv"]);
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("finding,found_at,kind,"));
    assert!(lines[1].starts_with("1,2026-12-01T10:00:00Z,leak,confirmed,false,glm,"));

    let mut wrong = collector.command(&["--since", "yesterday"]);
    let output = tokio::task::block_in_place(|| wrong.output().unwrap());
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_of_drills_are_left_out_unless_they_are_wanted() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let collector = Collector::new(&database, &workplace);
    let ledger = Ledger::open(&database).await;
    ledger.find(vec![leak()], NOW).await;
    ledger.store.close().await;
    let drill = "update endpoints set name = '(drill)'";
    sqlx::query(drill).execute(&database.pool).await.unwrap();
    assert_eq!(collector.numbers(&[]), (vec![], "1".to_owned()));
    let (text, _) = collector.run(&["--drills", "--format", "json"]);
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["drill"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finding_that_is_committed_after_a_later_one_is_not_lost() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let collector = Collector::new(&database, &workplace);
    let ledger = Ledger::open(&database).await;
    ledger.find(vec![violation()], NOW).await;

    // Number 2 is taken, number 3 is there, and 2 is not to be seen.
    let mut slow = PgConnection::connect(&database.url).await.unwrap();
    let mut slow = slow.begin().await.unwrap();
    let copy = "insert into findings (round_id, probe_id, probe_planned_at, tenant_id, kind, certainty, found_at, detail,
                                      incident_id)
                select round_id, probe_id, probe_planned_at, tenant_id, kind, certainty, found_at, detail, incident_id
                from findings where id = 1";
    sqlx::query(copy).execute(&mut *slow).await.unwrap();
    ledger.find(vec![anomaly(1)], NOW + Duration::HOUR).await;
    ledger.store.close().await;
    let seen = "select count(*) from findings where id in (2, 3)";
    assert_eq!(database.count(seen).await, 1);

    let mut command = collector.command(&["--format", "json", "--after", "1"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let export = command.spawn().unwrap();
    let looked = "select count(*) from pg_stat_activity
                  where datname = current_database() and query like '/* finding_writers */%'";
    while database.count(looked).await == 0 {}
    slow.commit().await.unwrap();
    let output = tokio::task::block_in_place(|| export.wait_with_output().unwrap());
    let (text, cursor) = told(&output);
    assert_eq!((numbers(&text), &*cursor), (vec![2, 3], "3"));
    assert_eq!(collector.numbers(&["--after", &cursor]).0, [0; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_findings_than_are_held_at_a_time_come_in_order_and_each_once() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let collector = Collector::new(&database, &workplace);
    let ledger = Ledger::open(&database).await;
    ledger.find(vec![violation()], NOW).await;
    ledger.store.close().await;
    let copies = "insert into findings (round_id, probe_id, probe_planned_at, tenant_id, kind, certainty, found_at, detail)
                  select round_id, probe_id, probe_planned_at, tenant_id, kind, certainty, found_at, detail
                  from findings, generate_series(1, 1499)";
    sqlx::query(copies).execute(&database.pool).await.unwrap();
    let (numbers, cursor) = collector.numbers(&[]);
    assert_eq!(numbers, (1..=1500).collect::<Vec<_>>());
    assert_eq!(cursor, "1500");
}

#[cfg(feature = "embedded-postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_database_is_exported_too() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let collector = Collector::new(&database, &workplace);
    let mut command = collector.command(&[]);
    command.env_remove("DATABASE_URL");
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    assert_eq!(told(&output), (String::new(), "0".to_owned()));
}
