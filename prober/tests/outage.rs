//! The database goes away while a round is under way.
#![allow(clippy::unwrap_used)]

mod support;

use prober::clock::{Clock as _, FixedClock, SystemClock};
use prober::round::{Event, Executor, RoundOrder, RoundReport, Session};
use prober::spool::{Room, Spooler};
use prober::store::{Location, Store};
use prober::watch::Watch;
use secrecy::SecretString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use support::wire::{Passage, Wire};
use support::*;
use tokio_util::sync::CancellationToken;

const ROOM: Room = Room {
    max_bytes: 64 << 20,
    reserve_bytes: 1 << 16,
};

/// A prober whose way to the database can be cut.
struct Outage {
    rehearsal: Rehearsal,
    wire: Arc<Wire>,
    executor: Executor,
    session: Session,
    folder: tempfile::TempDir,
}

impl Outage {
    async fn new(faults: &[&str], scenario: &str) -> Self {
        let rehearsal = Rehearsal::new(faults, scenario).await;
        let wire = Arc::new(Wire::to_server(&rehearsal.database.url).await);
        let location = Location::Server {
            url: SecretString::from(wire.url(&rehearsal.database.url)),
            max_connections: pool_size(),
        };
        let store = Store::open(&location).await.unwrap();
        let (executor, session) = ready(&rehearsal.config, &store).await;
        let folder = tempfile::tempdir().unwrap();
        let executor = Executor {
            spool: Some(Spooler::open(folder.path(), ROOM).unwrap()),
            ..executor
        };
        Self {
            rehearsal,
            wire,
            executor,
            session,
            folder,
        }
    }

    /// Runs a round; after so many probes the way to the database is as said.
    async fn run(&self, probes: u32, passage: Passage) -> RoundReport {
        let (wire, judged) = (Arc::clone(&self.wire), AtomicU32::new(0));
        let executor = Executor {
            observer: Arc::new(move |event| {
                if matches!(event, Event::Judged { .. })
                    && judged.fetch_add(1, Ordering::Relaxed) + 1 == probes
                {
                    wire.set(passage);
                }
            }),
            ..self.executor.clone()
        };
        let order = RoundOrder {
            scenario: &self.rehearsal.config.scenarios[0],
            seed: 1,
            due_at: None,
            replay: None,
        };
        executor.run(&self.session, &order).await.unwrap()
    }

    /// The database is back; everything that waits is brought to it, by whoever finds it there.
    async fn recover(&self) {
        self.recover_in(ROOM).await;
    }

    async fn recover_in(&self, room: Room) {
        self.wire.set(Passage::Open);
        let executor = Executor {
            spool: Some(Spooler::open(self.folder.path(), room).unwrap()),
            store: Store::open(&self.rehearsal.database.location())
                .await
                .unwrap(),
            ..self.executor.clone()
        };
        let done = CancellationToken::new();
        done.cancel();
        // What is told to stop goes on for as long as the database takes what waits.
        executor.replay(&done).await;
        assert!(executor.may_begin());
    }

    async fn count(&self, query: &'static str) -> i64 {
        self.rehearsal.database.count(query).await
    }
}

const JUDGED: &str = "select count(*) from probes where verdict is not null";
const SUMMED: &str = "select sum(probes)::bigint from probe_sums where span = 'day'";
const FINISHED: &str = "select count(*) from rounds where state = 'finished'";
const LEAKS: &str = "select count(*) from findings where kind = 'leak' and donor_tenant_id is not null and slots <> '{}'";
const EVIDENCE: &str = "select count(*) from evidence where sealed is not null";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_goes_on_without_the_database_and_all_of_it_is_recorded_later_once() {
    let outage = Outage::new(&["stale-pages"], OVERFLOW).await;
    let report = outage.run(3, Passage::Closed).await;
    assert!(!report.recorded);
    assert_eq!(report.verdict, "leak");
    assert!(report.leaks > 0);
    assert!(report.findings.last().unwrap().incident.is_none());
    assert_eq!(outage.count(FINISHED).await, 0);
    assert!(!outage.executor.may_begin());

    outage.recover().await;
    assert_eq!(outage.count(FINISHED).await, 1);
    let planned = outage.count("select count(*) from probes").await;
    assert_eq!(outage.count(JUDGED).await, planned);
    assert_eq!(outage.count(SUMMED).await, planned);
    let leaks = report.findings.iter().filter(|found| found.kind == "leak");
    assert_eq!(outage.count(LEAKS).await, leaks.count() as i64);
    assert!(outage.count(EVIDENCE).await > 0);
    // Spent is what was charged, whether it was charged at once or later.
    let spent = outage
        .count("select (prompt_tokens + answer_tokens)::bigint from spending")
        .await;
    let charged = outage
        .count("select sum(charged_prompt_tokens + charged_answer_tokens)::bigint from probes")
        .await;
    assert_eq!(spent, charged);

    // Whoever comes a second time changes nothing.
    outage.recover().await;
    assert_eq!(outage.count(SUMMED).await, planned);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_only_falls_silent_is_away_all_the_same() {
    let outage = Outage::new(&[], CROSSTALK).await;
    let report = outage.run(2, Passage::Mute).await;
    assert!(!report.recorded);
    assert_eq!(report.verdict, "clean");
    outage.recover().await;
    assert_eq!(outage.count(FINISHED).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_database_no_request_leaves_that_a_limited_budget_would_have_to_pay() {
    let mut outage = Outage::new(&[], CROSSTALK).await;
    let mut config = outage.rehearsal.config.clone();
    config.endpoints[0].budget.tokens_per_day = Some(10_000_000);
    outage.session = Session::open(&outage.executor.store, &config.endpoints[0], &SystemClock)
        .await
        .unwrap();
    let report = outage.run(2, Passage::Closed).await;
    assert_eq!(report.verdict, "inconclusive");
    let reason = report.reason.unwrap();
    assert!(reason.contains("what was left of the budget"), "{reason}");
    outage.recover().await;
    let unpaid = "select count(*) from probes where sent_at is not null and charged_on is null";
    assert_eq!(outage.count(unpaid).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_spool_stops_sending_and_keeps_what_was_under_way() {
    let mut outage = Outage::new(&[], CROSSTALK).await;
    let small = Room {
        max_bytes: 1,
        ..ROOM
    };
    outage.executor.spool = Some(Spooler::open(outage.folder.path(), small).unwrap());
    let report = outage.run(4, Passage::Closed).await;
    assert_eq!(report.verdict, "inconclusive");
    let reason = report.reason.unwrap();
    assert!(reason.contains("the spool was full"), "{reason}");
    let spool = outage.executor.spool.clone().unwrap();
    assert!(spool.is_full() && !spool.is_empty());
    // As long as it is full, what waits comes out without a pause.
    outage.recover_in(small).await;
    let unjudged = "select count(*) from probes where sent_at is not null and verdict is null";
    // The one that was about to leave when the spool said that it is full stays unsent; that is known by its round.
    assert!(outage.count(unjudged).await <= 3);
    assert_eq!(outage.count(FINISHED).await, 1);
    assert!(outage.count(JUDGED).await >= 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_later_tick_is_decided_upon_while_the_end_of_a_round_waits() {
    let outage = Outage::new(&[], "[[scenarios]]\nkind = \"crosstalk\"\nevery = \"10s\"\njitter = \"0s\"\ntokens = 2000\nwaves = 2\nstride_tokens = 500\n").await;
    let config = outage.rehearsal.config.clone();
    let clock = Arc::new(FixedClock::new(SystemClock.now()));
    let spool = outage.executor.spool.clone().unwrap();
    // How many probes are judged, and how many records wait then.
    let judged = Arc::new((AtomicU32::new(0), AtomicU64::new(0)));
    let (wire, moving) = (Arc::clone(&outage.wire), Arc::clone(&clock));
    let (waiting, noted) = (spool.clone(), Arc::clone(&judged));
    let executor = Executor {
        clock: Arc::<FixedClock>::clone(&clock),
        // The way to the database breaks for a moment, and ticks pass. Nobody empties the spool.
        observer: Arc::new(move |event| {
            let Event::Judged { .. } = event else { return };
            noted.1.store(waiting.state().records, Ordering::Relaxed);
            match noted.0.fetch_add(1, Ordering::Relaxed) {
                1 => wire.set(Passage::Closed),
                3 => {
                    wire.set(Passage::Open);
                    moving.advance(time::Duration::seconds(35));
                }
                _ => {}
            }
        }),
        ..outage.executor.clone()
    };
    let stop = executor.stop.clone();
    let watch = Watch::open(Arc::new(config), executor, "one".to_owned(), "test")
        .await
        .unwrap();
    clock.advance(time::Duration::seconds(10));
    let watching = tokio::spawn(watch.until_stopped());
    let its_end_waits = async {
        loop {
            let planned = outage.count("select count(*) from probes").await;
            let all = i64::from(judged.0.load(Ordering::Relaxed)) == planned;
            if planned > 0 && all && spool.state().records > judged.1.load(Ordering::Relaxed) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), its_end_waits)
        .await
        .unwrap();
    stop.cancel();
    watching.await.unwrap();
    assert_eq!(outage.count(FINISHED).await, 0);
    let skipped = "select count(*) from rounds where state = 'skipped'";
    assert_eq!(outage.count(skipped).await, 0);
    outage.recover().await;
    assert_eq!(outage.count(FINISHED).await, 1);
}
