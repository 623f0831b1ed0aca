//! The `prober` command as an operator or a pipeline uses it.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::*;

fn prober(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prober"));
    command
        .args(args)
        .env_remove("DATABASE_URL")
        .env_remove("RUST_LOG")
        .stdin(Stdio::null());
    command
}

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

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no JSON: {} {}", text(&output.stdout), text(&output.stderr)))
}

fn rehearsal(base_url: &str) -> EndpointText<'_> {
    EndpointText {
        name: "rehearsal",
        base_url,
        context_tokens: 16_384,
        more: "[endpoints.limits]\nconnect_timeout = \"1s\"\nfirst_byte_timeout = \"2s\"\nidle_timeout = \"1s\"\ntotal_timeout = \"5s\"",
    }
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

/// A running `prober`; killed when the test ends.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Service {
    fn terminate(&self) {
        let status = Command::new("kill")
            .args(["-TERM", &self.0.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }
}

/// Waits for a condition of the database.
async fn until(database: &TestDatabase, query: &'static str) {
    let begun = Instant::now();
    while database.count(query).await == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "never came true: {query}"
        );
        tokio::task::yield_now().await;
    }
}

fn run(config: &Path, database: &TestDatabase) -> Service {
    let child = prober(&["run", "--config", config.to_str().unwrap()])
        .env("DATABASE_URL", &database.url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Service(child)
}

const EVERY_TEN_SECONDS: &str = "[log]\nformat = \"json\"\n[[scenarios]]\nkind = \"crosstalk\"\nevery = \"10s\"\njitter = \"0s\"\ntokens = 2000\nwaves = 50\nstride_tokens = 500\n";

/// An engine that takes about a second for each document, so that a round is under way for a while.
fn slow_engine() -> simulator::Config {
    simulator::Config {
        speeds: simulator::Speeds {
            prefill: Some(20_000.0),
            ..simulator::Speeds::default()
        },
        ..small_engine(&[])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_keeps_to_its_grid_and_sigterm_drains_without_losing_a_probe() {
    let database = TestDatabase::new().await;
    // The schema must stand before the test looks at it.
    prober::store::Store::open(&database.location())
        .await
        .unwrap()
        .close()
        .await;
    let engine = simulate(slow_engine()).await;
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal(&engine.base_url), EVERY_TEN_SECONDS);
    let mut service = run(&config, &database);
    until(
        &database,
        "select count(*) from probes where role = 'peer' and sent_at is not null",
    )
    .await;
    service.terminate();
    let status = tokio::task::block_in_place(|| service.0.wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert_eq!(
        database
            .count("select count(*) from rounds where state = 'running'")
            .await,
        0
    );
    assert_eq!(
        database
            .count("select count(*) from probes where sent_at is not null and verdict is null")
            .await,
        0
    );
    assert_eq!(
        database
            .count("select count(*) from rounds where reason = 'stopped before its end'")
            .await,
        1
    );
    let mut log = String::new();
    service
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut log)
        .unwrap();
    assert_no_secrets(&log);
    let lines: Vec<Value> = log
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line["message"] == "round ended" && line["verdict"] == "inconclusive"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_prober_leaves_every_sent_probe_attributable_and_the_next_one_goes_on() {
    let database = TestDatabase::new().await;
    prober::store::Store::open(&database.location())
        .await
        .unwrap()
        .close()
        .await;
    let engine = simulate(slow_engine()).await;
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal(&engine.base_url), EVERY_TEN_SECONDS);
    let mut service = run(&config, &database);
    until(
        &database,
        "select count(*) from probes where role = 'peer' and verdict is not null",
    )
    .await;
    service.0.kill().unwrap();
    service.0.wait().unwrap();
    let unlocated = database
        .count("select count(*) from probes where sent_at is not null and (measure_unit is null or slots is null)")
        .await;
    assert_eq!(unlocated, 0);
    let service = run(&config, &database);
    until(
        &database,
        "select count(*) from probes where role = 'peer' and verdict is not null and round_id > 1",
    )
    .await;
    drop(service);
}

#[test]
fn simulate_prints_its_address_first_and_serves_there() {
    let mut service = Service(
        prober(&[
            "simulate",
            "--listen",
            "127.0.0.1:0",
            "--context",
            "4096",
            "--key",
            "acme=sk-acme-4f1c9d",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap(),
    );
    let mut first = String::new();
    BufReader::new(service.0.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let address = first
        .trim()
        .strip_prefix("http://")
        .unwrap()
        .strip_suffix("/v1")
        .unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    use std::io::Write;
    stream
        .write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    service.terminate();
    assert_eq!(service.0.wait().unwrap().code(), Some(0));
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
