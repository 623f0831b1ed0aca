//! `prober run` takes another configuration over while it runs, all of it or nothing.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::inbox::Inbox;
use support::service::{Service, watched_database};
use support::*;

const CROSSTALK_OFTEN: &str = "[log]\nformat = \"json\"\n[[scenarios]]\nkind = \"crosstalk\"\nevery = \"10s\"\njitter = \"0s\"\ntokens = 1500\nwaves = 2\n";

/// Asks a prober for something by HTTP: the status and the text.
async fn ask(address: &str, request: (&str, &str), headers: &[(&str, &str)]) -> (u16, String) {
    // As the prober does.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (method, path) = request;
    let client = reqwest::Client::new();
    let mut request = client.request(method.parse().unwrap(), format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

const TAKEN: &str = "prober_config_last_reload_successful";
const RESTART: &str = "prober_config_restart_required";
const RELOAD: (&str, &str) = ("POST", "/-/reload");

/// What a metric without labels tells.
async fn metric(address: &str, name: &str) -> f64 {
    let (_, metrics) = ask(address, ("GET", "/metrics"), &[]).await;
    let mut samples = metrics.lines().filter_map(|line| line.split_once(' '));
    let sample = samples.find(|(known, _)| *known == name);
    sample.unwrap().1.parse().unwrap()
}

fn hang_up(service: &Service) {
    let id = service.process.0.id().to_string();
    let status = Command::new("kill").args(["-HUP", &id]).status();
    assert!(status.unwrap().success());
}

/// Writes the file again with something replaced.
fn edit(config: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(config).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(config, text.replacen(from, to, 1)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_added_endpoint_gets_rounds_a_removed_one_none_and_a_wrong_file_changes_nothing() {
    let database = watched_database().await;
    let engine = simulate(small_engine(&[])).await;
    let workplace = Workplace::new();
    let config = workplace.write(&rehearsal(&engine.base_url), CROSSTALK_OFTEN);
    let mut service = Service::run(&config, &database);
    let address = service.address().await;
    service
        .until(
            &database,
            "select count(*) from probes where verdict is not null",
        )
        .await;

    edit(&config, "\"rehearsal\"", "\"second\"");
    hang_up(&service);
    let of_second = "select count(*) from rounds join endpoints on endpoints.id = endpoint_id
                     where endpoints.name = 'second' and verdict is not null";
    service.until(&database, of_second).await;
    let late = "select count(*) from rounds join endpoints on endpoints.id = endpoint_id
                where endpoints.name = 'rehearsal' and started_at >
                    (select min(started_at) from rounds join endpoints on endpoints.id = endpoint_id
                     where endpoints.name = 'second')";
    assert_eq!(database.count(late).await, 0);
    let held = "select count(*) from leases join endpoints on endpoints.id = endpoint_id
                where endpoints.name = 'rehearsal' and holder is not null";
    assert_eq!(database.count(held).await, 0);
    assert_eq!(metric(&address, TAKEN).await, 1.0);

    edit(&config, "every = \"10s\"", "every = \"1s\"\nevry = \"1s\"");
    let (status, told) = ask(&address, RELOAD, &[]).await;
    assert_eq!(status, 400);
    let checked = prober(&["check", "--config", config.to_str().unwrap()]);
    let checked = { checked }.env("DATABASE_URL", &database.url).output();
    assert_eq!(told, String::from_utf8(checked.unwrap().stdout).unwrap());
    assert!(told.contains("`every`") || told.contains("evry"), "{told}");
    assert_eq!(metric(&address, TAKEN).await, 0.0);
    assert_eq!(metric(&address, RESTART).await, 0.0);

    edit(&config, "every = \"1s\"\nevry = \"1s\"", "every = \"10s\"");
    edit(
        &config,
        "[log]\n",
        "[spool]\nmax_bytes = \"64MiB\"\n[log]\n",
    );
    let (status, told) = ask(&address, RELOAD, &[]).await;
    assert_eq!(status, 400);
    assert!(
        told.contains("`spool` changes only with a restart"),
        "{told}"
    );
    assert_eq!(metric(&address, RESTART).await, 1.0);

    edit(&config, "[spool]\nmax_bytes = \"64MiB\"\n", "");
    let page = [("origin", "https://example.com")];
    assert_eq!(ask(&address, RELOAD, &page).await.0, 403);
    assert_eq!(ask(&address, ("GET", "/-/reload"), &[]).await.0, 405);
    assert_eq!(metric(&address, TAKEN).await, 0.0);
    let (one, other) = tokio::join!(ask(&address, RELOAD, &[]), ask(&address, RELOAD, &[]));
    let unchanged = "endpoints: unchanged\nscenarios: unchanged\nreceivers: unchanged\n";
    assert_eq!((one.0, one.1.as_str()), (200, unchanged));
    assert_eq!(one, other);
    assert_eq!(metric(&address, TAKEN).await, 1.0);
    assert_eq!(metric(&address, RESTART).await, 0.0);

    service.process.terminate();
    let status = tokio::task::block_in_place(|| service.process.0.wait().unwrap());
    assert_eq!(status.code(), Some(0), "{}", service.log());
    assert_no_secrets(&service.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_under_way_ends_as_it_began_and_the_next_one_is_the_new_configuration_s() {
    let database = watched_database().await;
    let slow = simulator::Config {
        speeds: simulator::Speeds {
            prefill: Some(8_000.0),
            ..simulator::Speeds::default()
        },
        ..small_engine(&[])
    };
    let engine = simulate(slow).await;
    let workplace = Workplace::new();
    let scenarios = CROSSTALK_OFTEN.replace("waves = 2", "waves = 4");
    let config = workplace.write(&rehearsal(&engine.base_url), &scenarios);
    let mut service = Service::run(&config, &database);
    let address = service.address().await;
    service
        .until(
            &database,
            "select count(*) from probes where role = 'peer' and sent_at is not null",
        )
        .await;
    edit(
        &config,
        "kind = \"crosstalk\"",
        "kind = \"crosstalk\"\nname = \"other\"",
    );
    let (status, told) = ask(&address, RELOAD, &[]).await;
    assert_eq!(status, 200, "{told}");
    assert!(
        told.contains("scenarios: added other; removed crosstalk"),
        "{told}"
    );
    let goes_on = "select count(*) from rounds where name = 'crosstalk' and state = 'running'";
    assert_eq!(database.count(goes_on).await, 1);
    service
        .until(
            &database,
            "select count(*) from rounds where name = 'other' and verdict is not null",
        )
        .await;
    let complete = "select count(*) from rounds where name = 'crosstalk' and state = 'finished'
                    and verdict = 'clean'";
    assert_eq!(database.count(complete).await, 1, "{}", service.log());
    let lost = "select count(*) from rounds where state = 'lost'";
    assert_eq!(database.count(lost).await, 0);
    // A drain while another configuration is being taken over is one like any other.
    hang_up(&service);
    service.process.terminate();
    let status = tokio::task::block_in_place(|| service.process.0.wait().unwrap());
    assert_eq!(status.code(), Some(0), "{}", service.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_added_receiver_is_told() {
    let database = watched_database().await;
    let engine = simulate(small_engine(&[])).await;
    let leaking = simulate(small_engine(&["stale-pages"])).await;
    let workplace = Workplace::new();
    let scenarios = "[log]\nformat = \"json\"\n[[scenarios]]\nkind = \"overflow\"\nevery = \"10s\"\njitter = \"0s\"\nladder = [0.5, 0.8, 0.95, 1.3]\n";
    let config = workplace.write(&rehearsal(&engine.base_url), scenarios);
    let mut service = Service::run(&config, &database);
    let address = service.address().await;
    let inbox = Inbox::open().await;
    edit(&config, &engine.base_url, &leaking.base_url);
    let receiver = format!(
        "[[receivers]]\nname = \"soc\"\nkind = \"webhook\"\nurl = \"{}\"\nallow_private_addresses = true\n[log]\n",
        inbox.url
    );
    edit(&config, "[log]\n", &receiver);
    // The first configuration may still be on its way.
    let (status, told) = ask(&address, RELOAD, &[]).await;
    assert_eq!(status, 200, "{told}");
    assert!(told.contains("receivers: added soc"), "{told}");
    assert!(told.contains("endpoints: changed rehearsal"), "{told}");
    let told = async {
        while !inbox.taken().contains(&"incident.opened".to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(120), told).await;
    assert!(told.is_ok(), "{}", service.log());
}
