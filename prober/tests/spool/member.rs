//! A prober that records probes as fast as it can, and what is done to it.

use super::Book;
use super::support::ledger::NOW;
use super::support::records::{RULES, facts, judged};
use super::support::wire::Wire;
use canary_gen::{Form, KeyRing, ProbeNumber, TenantNumber, TokenMeasure};
use prober::budget::Cost;
use prober::clock::FixedClock;
use prober::ids::EndpointId;
use prober::judge::Finding;
use prober::metrics::Metrics;
use prober::round::{Executor, Fact, JudgedProbe, Received};
use prober::spool::{Room, Spooler};
use prober::store::{Location, ProbeRecord, SentRecord, Store};
use secrecy::SecretString;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

const ROOM: Room = Room {
    max_bytes: 1 << 30,
    reserve_bytes: 4 << 10,
};

/// What a member's process is told.
pub(crate) struct Orders {
    database: String,
    folder: PathBuf,
    round: i64,
    first: u64,
    probes: u64,
}

impl Orders {
    pub(crate) fn from_environment() -> Option<Self> {
        let number = |name| env::var(name).unwrap().parse().unwrap();
        Some(Self {
            database: env::var("SPOOL_DATABASE").ok()?,
            folder: env::var_os("SPOOL_FOLDER")?.into(),
            round: number("SPOOL_ROUND") as i64,
            first: number("SPOOL_FIRST"),
            probes: number("SPOOL_PROBES"),
        })
    }
}

async fn executor(url: &str, folder: &Path) -> Executor {
    let location = Location::Server {
        url: SecretString::from(url),
        max_connections: 2,
    };
    Executor {
        store: Store::open(&location).await.unwrap(),
        spool: Some(Spooler::open(folder, ROOM).unwrap()),
        ring: KeyRing::from_root(&[1; 32]),
        evidence: None,
        incidents: RULES,
        clock: Arc::new(FixedClock::new(NOW)),
        patience: Duration::from_secs(60),
        observer: Arc::new(|_| {}),
        metrics: Metrics::new(),
        tenure: None,
        stop: CancellationToken::new(),
    }
}

/// Records probe after probe, and says so of each.
#[tokio::main]
pub(crate) async fn record(orders: &Orders) {
    let executor = executor(&orders.database, &orders.folder).await;
    let facts = facts();
    let endpoint = executor.store.register_endpoint(&facts, NOW).await.unwrap();
    let (endpoint, tenant) = (endpoint.id, endpoint.tenants[0].number);
    let replayer = executor.clone();
    let never = CancellationToken::new();
    tokio::spawn(async move { replayer.replay(&never).await });
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    for number in orders.first..orders.first + orders.probes {
        let probe = ProbeNumber::new(number).unwrap();
        for fact in told_of(probe, orders.round, endpoint, tenant) {
            if executor.spool.as_ref().unwrap().is_full() {
                println!("full");
            }
            executor.put(fact).await.unwrap();
        }
        println!("kept");
    }
    // Until it is killed.
    std::future::pending::<()>().await;
}

/// Everything a round tells of a probe.
fn told_of(
    probe: ProbeNumber,
    round: i64,
    endpoint: EndpointId,
    tenant: TenantNumber,
) -> [Fact; 3] {
    let cost = |prompt_tokens| Cost {
        prompt_tokens,
        ..Cost::default()
    };
    let round = serde_json::from_value(round.into()).unwrap();
    let record = ProbeRecord {
        cost: cost(900),
        ..judged(tenant, round, probe)
    };
    [
        Fact::Charged {
            endpoint,
            probe,
            cost: cost(1_000),
            at: NOW,
        },
        Fact::Sent(SentRecord {
            probe,
            measure: TokenMeasure::assumed(Form::Code),
            head_units: None,
            closing: 0,
            tokens_estimated: 300,
            slots: 4,
            asked: None,
            request_bytes: 2_000,
            sent_at: NOW,
        }),
        Fact::Judged(Box::new(JudgedProbe {
            record,
            received: Received { endpoint, tenant },
            findings: vec![Finding::LimitViolation {
                limit: 200,
                prompt_tokens: 300,
            }],
        })),
    ]
}

/// How many probes members said to be kept.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    pub(crate) probes: usize,
}

/// What a member is to record, and by which way.
pub(crate) struct Work<'a> {
    pub(crate) book: &'a Book,
    pub(crate) wire: &'a Wire,
    /// Of its spool.
    pub(crate) folder: &'a Path,
    /// The place in the book of the first probe.
    pub(crate) first: usize,
    /// How many, from there on.
    pub(crate) probes: usize,
}

/// A member's process.
pub(crate) struct Member {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Member {
    pub(crate) fn start(work: &Work<'_>) -> Self {
        Self::spawn(Command::new(env::current_exe().unwrap()), work)
    }

    /// One whose files the kernel keeps small, 32 KiB each.
    pub(crate) fn start_with_small_files(work: &Work<'_>) -> Self {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$0\" \"$@\""])
            .arg(env::current_exe().unwrap());
        Self::spawn(shell, work)
    }

    fn spawn(mut command: Command, work: &Work<'_>) -> Self {
        let Work { book, wire, .. } = work;
        let mut process = command
            .args(["member", "--exact", "--ignored", "--nocapture", "--quiet"])
            .env("SPOOL_DATABASE", wire.url(&book.database.url))
            .env("SPOOL_FOLDER", work.folder)
            .env("SPOOL_ROUND", book.round.get().to_string())
            .env("SPOOL_FIRST", book.probes[work.first].get().to_string())
            .env("SPOOL_PROBES", work.probes.to_string())
            .env_remove("DATABASE_URL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, said }
    }

    pub(crate) async fn is_ready(&mut self) {
        while self.said.next_line().await.unwrap().expect("a member") != "ready" {}
    }

    pub(crate) fn go(&mut self) {
        // It waits for the end of its standard input.
        drop(self.process.stdin.take());
    }

    /// Notes what it says for a while.
    pub(crate) async fn note_for(&mut self, pause: Duration, acknowledged: &mut Acknowledged) {
        let _ = tokio::time::timeout(pause, self.note_until("", acknowledged)).await;
    }

    /// Notes what it says until its files cannot grow.
    pub(crate) async fn until_full(&mut self, acknowledged: &mut Acknowledged) {
        self.note_until("full", acknowledged).await;
    }

    async fn note_until(&mut self, word: &str, acknowledged: &mut Acknowledged) {
        while let Some(said) = self.said.next_line().await.unwrap() {
            acknowledged.probes += usize::from(said == "kept");
            if said == word {
                return;
            }
        }
    }

    /// Kills it; what it said before counts.
    pub(crate) async fn kill(mut self, acknowledged: &mut Acknowledged) {
        self.process.kill().await.unwrap();
        self.note_until("", acknowledged).await;
    }
}

/// The next prober finds the database there, and brings everything to it that waits; how much that was.
pub(crate) async fn recover(book: &Book, folder: &Path) -> u64 {
    let executor = executor(&book.database.url, folder).await;
    let spool = executor.spool.clone().unwrap();
    let waiting = spool.state().records;
    let done = CancellationToken::new();
    done.cancel();
    executor.replay(&done).await;
    assert!(spool.is_empty());
    waiting
}

/// How many files of a kind were set aside.
pub(crate) fn set_aside(folder: &Path, kind: &str) -> usize {
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with(kind))
        .count()
}
