//! What integration tests share: a database of their own, simulated endpoints, configurations.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr)]

pub(crate) mod grafana;
pub(crate) mod inbox;
pub(crate) mod keeper;
pub(crate) mod ledger;
pub(crate) mod records;
pub(crate) mod service;
pub(crate) mod sites;
pub(crate) mod wire;

use canary_gen::key_file;
use prober::clock::SystemClock;
use prober::config::{self, Config};
use prober::evidence::{self, Keeper};
use prober::metrics::Metrics;
use prober::round::{Executor, RoundOrder, RoundReport, Session};
use prober::store::{Location, Store};
use secrecy::SecretString;
use simulator::{FaultSetting, Simulator};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Connection, PgConnection};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The tenants of every test endpoint, with their keys.
pub(crate) const TENANTS: [(&str, &str); 3] = [
    ("acme", "sk-acme-4f1c9d"),
    ("globex", "sk-globex-77aa02"),
    ("initech", "sk-initech-e0b3c5"),
];

/// A database of its own on the throw-away server of `scripts/test`.
pub(crate) struct TestDatabase {
    pub(crate) url: String,
    /// For looking at the facts, beside the store under test.
    pub(crate) pool: PgPool,
}

impl TestDatabase {
    pub(crate) async fn new() -> Self {
        let server = std::env::var("TEST_DATABASE_URL")
            .expect("TEST_DATABASE_URL is not set: run the tests with `scripts/test`, which starts a server");
        let name = format!("test_{:016x}", random());
        let mut admin = PgConnection::connect(&server)
            .await
            .expect("connect to the test server");
        let create = format!("create database {name}");
        sqlx::query(sqlx::AssertSqlSafe(create))
            .execute(&mut admin)
            .await
            .unwrap();
        admin.close().await.unwrap();
        Self::at(format!("{}/{name}", server.rsplit_once('/').unwrap().0))
    }

    /// One that is there already.
    pub(crate) fn at(url: String) -> Self {
        let options: PgConnectOptions = url.parse().unwrap();
        Self {
            url,
            pool: PgPoolOptions::new()
                .max_connections(1)
                .connect_lazy_with(options),
        }
    }

    pub(crate) fn location(&self) -> Location {
        Location::Server {
            url: SecretString::from(self.url.clone()),
            max_connections: pool_size(),
        }
    }

    pub(crate) async fn count(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query)
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }

    /// Every value of every table as text: what somebody with a dump of the database can read.
    pub(crate) async fn dump(&self) -> String {
        let rows = async |query: String| -> Vec<String> {
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(query));
            query.fetch_all(&self.pool).await.unwrap()
        };
        let tables = "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'";
        let mut text = String::new();
        for table in rows(tables.to_owned()).await {
            text.push_str(
                &rows(format!("select t::text from {table} t"))
                    .await
                    .join("\n"),
            );
            // A text in bytes would show as digits only.
            let bytes = format!(
                "select attname::text from pg_attribute where attrelid = '{table}'::regclass and atttypid = 'bytea'::regtype"
            );
            for column in rows(bytes).await {
                let bytes = format!("select coalesce(encode({column}, 'escape'), '') from {table}");
                text.push_str(&rows(bytes).await.join("\n"));
            }
        }
        text
    }
}

/// The pool size the suite is run with: `scripts/test` runs it on eight connections and on one.
pub(crate) fn pool_size() -> u32 {
    std::env::var("TEST_POOL").map_or(8, |size| size.parse().unwrap())
}

pub(crate) fn random() -> u64 {
    use ring::rand::SecureRandom;
    let mut bytes = [0; 8];
    ring::rand::SystemRandom::new().fill(&mut bytes).unwrap();
    u64::from_be_bytes(bytes)
}

/// A simulated endpoint on a free port; stops when dropped.
pub(crate) struct Endpoint {
    pub(crate) base_url: String,
    stop: CancellationToken,
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A small engine of the incident's shape: the prefill group holds two thirds of the window.
pub(crate) fn small_engine(faults: &[&str]) -> simulator::Config {
    simulator::Config {
        context_tokens: 16_384,
        prefill_tokens: 10_624,
        // Little more than the window: pages come back soon.
        decode_tokens: Some(17_408),
        keys: TENANTS
            .map(|(name, key)| (name.to_owned(), key.to_owned()).into())
            .to_vec(),
        faults: faults
            .iter()
            .map(|fault| fault.parse::<FaultSetting>().unwrap())
            .collect(),
        ..simulator::Config::default()
    }
}

pub(crate) async fn simulate(config: simulator::Config) -> Endpoint {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let simulator = Simulator::new(config).unwrap();
    tokio::spawn(simulator.serve(listener, stop.clone()));
    Endpoint { base_url, stop }
}

/// A folder with key ring, tenants' key files and a configuration.
pub(crate) struct Workplace {
    pub(crate) dir: tempfile::TempDir,
}

/// An endpoint's part of a test configuration.
pub(crate) struct EndpointText<'a> {
    pub(crate) name: &'a str,
    pub(crate) base_url: &'a str,
    pub(crate) context_tokens: u32,
    /// More lines of its table.
    pub(crate) more: &'a str,
}

impl Workplace {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        key_file::generate(&dir.path().join("canary.keys")).unwrap();
        evidence::key_file::generate(&dir.path().join("evidence.keys")).unwrap();
        for (tenant, key) in TENANTS.into_iter().chain([("org", HEADER_SECRET)]) {
            let path = dir.path().join(format!("{tenant}.key"));
            fs::write(&path, key).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        Self { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a configuration of one endpoint and some scenarios.
    pub(crate) fn write(&self, endpoint: &EndpointText<'_>, scenarios: &str) -> PathBuf {
        let EndpointText {
            name,
            base_url,
            context_tokens,
            more,
        } = endpoint;
        let mut text = format!(
            "data_dir = \"state\"\nkey_ring_file = \"canary.keys\"\n\n\
             [evidence]\nkey_file = \"evidence.keys\"\n\n[serve]\nlisten = \"127.0.0.1:0\"\n\n[[endpoints]]\nname = \"{name}\"\n\
             api = \"openai-chat\"\nbase_url = \"{base_url}\"\nmodel = \"simulated-1m\"\n\
             context_tokens = {context_tokens}\nheaders = {{ x-org = {{ file = \"org.key\" }} }}\n{more}\n"
        );
        for (tenant, _) in TENANTS {
            writeln!(
                text,
                "[[endpoints.tenants]]\nname = \"{tenant}\"\nkey_file = \"{tenant}.key\""
            )
            .unwrap();
        }
        text.push_str(scenarios);
        let path = self.path().join("prober.toml");
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn config(&self, endpoint: &EndpointText<'_>, scenarios: &str) -> Config {
        config::load_with(&self.write(endpoint, scenarios), &|_| None)
            .unwrap_or_else(|errors| panic!("{errors}"))
    }
}

pub(crate) const OVERFLOW: &str =
    "[[scenarios]]\nkind = \"overflow\"\nevery = \"1h\"\nladder = [0.5, 0.8, 0.95, 1.3]\n";
pub(crate) const CROSSTALK: &str = "[[scenarios]]\nkind = \"crosstalk\"\nevery = \"1h\"\ntokens = 3000\nwaves = 3\nstride_tokens = 500\n";

/// Everything a round against a small simulated engine needs.
pub(crate) struct Rehearsal {
    pub(crate) database: TestDatabase,
    pub(crate) config: Config,
    pub(crate) store: Store,
    _engine: Endpoint,
    _workplace: Workplace,
}

impl Rehearsal {
    pub(crate) async fn new(faults: &[&str], scenarios: &str) -> Self {
        Self::with(TestDatabase::new().await, faults, scenarios).await
    }

    pub(crate) async fn with(database: TestDatabase, faults: &[&str], scenarios: &str) -> Self {
        let engine = simulate(small_engine(faults)).await;
        let workplace = Workplace::new();
        let endpoint = EndpointText {
            name: "rehearsal",
            base_url: &engine.base_url,
            context_tokens: small_engine(&[]).context_tokens,
            more: "",
        };
        Self {
            config: workplace.config(&endpoint, scenarios),
            store: Store::open(&database.location()).await.unwrap(),
            database,
            _engine: engine,
            _workplace: workplace,
        }
    }
}

/// Runs one round of the first scenario at the first endpoint.
pub(crate) async fn run_round(config: &Config, store: &Store, seed: u64) -> RoundReport {
    let (executor, session) = ready(config, store).await;
    run_with(config, &executor, &session, seed).await
}

pub(crate) async fn ready(config: &Config, store: &Store) -> (Executor, Session) {
    let clock = Arc::new(SystemClock);
    let keys = config.evidence.keys.clone();
    let executor = Executor {
        store: store.clone(),
        spool: None,
        ring: key_file::load(&config.key_ring_file).unwrap(),
        evidence: keys.map(|keys| Keeper::new(keys, config.evidence.max_bytes)),
        incidents: config.incidents,
        clock: clock.clone(),
        patience: Duration::from_secs(5),
        observer: Arc::new(|_| {}),
        metrics: Metrics::new(),
        tenure: None,
        stop: CancellationToken::new(),
    };
    let session = Session::open(store, &config.endpoints[0], clock.as_ref())
        .await
        .unwrap();
    (executor, session)
}

pub(crate) async fn run_with(
    config: &Config,
    executor: &Executor,
    session: &Session,
    seed: u64,
) -> RoundReport {
    let order = RoundOrder {
        scenario: &config.scenarios[0],
        seed,
        due_at: None,
        replay: None,
    };
    executor.run(session, &order).await.unwrap()
}

/// In a header of every request of these tests.
const HEADER_SECRET: &str = "org-header-hunter3";

/// No secret of the tenants stands in a text.
pub(crate) fn assert_no_secrets(text: &str) {
    for (tenant, key) in TENANTS {
        assert!(!text.contains(key), "the key of {tenant} was shown");
    }
    assert!(!text.contains(HEADER_SECRET), "a secret header was shown");
}

/// The `prober` command, without the database and log level of whoever runs the tests.
pub(crate) fn prober(args: &[&str]) -> Command {
    // Examples share this file, and have no binary beside them.
    let Some(binary) = option_env!("CARGO_BIN_EXE_prober") else {
        panic!("only an integration test has the prober's binary beside it");
    };
    let mut command = Command::new(binary);
    command
        .args(args)
        .env_remove("DATABASE_URL")
        .env_remove("RUST_LOG")
        .stdin(Stdio::null());
    command
}

/// A test endpoint; its waits are long enough for a busy machine.
pub(crate) fn rehearsal(base_url: &str) -> EndpointText<'_> {
    EndpointText {
        name: "rehearsal",
        base_url,
        context_tokens: 16_384,
        more: "[endpoints.limits]\nconnect_timeout = \"5s\"\nfirst_byte_timeout = \"10s\"\nidle_timeout = \"10s\"\ntotal_timeout = \"30s\"",
    }
}
