//! The `prober` command as an operator or a pipeline uses it.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use support::*;

/// `once` with a configuration and a database; standard output and error are held against secrets.
fn once(config: &Path, database: &TestDatabase, more: &[&str]) -> Output {
    let output = prober(
        &[
            &[
                "once",
                "--format",
                "json",
                "--config",
                config.to_str().unwrap(),
            ],
            more,
        ]
        .concat(),
    )
    .env("DATABASE_URL", &database.url)
    .env("RUST_LOG", "trace")
    .output()
    .unwrap();
    assert_no_secrets(&text(&output.stdout));
    assert_no_secrets(&text(&output.stderr));
    assert!(
        !text(&output.stderr).contains("access code"),
        "response or document text in the log"
    );
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Kinds of the findings of a round, each once.
fn kinds(object: &Value) -> std::collections::BTreeSet<String> {
    let findings = object["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["kind"].as_str().unwrap().to_owned())
        .collect()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no JSON: {} {}", text(&output.stdout), text(&output.stderr)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_exits_0_for_clean_and_1_for_a_finding_and_prints_the_documented_object() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    for (faults, code, verdict) in [(&[][..], 0, "clean"), (&["stale-pages"][..], 1, "leak")] {
        let engine = simulate(small_engine(faults)).await;
        let config = workplace.write(&rehearsal(&engine.base_url), OVERFLOW);
        let output = tokio::task::block_in_place(|| once(&config, &database, &["--seed", "1"]));
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        let object = json(&output);
        assert_eq!(object["verdict"], verdict);
        let documented = include_str!("../../docs/once.md");
        for (name, _) in object.as_object().unwrap() {
            assert!(
                documented.contains(&format!("`{name}`")),
                "{name} is not documented"
            );
        }
        for name in [
            "round",
            "endpoint",
            "scenario",
            "seed",
            "verdict",
            "probes",
            "leaks",
            "sensitivity",
            "duration_ms",
            "findings",
        ] {
            assert!(!object[name].is_null(), "{name} is missing");
        }
        assert_eq!(
            (&object["seed"], &object["recorded"]),
            (&1.into(), &true.into())
        );
        assert_eq!(object["findings"].as_array().unwrap().is_empty(), code == 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_and_replay_write_sarif_and_junit_with_the_same_exit_codes() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let engine = simulate(small_engine(&["stale-pages"])).await;
    let config = workplace.write(&rehearsal(&engine.base_url), OVERFLOW);
    let run = |args: &[&str]| {
        let config = ["--config", config.to_str().unwrap()];
        let output = tokio::task::block_in_place(|| {
            prober(&[args, &config].concat())
                .env("DATABASE_URL", &database.url)
                .output()
                .unwrap()
        });
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert_no_secrets(&text(&output.stdout));
        output
    };
    let log = json(&run(&["once", "--seed", "1", "--format", "sarif"]));
    let result = &log["runs"][0]["results"][0];
    assert_eq!(log["version"], "2.1.0");
    assert!(result["properties"]["incident"].is_i64(), "{result}");
    let xml = text(&run(&["replay", "1", "--format", "junit"]).stdout);
    let document = roxmltree::Document::parse(&xml).unwrap();
    let failed = document
        .descendants()
        .find(|node| node.has_tag_name("failure"));
    let case = failed.unwrap().parent().unwrap();
    assert_eq!(case.attribute("name"), Some("no leak"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_exits_3_when_nothing_is_proven_and_says_why() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    // Nothing listens on a port that was just given back.
    let gone = {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let config = workplace.write(&rehearsal(&gone), CROSSTALK);
    let output = tokio::task::block_in_place(|| once(&config, &database, &[]));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let object = json(&output);
    assert_eq!(object["verdict"], "inconclusive");
    assert!(
        object["reason"]
            .as_str()
            .unwrap()
            .contains("connect_failed"),
        "{object}"
    );
    assert_eq!(object["sensitivity"], Value::Null);
    assert_eq!(
        database
            .count("select count(*) from rounds where verdict = 'inconclusive'")
            .await,
        1
    );
    assert!(
        database
            .count("select count(*) from probes where reason = 'connect_failed'")
            .await
            >= 1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_credential_is_inconclusive_with_its_reason() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let engine = simulate(simulator::Config {
        keys: vec![("other".to_owned(), "sk-other".to_owned()).into()],
        ..small_engine(&[])
    })
    .await;
    let config = workplace.write(&rehearsal(&engine.base_url), CROSSTALK);
    let output = tokio::task::block_in_place(|| once(&config, &database, &[]));
    assert_eq!(output.status.code(), Some(3));
    assert!(
        json(&output)["reason"]
            .as_str()
            .unwrap()
            .contains("unauthorised")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_database_is_an_error_without_its_password() {
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal("http://127.0.0.1:9/v1"), CROSSTALK);
    let output = prober(&["once", "--config", config.to_str().unwrap()])
        .env(
            "DATABASE_URL",
            "postgres://prober:s3cr3t-pass@127.0.0.1:9/prober",
        )
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("connect to the database"), "{message}");
    assert!(!message.contains("s3cr3t-pass"), "{message}");
}

#[test]
fn a_missing_key_ring_and_an_open_one_are_errors_that_say_how_to_mend_them() {
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal("http://127.0.0.1:9/v1"), CROSSTALK);
    let ring = workplace.path().join("canary.keys");
    fs::set_permissions(&ring, fs::Permissions::from_mode(0o644)).unwrap();
    let run = |command| {
        prober(&[command, "--config", config.to_str().unwrap()])
            .output()
            .unwrap()
    };
    let once = run("once");
    assert_eq!(once.status.code(), Some(2));
    assert!(
        text(&once.stderr).contains("chmod 600"),
        "{}",
        text(&once.stderr)
    );
    let check = run("check");
    assert_eq!(check.status.code(), Some(2));
    assert!(
        text(&check.stdout).contains("key_ring_file") && text(&check.stdout).contains("chmod 600")
    );
    fs::remove_file(&ring).unwrap();
    assert!(text(&run("once").stderr).contains("canary-gen keygen -o"));
}

#[test]
fn check_reports_every_mistake_at_once_with_file_and_key() {
    let workplace = Workplace::new();
    let path = workplace.path().join("bad.toml");
    fs::write(
        &path,
        "[[endpoints]]\nname = \"A B\"\napi = \"telepathy\"\nbase_url = \"ftp://x\"\nmodel = \"m\"\n\
         context_tokens = 1\n[[endpoints.tenants]]\nname = \"acme\"\nkey_env = \"NO_SUCH_VARIABLE\"\n\
         [[scenarios]]\nkind = \"crosstalk\"\nevery = \"1s\"\ncolour = 1\n",
    )
    .unwrap();
    let output = prober(&["check", "--config", path.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let report = text(&output.stdout);
    for key in [
        "endpoints[0].name",
        "endpoints[0].api",
        "endpoints[0].base_url",
        "endpoints[0].context_tokens",
        "endpoints[0].tenants",
        "key_env",
        "scenarios[0].every",
        "colour",
    ] {
        assert!(report.contains(key), "{key} is not named in:\n{report}");
    }
    assert!(
        report.lines().all(|line| line.contains("bad.toml")),
        "{report}"
    );
    let output = prober(&[
        "check",
        "--format",
        "json",
        "--config",
        path.to_str().unwrap(),
    ])
    .output()
    .unwrap();
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["good"], false);
    assert!(object["mistakes"].as_array().unwrap().len() >= 8);
}

#[test]
fn check_passes_a_good_file() {
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal("http://127.0.0.1:9/v1"), CROSSTALK);
    let output = prober(&["check", "--config", config.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn simulate_names_the_known_faults_when_it_does_not_know_one() {
    let output = prober(&["simulate", "--fault", "gremlins"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("stale-pages"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_key_that_simulate_cannot_read_is_refused_without_being_shown() {
    for key in ["sk-acme-4f1c9d", "=sk-acme-4f1c9d"] {
        let output = prober(&["simulate", "--key", key]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert!(message.contains("TENANT=KEY"), "{message}");
        assert_no_secrets(&message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_runs_the_same_schedule_and_finds_the_same_whatever_is_configured_now() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let engine = simulate(small_engine(&["stale-pages"])).await;
    let config = workplace.write(&rehearsal(&engine.base_url), OVERFLOW);
    let first = tokio::task::block_in_place(|| once(&config, &database, &["--seed", "5"]));
    let first = json(&first);
    assert_eq!(first["verdict"], "leak");
    // The scenario is gone from the configuration; the round knows it.
    let config = workplace.write(&rehearsal(&engine.base_url), CROSSTALK);
    let round = first["round"].to_string();
    let config = config.to_str().unwrap();
    let replay = |round: &str| {
        tokio::task::block_in_place(|| {
            prober(&["replay", "--config", config, "--format", "json", round])
                .env("DATABASE_URL", &database.url)
                .output()
                .unwrap()
        })
    };
    let output = replay(&round);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let again = json(&output);
    assert_eq!(
        (&again["replay_of"], &again["seed"], &again["scenario"]),
        (&first["round"], &first["seed"], &first["scenario"])
    );
    assert_eq!(kinds(&again), kinds(&first));
    assert!(text(&output.stderr).contains("the same as in the round it repeats: leak"));
    let planned = "select count(*) from (
        select step, tenant_id, role, tokens_wanted, document_seed, layout, question from probes where round_id = 1 and role <> 'calibration'
        except all
        select step, tenant_id, role, tokens_wanted, document_seed, layout, question from probes where round_id = 2 and role <> 'calibration') d";
    assert_eq!(database.count(planned).await, 0);
    let unknown = replay("999");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("there is no round 999 in the store"));
}
