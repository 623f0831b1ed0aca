//! Drills go the whole way of a leak, count nowhere among real facts, and close themselves.

use crate::desk::{Desk, webhook};
use crate::support::inbox::Inbox;
use crate::support::ledger::NOW;
use crate::support::service::Service;
use crate::support::{EndpointText, TestDatabase, Workplace, prober};
use canary_gen::KeyRing;
use prober::alert::Receiver;
use prober::drill::{Conductor, Settings};
use prober::metrics::Metrics;
use prober::round::Executor;
use prober::store::DrillRecord;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as Pause;
use time::Duration;
use tokio_util::sync::CancellationToken;

const HOURLY: Settings = Settings {
    every: Some(Pause::from_secs(3_600)),
    at: Pause::ZERO,
    deadline: Pause::from_secs(60),
};

/// A desk, and who holds drills there.
struct Hall {
    desk: Desk,
    conductor: Conductor,
}

impl Hall {
    async fn open(database: &TestDatabase, receivers: &[Receiver]) -> Self {
        let desk = Desk::open(database, receivers).await;
        let conductor = conductor(&desk, || 7);
        Self { desk, conductor }
    }

    fn conductor_of(&self, seed: fn() -> u64) -> Conductor {
        conductor(&self.desk, seed)
    }

    /// Begins a drill of `glm` and lets its leak be found.
    async fn leak(&self) {
        let id = self
            .conductor
            .begin("glm", "Ada".to_owned())
            .await
            .unwrap()
            .unwrap();
        self.conductor.carry_out(id).await.unwrap();
    }

    async fn tell_and_watch(&mut self) {
        self.desk.dispatcher.catch_up().await.unwrap();
        self.conductor.watch().await.unwrap();
        self.desk.dispatcher.catch_up().await.unwrap();
    }

    async fn last(&self) -> DrillRecord {
        let drills = self.desk.ledger.store.drills(1).await.unwrap();
        drills.into_iter().next().unwrap()
    }
}

fn conductor(desk: &Desk, seed: fn() -> u64) -> Conductor {
    let executor = Executor {
        store: desk.ledger.store.clone(),
        spool: None,
        ring: KeyRing::from_root(&[1; 32]),
        evidence: None,
        incidents: crate::support::records::RULES,
        clock: desk.clock.clone(),
        patience: Pause::from_secs(10),
        observer: Arc::new(|_| {}),
        metrics: Metrics::new(),
        tenure: None,
        stop: CancellationToken::new(),
    };
    let endpoints = ["glm", "kimi"].map(str::to_owned).to_vec();
    Conductor::new(&executor, HOURLY, endpoints, seed)
}

fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[tokio::test]
async fn a_drill_reaches_its_receivers_as_one_and_closes_itself() {
    install_tls();
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut hall = Hall::open(&database, &[webhook("soc", &inbox)]).await;
    hall.leak().await;
    hall.conductor.watch().await.unwrap();
    assert_eq!(hall.last().await.ended_at, None, "nobody was told yet");
    hall.tell_and_watch().await;
    let arrived = inbox.take();
    let events: Vec<&str> = arrived.iter().map(|one| one.event()).collect();
    assert_eq!(events, ["drill.opened", "drill.resolved"]);
    for one in &arrived {
        let data = &one.body["data"];
        assert_eq!(data["severity"], "info");
        assert_eq!(data["incident"]["drill"], true);
        assert_eq!(data["incident"]["endpoint"], "glm");
        assert_eq!(data["incident"]["kind"], "leak");
        let headline = data["headline"].as_str().unwrap();
        assert!(headline.starts_with("[DRILL]"), "{headline}");
    }
    let drill = hall.last().await;
    assert_eq!((drill.ended_at, drill.because), (Some(NOW), None));
    // The next one is told as a new one, not as more of this.
    hall.desk.clock.set(NOW + Duration::HOUR);
    hall.leak().await;
    hall.tell_and_watch().await;
    assert_eq!(inbox.taken(), ["drill.opened", "drill.resolved"]);
}

#[tokio::test]
async fn nothing_of_a_drill_counts_among_real_facts() {
    install_tls();
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut hall = Hall::open(&database, &[webhook("soc", &inbox)]).await;
    hall.leak().await;
    let store = &hall.desk.ledger.store;
    assert!(store.incidents(true).await.unwrap().is_empty());
    assert!(store.standing_notices(NOW).await.unwrap().len() == 1);
    hall.tell_and_watch().await;
    assert!(
        hall.desk
            .ledger
            .store
            .incidents(true)
            .await
            .unwrap()
            .is_empty()
    );
    for elsewhere in [
        "select count(*) from rounds join endpoints on endpoints.id = endpoint_id where not is_drill",
        "select count(*) from probe_sums join endpoints on endpoints.id = endpoint_id where not is_drill",
        "select count(*) from endpoint_sums join endpoints on endpoints.id = endpoint_id where not is_drill",
        "select count(*) from round_sums join endpoints on endpoints.id = endpoint_id where not is_drill",
        "select count(*) from incidents where state <> 'resolved'",
        "select count(*) from spending join endpoints on endpoints.id = endpoint_id where not is_drill",
        "select count(*) from evidence",
    ] {
        assert_eq!(database.count(elsewhere).await, 0, "{elsewhere}");
    }
    // It was no play: it left what a leak leaves.
    let found = "select count(*) from findings join rounds on rounds.id = round_id
                 join endpoints on endpoints.id = endpoint_id where is_drill and kind = 'leak'";
    assert!(database.count(found).await > 0);
    let others = "select count(*) from findings where kind <> 'leak'";
    assert_eq!(database.count(others).await, 0);
}

#[tokio::test]
async fn that_a_drill_does_not_arrive_in_time_is_told_to_everybody_it_reaches() {
    install_tls();
    let database = TestDatabase::new().await;
    let (inbox, broken) = (Inbox::open().await, Inbox::open().await);
    broken.always(Some(500));
    let receivers = [webhook("soc", &inbox), webhook("pager", &broken)];
    let mut hall = Hall::open(&database, &receivers).await;
    hall.leak().await;
    hall.tell_and_watch().await;
    assert_eq!(inbox.taken(), ["drill.opened"]);
    hall.desk.clock.set(NOW + Duration::seconds(60));
    hall.tell_and_watch().await;
    let told = inbox.take();
    let events: Vec<&str> = told.iter().map(|one| one.event()).collect();
    assert_eq!(events, ["drill.resolved", "drill.failed"]);
    let data = &told[1].body["data"];
    assert_eq!(data["severity"], "error");
    assert_eq!(data["drill"]["endpoint"], "glm");
    let because = data["drill"]["because"].as_str().unwrap();
    assert!(because.starts_with("pager: "), "{because}");
    assert_eq!(hall.last().await.because.as_deref(), Some(because));
}

#[tokio::test]
async fn a_drill_that_nobody_is_told_of_fails() {
    install_tls();
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut picky = webhook("soc", &inbox);
    picky.filter.endpoints = vec!["kimi".to_owned()];
    let mut hall = Hall::open(&database, &[picky]).await;
    hall.leak().await;
    hall.tell_and_watch().await;
    let because = hall.last().await.because.unwrap();
    assert_eq!(because, "no receiver is told of leaks at glm");
    // Its receiver wants to hear of other endpoints only, but that nobody hears of this one it is told.
    assert_eq!(inbox.taken(), ["drill.failed"]);
}

#[tokio::test]
async fn a_drill_whose_prober_dies_is_ended_by_another_and_a_late_leak_is_closed() {
    install_tls();
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut hall = Hall::open(&database, &[webhook("soc", &inbox)]).await;
    let begun = hall.conductor.begin("glm", "Ada".to_owned()).await;
    let id = begun.unwrap().unwrap();
    let second = hall.conductor.begin("kimi", "Bob".to_owned()).await;
    assert_eq!(second.unwrap(), None, "one at a time");
    hall.desk.clock.set(NOW + Duration::seconds(61));
    hall.tell_and_watch().await;
    assert_eq!(inbox.taken(), ["drill.failed"]);
    // It was only slow.
    hall.conductor.carry_out(id).await.unwrap();
    hall.tell_and_watch().await;
    assert_eq!(inbox.taken(), ["drill.opened", "drill.resolved"]);
    let again = hall.conductor.begin("kimi", "Bob".to_owned()).await;
    assert!(again.unwrap().is_some());
}

#[tokio::test]
async fn a_due_drill_is_held_once_and_endpoints_take_turns() {
    install_tls();
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut hall = Hall::open(&database, &[webhook("soc", &inbox)]).await;
    let mut endpoints = Vec::new();
    for hour in 0..3 {
        hall.desk.clock.set(NOW + Duration::hours(hour));
        // Asked again and again, as several probers do.
        for _ in 0..3 {
            hall.conductor.turn().await.unwrap();
            hall.tell_and_watch().await;
        }
        let opened = inbox.take().into_iter();
        let opened = opened.filter(|one| one.event() == "drill.opened");
        let told: Vec<Value> = opened
            .map(|one| one.body["data"]["incident"]["endpoint"].clone())
            .collect();
        assert_eq!(told.len(), 1, "one an hour");
        endpoints.extend(told);
    }
    assert_ne!(endpoints[0], endpoints[1]);
    assert_eq!(endpoints[0], endpoints[2]);
    assert_eq!(hall.last().await.who, None);
}

#[tokio::test]
async fn the_endpoint_of_drills_leaks_whatever_the_seed() {
    install_tls();
    static SEED: AtomicU64 = AtomicU64::new(0);
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut hall = Hall::open(&database, &[webhook("soc", &inbox)]).await;
    hall.conductor = hall.conductor_of(|| SEED.fetch_add(1, Ordering::Relaxed));
    for minute in 0..20 {
        hall.desk.clock.set(NOW + Duration::minutes(minute));
        hall.leak().await;
        hall.tell_and_watch().await;
        assert_eq!(
            inbox.taken(),
            ["drill.opened", "drill.resolved"],
            "{minute}"
        );
    }
}

/// A workplace whose endpoint nobody serves, and who is told.
fn workplace(inbox: &Inbox, more: &str) -> (Workplace, std::path::PathBuf) {
    let workplace = Workplace::new();
    let nowhere = EndpointText {
        name: "nowhere",
        base_url: "http://127.0.0.1:9/v1",
        context_tokens: 4_096,
        more: "",
    };
    let text = format!(
        "{more}\n[[receivers]]\nname = \"soc\"\nkind = \"webhook\"\nurl = \"{}\"\nallow_private_addresses = true\n\
         [[scenarios]]\nkind = \"crosstalk\"\nevery = \"7d\"\n",
        inbox.url
    );
    let config = workplace.write(&nowhere, &text);
    (workplace, config)
}

async fn drill(config: &std::path::Path, database: &TestDatabase, more: &[&str]) -> (i32, Value) {
    let mut args = vec![
        "drill",
        "--config",
        config.to_str().unwrap(),
        "--format",
        "json",
    ];
    args.extend(more);
    let mut command = tokio::process::Command::from(prober(&args));
    let output = command
        .env("DATABASE_URL", &database.url)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let object = serde_json::from_str(&said);
    (
        output.status.code().unwrap(),
        object.unwrap_or_else(|_| String::from_utf8_lossy(&output.stderr).into_owned().into()),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_tells_whom_the_running_service_told() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let (_workplace, config) = workplace(&inbox, "[drill]\nevery = \"31d\"\n");
    let service = Service::run(&config, &database);
    // The service holds one of its own at the start: it was due, and never was.
    loop {
        let table = "select count(*) from pg_tables where tablename = 'drills'";
        let ended = "select count(*) from drills where ended_at is not null";
        if database.count(table).await == 1 && database.count(ended).await == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
    let (code, told) = drill(&config, &database, &[]).await;
    assert_eq!(code, 0, "{told}\n{}", service.log());
    assert_eq!(told["arrived"], true);
    assert_eq!(told["endpoint"], "nowhere");
    assert_eq!(told["receivers"][0]["receiver"], "soc");
    assert!(
        told["receivers"][0]["delivered_after_s"].is_number(),
        "{told}"
    );
    let events = inbox.taken();
    let opened = events.iter().filter(|event| *event == "drill.opened");
    assert_eq!(opened.count(), 2, "{events:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_tells_the_receivers_itself_where_no_service_runs() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let (_workplace, config) = workplace(&inbox, "");
    let (code, told) = drill(&config, &database, &["--alone"]).await;
    assert_eq!(code, 0, "{told}");
    assert_eq!(inbox.taken(), ["drill.opened", "drill.resolved"]);
    inbox.always(Some(400));
    let (code, told) = drill(&config, &database, &["--alone"]).await;
    assert_eq!(code, 1, "{told}");
    assert_eq!(told["arrived"], false);
    let because = told["because"].as_str().unwrap();
    assert!(because.starts_with("soc: "), "{because}");
    let (code, said) = drill(&config, &database, &["--endpoint", "elsewhere"]).await;
    assert_eq!(code, 2);
    assert!(said.as_str().unwrap().contains("it has nowhere"), "{said}");
}
