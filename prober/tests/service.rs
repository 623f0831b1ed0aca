//! `prober run` and `prober simulate` as processes: time grid, signals, crashes.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use support::service::{Process, Service, watched_database};
use support::wire::{Passage, Wire};
use support::*;

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
    let database = watched_database().await;
    let engine = simulate(slow_engine()).await;
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal(&engine.base_url), EVERY_TEN_SECONDS);
    let mut service = Service::run(&config, &database);
    service
        .until(
            &database,
            "select count(*) from probes where role = 'peer' and sent_at is not null",
        )
        .await;
    service.process.terminate();
    let status = tokio::task::block_in_place(|| service.process.0.wait().unwrap());
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
    let log = service.log();
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
    let database = watched_database().await;
    let engine = simulate(slow_engine()).await;
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal(&engine.base_url), EVERY_TEN_SECONDS);
    let mut service = Service::run(&config, &database);
    service
        .until(
            &database,
            "select count(*) from probes where role = 'peer' and verdict is not null",
        )
        .await;
    service.process.kill();
    let unlocated = database
        .count("select count(*) from probes where sent_at is not null and (measure_unit is null or slots is null)")
        .await;
    assert_eq!(unlocated, 0);
    let service = Service::run(&config, &database);
    service.until(&database, "select count(*) from probes where role = 'peer' and verdict is not null and round_id > 1").await;
    drop(service);
}

#[test]
fn simulate_prints_its_address_first_and_serves_there() {
    let mut service = Process(
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prober_without_its_database_says_so_and_begins_when_it_is_there() {
    let database = watched_database().await;
    let engine = simulate(small_engine(&[])).await;
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal(&engine.base_url), EVERY_TEN_SECONDS);
    let wire = Wire::to_server(&database.url).await;
    wire.set(Passage::Closed);
    let mut service = Service::run_at(&config, &wire.url(&database.url));
    let address = service.address().await;
    // As the prober does.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let get = async |path: &str| {
        let url = format!("http://{address}{path}");
        let response = reqwest::get(url).await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    assert_eq!(get("/-/healthy").await.0, 200);
    let (status, body) = get("/-/ready").await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["database"]), (503, &Value::Bool(false)));
    assert_eq!(body["spool"]["state"], "empty");

    wire.set(Passage::Open);
    service
        .until(
            &database,
            "select count(*) from probes where verdict is not null",
        )
        .await;
    let (status, body) = get("/-/ready").await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(get("/-/else").await.0, 404);
}
