//! A prober in a process of its own, and what is done to it.

use super::relay::HEADER;
use super::support::pool_size;
use super::support::wire::{Passage, Wire};
use super::world::{self, World};
use canary_gen::key_file;
use prober::clock::{Clock, SystemClock};
use prober::config;
use prober::evidence::Keeper;
use prober::metrics::Metrics;
use prober::round::Executor;
use prober::spool::{Room, Spooler};
use prober::store::{Location, Store};
use prober::watch::{Instance, Watch};
use secrecy::SecretString;
use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A record waits for a database that crashed; when it is away for longer, the test has failed anyway.
const PATIENCE: Duration = Duration::from_secs(120);

const ROOM: Room = Room {
    max_bytes: 64 << 20,
    reserve_bytes: 1 << 20,
};

/// A clock that runs [`world::SPEED`] times as fast from some moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastClock {
    pub(crate) since: OffsetDateTime,
}

impl Clock for FastClock {
    fn now(&self) -> OffsetDateTime {
        world::START + (SystemClock.now() - self.since) * world::SPEED
    }

    fn until(&self, moment: OffsetDateTime) -> Duration {
        let left = Duration::try_from(moment - self.now()).unwrap_or_default();
        left / world::SPEED as u32
    }
}

/// What a member's process is told.
pub(crate) struct Orders {
    config: PathBuf,
    state: PathBuf,
    database: String,
    since: OffsetDateTime,
    labels: Vec<String>,
}

impl Orders {
    pub(crate) fn from_environment() -> Option<Self> {
        let since: i128 = env::var("FLEET_SINCE").ok()?.parse().unwrap();
        let labels = env::var("FLEET_LABELS").unwrap();
        Some(Self {
            config: env::var_os("FLEET_CONFIG")?.into(),
            state: env::var_os("FLEET_STATE")?.into(),
            database: env::var("FLEET_DATABASE").ok()?,
            since: OffsetDateTime::from_unix_timestamp_nanos(since).unwrap(),
            labels: labels.split_whitespace().map(str::to_owned).collect(),
        })
    }
}

/// Does what `prober run` does, by another clock and with shorter leases than a configuration can ask for.
#[tokio::main]
pub(crate) async fn watch(orders: &Orders) {
    let mut config = config::load(&orders.config).unwrap_or_else(|errors| panic!("{errors}"));
    config.fleet.lease = world::LEASE;
    config.log.level = tracing::Level::WARN;
    prober::logging::start(config.log);
    config.fleet.labels.clone_from(&orders.labels);
    let ring = key_file::load(&config.key_ring_file).unwrap();
    let stop = CancellationToken::new();
    let mut term = signal(SignalKind::terminate()).unwrap();
    let on_term = stop.clone();
    tokio::spawn(async move {
        term.recv().await;
        on_term.cancel();
    });
    let instance = Instance::open(&orders.state, super::support::random()).unwrap();
    let location = Location::Server {
        url: SecretString::from(orders.database.as_str()),
        max_connections: pool_size(),
    };
    let keys = config.evidence.keys.clone();
    let label = ring.minting().id().to_string();
    let executor = Executor {
        store: Store::open(&location).await.unwrap(),
        spool: Some(Spooler::open(&orders.state.join("spool"), ROOM).unwrap()),
        ring,
        clock: Arc::new(FastClock {
            since: orders.since,
        }),
        patience: PATIENCE,
        observer: Arc::new(|_| {}),
        metrics: Metrics::new(),
        evidence: keys.map(|keys| Keeper::new(keys, config.evidence.max_bytes)),
        incidents: config.incidents,
        tenure: None,
        stop,
    };
    let watched = CancellationToken::new();
    let (replayer, done) = (executor.clone(), watched.clone());
    let replay = tokio::spawn(async move { replayer.replay(&done).await });
    let spool = executor.spool.clone();
    let watch = Watch::open(Arc::new(config), executor, instance.name.clone(), &label).await;
    assert_eq!(watch.unwrap().until_stopped().await, 0, "rounds unrecorded");
    watched.cancel();
    replay.await.unwrap();
    assert_eq!(spool.map(|spool| spool.is_empty()), Some(true));
}

/// A place where a member runs, is restarted when it has died, and recovers from what was done to it.
pub(crate) struct Member {
    pub(crate) number: usize,
    /// The folders of its states: more than one if it was replaced.
    pub(crate) states: Vec<PathBuf>,
    process: Option<Child>,
    wire: Wire,
    /// Stopped or cut off until then.
    until: Option<Instant>,
}

impl Member {
    pub(crate) fn new(number: usize, wire: Wire, state: PathBuf) -> Self {
        Self {
            number,
            states: vec![state],
            process: None,
            wire,
            until: None,
        }
    }

    pub(crate) fn start(&mut self, world: &World) {
        let state = self.states.last().unwrap();
        let log = world.folder().join(format!("member-{}.log", self.number));
        let log = File::options().append(true).create(true).open(log).unwrap();
        let child = Command::new(env::current_exe().unwrap())
            .args(["member", "--exact", "--ignored", "--nocapture"])
            .env("FLEET_CONFIG", world.config_file())
            .env("FLEET_STATE", state)
            .env("FLEET_DATABASE", self.wire.url(&world.server.url))
            .env(
                "FLEET_SINCE",
                world.clock.since.unix_timestamp_nanos().to_string(),
            )
            .env(
                "FLEET_LABELS",
                if world::is_local(self.number) {
                    "local"
                } else {
                    ""
                },
            )
            .env("FLEET_MEMBER", format!("{}", self.number))
            .env_remove("DATABASE_URL")
            .stdin(Stdio::null())
            .stdout(Stdio::from(log.try_clone().unwrap()))
            .stderr(Stdio::from(log))
            .spawn();
        self.process = Some(child.unwrap());
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Its successor knows nothing of it.
    pub(crate) fn replace(&mut self) {
        self.kill();
        let first = &self.states[0];
        let successor = first.with_extension(format!("{}", self.states.len()));
        self.states.push(successor);
    }

    pub(crate) fn stop_for(&mut self, pause: Duration) {
        self.signal("-STOP");
        self.until = Some(Instant::now() + pause);
    }

    pub(crate) fn cut_off_for(&mut self, pause: Duration) {
        self.wire.set(Passage::Mute);
        self.until = Some(Instant::now() + pause);
    }

    /// Ends what was done to it when its time is over; starts it again if it has died.
    pub(crate) fn attend(&mut self, world: &World) {
        if self.until.is_some_and(|until| until <= Instant::now()) {
            self.until = None;
            self.signal("-CONT");
            self.wire.set(Passage::Open);
        }
        // One that found no database when it started ends, as a service does, and is started again.
        let has_ended = |process: &mut Child| process.try_wait().unwrap().is_some();
        if self.process.as_mut().is_none_or(has_ended) {
            self.start(world);
        }
    }

    pub(crate) async fn recover(&mut self, world: &World) {
        if let Some(until) = self.until {
            tokio::time::sleep_until(until.into()).await;
        }
        self.attend(world);
    }

    /// Asks it to stop, and waits for it.
    pub(crate) async fn end(&mut self) {
        self.signal("-TERM");
        let Some(mut process) = self.process.take() else {
            return;
        };
        let status = tokio::task::spawn_blocking(move || process.wait().unwrap()).await;
        let log = self.states[0].with_file_name(format!("member-{}.log", self.number));
        assert!(status.unwrap().success(), "{}", tail(&log));
    }

    /// Its names, those of whom it replaced among them.
    pub(crate) fn names(&self) -> Vec<String> {
        let files = self.states.iter().map(|state| state.join("prober.name"));
        let names = files.filter_map(|file| std::fs::read_to_string(file).ok());
        names.map(|name| name.trim().to_owned()).collect()
    }

    fn signal(&self, signal: &str) {
        if let Some(process) = &self.process {
            // It may just have ended.
            let _ = Command::new("kill")
                .args([signal, &process.id().to_string()])
                .stderr(Stdio::null())
                .status();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The header by which the members' requests are told apart, in a configuration.
pub(crate) fn header() -> String {
    format!("headers = {{ {HEADER} = {{ env = \"FLEET_MEMBER\" }} }}")
}

/// The end of a log.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
