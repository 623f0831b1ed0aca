//! The real Alertmanager takes what it is sent, keeps it while it is told again, and forgets it when it is over.

use crate::desk::{Desk, receiver};
use crate::support::TestDatabase;
use crate::support::ledger::{by, leak, violation};
use crate::support::service::Process;
use prober::alert::{Alertmanager, Kind};
use prober::clock::{Clock as _, SystemClock};
use prober::incident::Act;
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration as Pause;
use time::{Duration, OffsetDateTime};

const CONFIG: &str = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n";

/// A server of its own, on a free port and with a folder of its own.
struct Peer {
    url: String,
    client: reqwest::Client,
    _process: Process,
    _folder: tempfile::TempDir,
}

impl Peer {
    async fn start() -> Self {
        let program = std::env::var("ALERTMANAGER_BIN")
            .expect("ALERTMANAGER_BIN is not set: run the tests with `scripts/test`, or beside `scripts/with-prometheus`");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("alertmanager.yml");
        fs::write(&config, CONFIG).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let process = Command::new(program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.path={}", folder.path().display()))
            .arg(format!("--web.listen-address={address}"))
            // No gossip.
            .arg("--cluster.listen-address=")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut peer = Self {
            url: format!("http://{address}"),
            client: reqwest::Client::new(),
            _process: Process(process.unwrap()),
            _folder: folder,
        };
        while peer.get("/-/ready").await.is_none() {
            let ended = peer._process.0.try_wait().unwrap();
            assert!(ended.is_none(), "Alertmanager ended: {ended:?}");
            tokio::task::yield_now().await;
        }
        peer
    }

    async fn get(&self, path: &str) -> Option<String> {
        let answer = self.client.get(format!("{}{path}", self.url)).send();
        let answer = answer.await.ok()?.error_for_status().ok()?;
        answer.text().await.ok()
    }

    /// The alerts that it takes for active, by their names.
    async fn alerts(&self) -> Vec<Value> {
        let list = self.get("/api/v2/alerts").await.unwrap();
        let mut alerts: Vec<Value> = serde_json::from_str(&list).unwrap();
        alerts.sort_by_key(|alert| alert["labels"]["alertname"].to_string());
        alerts
    }
}

fn names(alerts: &[Value]) -> Vec<&str> {
    let names = alerts.iter();
    names
        .map(|alert| alert["labels"]["alertname"].as_str().unwrap())
        .collect()
}

/// When an alert ends if it is not told again.
fn ends_at(alert: &Value) -> OffsetDateTime {
    use time::format_description::well_known::Rfc3339;
    OffsetDateTime::parse(alert["endsAt"].as_str().unwrap(), &Rfc3339).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_alertmanager_lists_incidents_until_they_are_resolved() {
    let (database, peer) = (TestDatabase::new().await, Peer::start().await);
    let kind = Kind::Alertmanager(Alertmanager {
        urls: vec![peer.url.as_str().into()],
        headers: Vec::new(),
        resend_every: Pause::from_secs(60),
    });
    let mut desk = Desk::open(&database, &[receiver("prometheus", kind)]).await;
    // It goes by its own clock.
    let now = SystemClock.now() - Duration::minutes(3);
    let incidents = desk.ledger.find(vec![leak(), violation()], now).await;
    desk.at(now).await;
    let first = peer.alerts().await;
    let expected = ["TenantIsolationLeak", "TenantIsolationLimitViolation"];
    assert_eq!(names(&first), expected);
    assert_eq!(first[0]["labels"]["severity"], "critical");
    assert_eq!(first[0]["labels"]["endpoint"], "glm");
    assert_eq!(first[0]["status"]["state"], "active");
    let link = first[0]["generatorURL"].as_str().unwrap();
    assert!(link.contains("/incidents/"), "{link}");

    // Told again before it would forget, the same two live longer.
    desk.at(now + Duration::minutes(2)).await;
    let again = peer.alerts().await;
    assert_eq!(names(&again), expected);
    for (before, after) in first.iter().zip(&again) {
        assert_eq!(before["fingerprint"], after["fingerprint"]);
        assert!(ends_at(after) > ends_at(before), "{before} {after}");
    }

    let done = by("Ada", SystemClock.now());
    let changed = desk
        .ledger
        .store
        .change_incident(incidents[0], Act::Resolve, &done);
    changed.await.unwrap().unwrap().unwrap();
    desk.at(SystemClock.now()).await;
    assert_eq!(names(&peer.alerts().await), expected[1..]);
}
