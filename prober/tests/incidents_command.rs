//! `prober incidents`, and incidents of rounds by hand and of a running prober.
#![allow(clippy::unwrap_used)]

mod support;

use prober::clock::{Clock as _, SystemClock};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Output;
use support::ledger::{Ledger, leak, violation};
use support::service::{Service, watched_database};
use support::*;
use time::Duration;

/// The `prober incidents` command.
struct Desk<'a> {
    database: &'a TestDatabase,
    config: PathBuf,
}

impl Desk<'_> {
    fn run(&self, args: &[&str]) -> Output {
        let config = self.config.to_str().unwrap();
        tokio::task::block_in_place(|| {
            prober(&[args, &["--config", config]].concat())
                .env("DATABASE_URL", &self.database.url)
                .env("USER", "tester")
                .output()
                .unwrap()
        })
    }

    /// What it tells; its exit code must be this one.
    fn tell(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(&[&["incidents"], args].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert_eq!(code == 2, output.stdout.is_empty(), "{args:?}");
        match code {
            2 => said,
            _ => String::from_utf8(output.stdout).unwrap(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leaking_round_by_hand_names_its_incident_and_people_see_to_it() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let engine = simulate(small_engine(&["stale-pages"])).await;
    let desk = Desk {
        database: &database,
        config: workplace.write(&rehearsal(&engine.base_url), OVERFLOW),
    };
    assert_eq!(desk.tell(0, &["list"]), "no incidents\n");
    let output = desk.run(&["once", "--format", "json", "--seed", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let mut named: Vec<i64> = findings
        .iter()
        .map(|one| one["incident"].as_i64().unwrap())
        .collect();
    named.sort_unstable();
    named.dedup();
    let of_a_leak = |one: &&Value| one["kind"] == "leak";
    let leak = findings.iter().find(of_a_leak).unwrap()["incident"].to_string();

    let listed = desk.tell(1, &["list", "--format", "json"]);
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut ids: Vec<i64> = listed
        .iter()
        .map(|one| one["incident"].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, named);
    let counted: u64 = listed
        .iter()
        .map(|one| one["findings"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, findings.len() as u64);
    let replayed = desk.run(&["replay", "1", "--format", "json"]);
    let replayed: Value = serde_json::from_slice(&replayed.stdout).unwrap();
    for finding in replayed["findings"].as_array().unwrap() {
        assert!(finding["incident"].is_i64(), "{finding}");
    }

    let told = desk.tell(1, &["list"]);
    assert!(told.contains(": leak at rehearsal (") && told.contains(": OPEN; "));
    let done = desk.tell(0, &["acknowledge", &leak, "--as", "Ada", "--note", "on it"]);
    assert_eq!(done, format!("incident {leak} is acknowledged\n"));
    let refused = desk.tell(2, &["acknowledge", &leak]);
    assert!(refused.contains("it is acknowledged already"), "{refused}");
    let shown = desk.tell(0, &["show", &leak]);
    assert!(shown.contains("acknowledged by Ada: on it"), "{shown}");
    let blank = desk.tell(2, &["resolve", &leak, "--note", " "]);
    assert!(blank.contains("--note"), "{blank}");
    desk.tell(0, &["resolve", &leak]);
    let shown = desk.tell(0, &["show", &leak, "--format", "json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["state"], "resolved");
    let who = shown["resolved"]["by"].as_str().unwrap();
    assert!(who.starts_with("tester (uid "), "{who}");
    assert_eq!(shown["events"].as_array().unwrap().len(), 3);
    assert!(!shown["last_findings"].as_array().unwrap().is_empty());
    for id in unresolved(&database).await {
        desk.tell(0, &["resolve", &id.to_string()]);
    }
    assert_eq!(desk.tell(0, &["list"]), "no incidents\n");
    assert!(desk.tell(0, &["list", "--all"]).contains("resolved 2"));
    for act in ["show", "acknowledge", "resolve"] {
        let missing = desk.tell(2, &[act, "9999"]);
        assert!(missing.contains("there is no incident 9999"), "{missing}");
    }
}

/// Incidents that are not resolved.
async fn unresolved(database: &TestDatabase) -> Vec<i64> {
    let ids = sqlx::query_scalar("select id from incidents where state <> 'resolved'");
    ids.fetch_all(&database.pool).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_prober_resolves_what_is_over() {
    let database = watched_database().await;
    let trigger = "create trigger tell after update on incidents execute function tell()";
    sqlx::raw_sql(trigger)
        .execute(&database.pool)
        .await
        .unwrap();
    let ledger = Ledger::open(&database).await;
    let before = SystemClock.now() - Duration::days(3);
    ledger.find(vec![leak(), violation()], before).await;
    ledger.clean("crosstalk", before + Duration::HOUR).await;
    ledger.store.close().await;
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal("http://127.0.0.1:9/v1"), CROSSTALK);
    let mut service = Service::run(&config, &database);
    service
        .until(
            &database,
            "select count(*) from incidents where state = 'resolved' and resolved_by is null",
        )
        .await;
    service.process.terminate();
    tokio::task::block_in_place(|| service.process.0.wait().unwrap());
    let open = "select count(*) from incidents where kind = 'leak' and state = 'open'";
    assert_eq!(database.count(open).await, 1);
    assert!(service.log().contains("an incident is over by itself"));
}
