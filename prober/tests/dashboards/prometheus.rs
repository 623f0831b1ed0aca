//! Every query of Prometheus shows something of a real prober, by way of a real Prometheus.

use crate::support::grafana::{DASHBOARDS, panels};
use crate::support::service::{Process, Service, watched_database};
use crate::support::{EndpointText, Workplace, rehearsal, simulate, small_engine};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

const CONFIG: &str = include_str!("../../../dashboards/prometheus/prometheus.yml");

const BUDGET: &str = "\n[endpoints.budget]\ntokens_per_day = 50_000_000\nmoney_per_day = 100\n\
                      input_price = 0.5\noutput_price = 2\ncurrency = \"EUR\"\n";

const SCENARIO: &str = "[log]\nformat = \"json\"\n[[scenarios]]\nkind = \"crosstalk\"\nevery = \"10s\"\njitter = \"0s\"\n\
                        tokens = 2000\nwaves = 3\nstride_tokens = 500\n";

/// How long a busy machine may take until there is something to show.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server of its own, on a free port and with a folder of its own, that scrapes a prober.
struct Prometheus {
    url: String,
    client: reqwest::Client,
    process: Process,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    fn scraping(prober: &str) -> Self {
        let program = std::env::var("PROMETHEUS_BIN")
            .expect("PROMETHEUS_BIN is not set: run the tests with `scripts/test`, or beside `scripts/with-prometheus`");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        // The file as it is, but for the address, and for time: a test does not wait a quarter of a minute.
        let text = CONFIG.replace("prober:9797", prober).replace("15s", "1s");
        fs::write(&config, text).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let process = Command::new(program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self {
            url: format!("http://{address}"),
            client: reqwest::Client::new(),
            process: Process(process.unwrap()),
            _folder: folder,
        }
    }

    /// Series with their last values, once there are some; of those that are no number, none.
    async fn ask(&mut self, query: &str) -> Vec<Value> {
        let url = format!("{}/api/v1/query", self.url);
        let url = reqwest::Url::parse_with_params(&url, [("query", query)]).unwrap();
        loop {
            let ended = self.process.0.try_wait().unwrap();
            assert!(ended.is_none(), "Prometheus ended: {ended:?}");
            let Ok(answer) = self.client.get(url.clone()).send().await else {
                tokio::task::yield_now().await;
                continue;
            };
            // Not ready yet.
            if answer.status() == 503 {
                continue;
            }
            let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            assert_eq!(answer["status"], "success", "{query}: {answer}");
            let series = answer["data"]["result"].as_array().unwrap().iter();
            let numbers: Vec<Value> = series
                .filter(|one| one["value"][1] != "NaN")
                .cloned()
                .collect();
            if !numbers.is_empty() {
                return numbers;
            }
        }
    }
}

/// Names of labels in a legend, such as `{{endpoint}}`.
fn labels(legend: &str) -> impl Iterator<Item = &str> {
    let parts = legend.split("{{").skip(1);
    parts.map(|part| part.split("}}").next().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_of_prometheus_shows_what_a_prober_does() {
    let database = watched_database().await;
    let engine = simulate(small_engine(&[])).await;
    let workplace = Workplace::new();
    let plain = rehearsal(&engine.base_url);
    let more = format!("{}{BUDGET}", plain.more);
    let endpoint = EndpointText {
        more: &more,
        ..plain
    };
    let config = workplace.write(&endpoint, SCENARIO);
    let mut service = Service::run(&config, &database);
    let mut prometheus = Prometheus::scraping(&service.address().await);
    let mut asked = 0;
    for (file, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            for target in panel["targets"].as_array().unwrap() {
                let Some(query) = target["expr"].as_str() else {
                    continue;
                };
                let query = query
                    .replace("$__rate_interval", "1m")
                    .replace("$endpoint", endpoint.name);
                assert!(!query.contains('$'), "{title}: not expanded: {query}");
                let shown = tokio::time::timeout(PATIENCE, prometheus.ask(&query)).await;
                let shown = shown.unwrap_or_else(|_| panic!("{file}: {title} shows nothing"));
                let legend = target["legendFormat"].as_str().unwrap();
                for label in labels(legend) {
                    for series in &shown {
                        assert!(series["metric"][label].is_string(), "{title}: {label}");
                    }
                }
                assert!(
                    panel["type"] != "stat" || shown.len() == 1,
                    "{title}: one value"
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 0);
    service.process.kill();
}
