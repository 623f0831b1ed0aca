//! What proves a finding is kept, sealed, and nobody reads it without leaving a record.
#![allow(clippy::unwrap_used)]

mod support;

use canary_gen::ProbeNumber;
use prober::evidence;
use prober::store::{Act, Store};
use serde_json::Value;
use sqlx::Row as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use support::records::access;
use support::*;
use time::OffsetDateTime;
use time::macros::datetime;

const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

/// The `prober evidence` command of a folder with a configuration.
struct Desk<'a> {
    database: &'a TestDatabase,
    config: PathBuf,
}

impl Desk<'_> {
    fn run(&self, args: &[&str]) -> Output {
        let config = self.config.to_str().unwrap();
        let output = tokio::task::block_in_place(|| {
            prober(&[&["evidence"], args, &["--config", config]].concat())
                .env("DATABASE_URL", &self.database.url)
                .env("USER", "tester")
                .output()
                .unwrap()
        });
        assert!(!text(&output.stderr).contains("access code"));
        output
    }

    fn good(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    fn refused(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert_eq!(text(&output.stdout), "");
        text(&output.stderr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A round at an engine with the founding incident's fault, by the command itself; its findings.
async fn leaking_round(database: &TestDatabase, workplace: &Workplace) -> (PathBuf, Vec<Value>) {
    let engine = simulate(small_engine(&["stale-pages"])).await;
    let config = workplace.write(&rehearsal(&engine.base_url), OVERFLOW);
    let output = tokio::task::block_in_place(|| {
        let config = config.to_str().unwrap();
        let args = [
            "once", "--format", "json", "--seed", "1", "--config", config,
        ];
        prober(&args)
            .env("DATABASE_URL", &database.url)
            .env("RUST_LOG", "trace")
            .output()
            .unwrap()
    });
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("access code"));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    (config, findings.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_response_behind_a_leak_is_shown_as_it_came_to_whoever_says_why() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let (config, findings) = leaking_round(&database, &workplace).await;
    let leak = findings.iter().find(|finding| finding["kind"] == "leak");
    let probe = leak.unwrap()["probe"].to_string();
    let desk = Desk {
        database: &database,
        config,
    };

    let listed = desk.good(&["list", "--format", "json"]);
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let listed = listed
        .iter()
        .find(|one| one["probe"] == leak.unwrap()["probe"])
        .unwrap();
    assert!(
        listed["findings"]
            .as_array()
            .unwrap()
            .contains(&"leak".into())
    );
    assert_eq!(
        (&listed["shown"], &listed["erased"]),
        (&0.into(), &Value::Null)
    );

    let refused = desk.refused(&["show", &probe, "--reason", " "]);
    assert!(refused.contains("--reason is empty"), "{refused}");
    assert_eq!(
        database
            .count("select count(*) from evidence_accesses")
            .await,
        0
    );

    let shown = desk.good(&["show", &probe, "--reason", "incident 7", "--as", "Ada"]);
    assert!(shown.starts_with("HTTP 200\r\n"), "{shown}");
    assert!(
        shown.contains("\r\ncontent-type: text/event-stream"),
        "{shown}"
    );
    let body = desk
        .run(&["show", &probe, "--reason", "incident 7", "--body"])
        .stdout;
    assert!(
        shown
            .as_bytes()
            .ends_with(&[b"\r\n\r\n", &body[..]].concat())
    );
    let bytes = "select response_bytes from probes where id = $1";
    let received: i64 = sqlx::query_scalar(bytes)
        .bind(probe.parse::<i64>().unwrap())
        .fetch_one(&database.pool)
        .await
        .unwrap();
    assert_eq!(body.len() as i64, received, "all of the body, as it came");

    // It proves the leak by itself, long after.
    let ring = canary_gen::key_file::load(&workplace.path().join("canary.keys")).unwrap();
    let found = canary_gen::scan::scan(&ring, words(&body).as_bytes());
    let donor = leak.unwrap()["donor"]["probe"].as_u64().unwrap();
    assert!(found.iter().any(|one| one.identity.probe.get() == donor));

    let accesses = "select who, login, reason, act, probe_id from evidence_accesses order by id";
    let accesses = sqlx::query(accesses)
        .fetch_all(&database.pool)
        .await
        .unwrap();
    assert_eq!(accesses.len(), 2);
    let column = |row: usize, name: &str| accesses[row].get::<String, _>(name);
    assert_eq!(
        (column(0, "who").as_str(), column(0, "reason").as_str()),
        ("Ada", "incident 7")
    );
    assert!(column(0, "login").starts_with("tester (uid "));
    assert_eq!(column(1, "who"), column(1, "login"));
    assert_eq!(accesses[0].get::<i64, _>("probe_id").to_string(), probe);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_finding_has_its_evidence_and_nothing_else_is_kept_or_can_be_read_from_the_database()
{
    let rehearsal = Rehearsal::new(&["stale-pages"], OVERFLOW).await;
    let Rehearsal {
        database,
        config,
        store,
        ..
    } = &rehearsal;
    let report = run_round(config, store, 1).await;
    assert_eq!(report.verdict, "leak", "{report}");
    assert!(
        report.findings.iter().all(|finding| finding.evidence),
        "{report}"
    );
    let without = "select count(*) from findings where not exists (
        select from finding_evidence where finding_id = findings.id and finding_evidence.probe_id = findings.probe_id)";
    assert_eq!(database.count(without).await, 0);
    let unneeded = "select count(*) from evidence where not exists (
        select from finding_evidence where finding_evidence.probe_id = evidence.probe_id)";
    assert_eq!(database.count(unneeded).await, 0);
    assert!(database.count("select count(*) from evidence").await >= 1);
    let unsealed = "select count(*) from probes left join evidence on probe_id = id
                    where probe_id is null and response_bytes > 0";
    assert!(
        database.count(unsealed).await > 1,
        "clean responses are not kept"
    );

    // The canaries that leaked are in the evidence, so they are in no dump.
    let keys = config.evidence.keys.as_ref().unwrap();
    let ring = canary_gen::key_file::load(&config.key_ring_file).unwrap();
    let dump = database.dump().await;
    assert!(
        dump.contains("\\x01"),
        "the sealed responses are in the dump"
    );
    assert_eq!(canary_gen::scan::scan(&ring, dump.as_bytes()), vec![]);
    for probe in kept(database).await {
        let access = access("test", NOW);
        let sealed = store
            .access_evidence(probe, Act::Show, &access)
            .await
            .unwrap()
            .unwrap();
        let response = evidence::open(keys, &sealed).unwrap();
        let words = words(&response.body);
        assert_ne!(canary_gen::scan::scan(&ring, words.as_bytes()), vec![]);
        let lines = text(&response.body);
        for line in lines.lines().filter(|line| line.len() > 12) {
            assert!(!dump.contains(line), "a line of a response is in the dump");
        }
    }
    store.clone().close().await;
}

/// The model's words in a stream.
fn words(body: &[u8]) -> String {
    let body = text(body);
    let events = body.lines().filter_map(|line| line.strip_prefix("data: {"));
    events
        .map(|event| {
            let event: Value = serde_json::from_str(&format!("{{{event}")).unwrap();
            let words = event["choices"][0]["delta"]["content"].as_str();
            words.unwrap_or_default().to_owned()
        })
        .collect()
}

async fn kept(database: &TestDatabase) -> Vec<ProbeNumber> {
    let probes = "select probe_id from evidence where sealed is not null order by 1";
    let probes: Vec<i64> = sqlx::query_scalar(probes)
        .fetch_all(&database.pool)
        .await
        .unwrap();
    let number = |probe: &i64| ProbeNumber::new(probe.cast_unsigned()).unwrap();
    probes.iter().map(number).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_key_nothing_is_kept_and_it_is_said() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let engine = simulate(small_engine(&["stale-pages"])).await;
    let config = workplace.write(&rehearsal(&engine.base_url), OVERFLOW);
    let without = std::fs::read_to_string(&config)
        .unwrap()
        .replace("key_file = \"evidence.keys\"", "");
    std::fs::write(&config, without).unwrap();
    let run = |command: &str| {
        tokio::task::block_in_place(|| {
            prober(&[command, "--config", config.to_str().unwrap()])
                .env("DATABASE_URL", &database.url)
                .output()
                .unwrap()
        })
    };
    let (once, check) = (run("once"), run("check"));
    assert_eq!(
        (once.status.code(), check.status.code()),
        (Some(1), Some(0))
    );
    for said in [text(&once.stderr), text(&check.stdout)] {
        assert_eq!(
            said.matches("no evidence key is configured").count(),
            1,
            "{said}"
        );
    }
    assert_eq!(database.count("select count(*) from evidence").await, 0);
    assert!(database.count("select count(*) from findings").await > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_probes_prove_together_has_the_responses_of_all_that_prove_it() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let found = sites::look_for(
        &store,
        simulator::Fault::ResponseCacheWithoutTenant,
        "twin",
        1,
        3,
    )
    .await;
    assert!(found.kinds.contains(&"shared_response"), "{found:?}");
    let without = "select count(*) from findings where kind = 'shared_response' and (
        select count(*) from finding_evidence
        where finding_id = findings.id and probe_id in (findings.probe_id, (detail ->> 'first_probe')::bigint)) <> 2";
    assert_eq!(database.count(without).await, 0);
    let unneeded = "select count(*) from evidence where not exists (
        select from finding_evidence where finding_evidence.probe_id = evidence.probe_id)";
    assert_eq!(database.count(unneeded).await, 0);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erased_evidence_is_gone_its_findings_stay_and_who_erased_it_is_recorded() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let (config, findings) = leaking_round(&database, &workplace).await;
    let desk = Desk {
        database: &database,
        config,
    };
    let probes = kept(&database).await;
    let probe = probes[0].get().to_string();
    desk.good(&["erase", &probe, "--reason", "asked for"]);
    for again in [
        &["erase", &probe, "--reason", "x"][..],
        &["show", &probe, "--reason", "x"],
    ] {
        let refused = desk.refused(again);
        assert!(
            refused.contains("there is no evidence of probe"),
            "{refused}"
        );
    }
    assert_eq!(
        database
            .count("select count(*) from evidence_accesses where act = 'erase'")
            .await,
        1
    );
    assert_eq!(
        database.count("select count(*) from findings").await,
        findings.len() as i64
    );
    assert_eq!(kept(&database).await, probes[1..]);
    assert!(desk.good(&["list"]).contains("ERASED"));

    // The rest goes when it is older than it is kept.
    assert!(desk.good(&["prune"]).contains("erased 0 responses"));
    sqlx::query("update evidence set kept_at = kept_at - interval '31 days'")
        .execute(&database.pool)
        .await
        .unwrap();
    let rest = format!("erased {} responses", probes.len() - 1);
    assert!(desk.good(&["prune"]).contains(&rest));
    assert_eq!(kept(&database).await, []);
    assert_eq!(
        database.count("select count(*) from findings").await,
        findings.len() as i64
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sealed_with_an_older_key_opens_and_is_sealed_anew_with_the_newest() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let (config, _) = leaking_round(&database, &workplace).await;
    let desk = Desk {
        database: &database,
        config,
    };
    let probe = kept(&database).await[0].get().to_string();
    let show = ["show", &probe, "--reason", "rotation"];
    let before = desk.good(&show);
    let keys = workplace.path().join("evidence.keys");
    let old = std::fs::read_to_string(&keys).unwrap();
    let added = tokio::task::block_in_place(|| {
        let args = ["evidence", "keygen", "--add", "-o", keys.to_str().unwrap()];
        prober(&args).output().unwrap()
    });
    assert_eq!(added.status.code(), Some(0), "{}", text(&added.stderr));
    assert_eq!(desk.good(&show), before, "the old key still opens");
    let resealed = desk.good(&["reseal"]);
    assert!(!resealed.contains("sealed 0 "), "{resealed}");
    assert!(desk.good(&["reseal"]).contains("sealed 0 responses"));
    forget(&keys, &old);
    assert_eq!(desk.good(&show), before, "the new key opens by itself");

    // Moved to another probe, it does not open, and the attempt is recorded.
    let swap = "update evidence set sealed = (select sealed from evidence order by probe_id desc limit 1)
                where probe_id = (select min(probe_id) from evidence) and (select count(*) from evidence) > 1";
    sqlx::query(swap).execute(&database.pool).await.unwrap();
    let refused = desk.refused(&show);
    assert!(refused.contains("does not open"), "{refused}");
    let shown = "select count(*) from evidence_accesses where act = 'show'";
    assert_eq!(database.count(shown).await, 4);
}

/// Takes the keys of a text out of a file of keys.
fn forget(keys: &Path, old: &str) {
    let now = std::fs::read_to_string(keys).unwrap();
    let is_old = |line: &str| line.starts_with("evidence-key") && old.contains(line);
    let left: Vec<&str> = now.lines().filter(|line| !is_old(line)).collect();
    assert!(left.len() < now.lines().count());
    std::fs::write(keys, left.join("\n")).unwrap();
}
