//! The valid configuration. Everything in it has been checked.

use crate::alert::Receiver;
use crate::budget::Budget;
use crate::drill;
use crate::endpoint::{Api, Connection, Extras, Limits};
use crate::evidence::EvidenceKeys;
use crate::incident;
use crate::length::Tokenizer;
use crate::scenario::Recipe;
use crate::store::Retention;
use canary_gen::Form;
use secrecy::SecretString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A whole, valid configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the embedded database and other state live; absolute, or relative to the working folder.
    pub data_dir: PathBuf,
    /// The key ring that canaries are minted with (`canary-gen keygen`). Not opened by this module.
    pub key_ring_file: PathBuf,
    /// Where facts are recorded.
    pub store: Store,
    /// How long facts are kept.
    pub retention: Retention,
    /// How this prober shares the work with others.
    pub fleet: Fleet,
    /// What `prober run` keeps on its disk while the database is away.
    pub spool: Spool,
    /// What `prober run` serves by HTTP.
    pub serve: Serve,
    /// What is kept of responses that prove something.
    pub evidence: Evidence,
    /// When findings make an incident, and when it is over by itself.
    pub incidents: incident::Rules,
    /// What belongs to all receivers of alerts.
    pub alerts: Alerts,
    /// Who is told of incidents; names unique.
    pub receivers: Vec<Receiver>,
    /// When it is tried whether a leak would be told.
    pub drill: drill::Settings,
    /// What is logged and how.
    pub log: Log,
    /// What is probed; at least one, names unique.
    pub endpoints: Vec<Endpoint>,
    /// What is tried; at least one. No endpoint has two of one name.
    pub scenarios: Vec<Scenario>,
}

impl Config {
    /// The endpoint of a name.
    #[must_use]
    pub fn endpoint(&self, name: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.name == name)
    }

    /// The scenario of a name at an endpoint, with its place in [`Config::scenarios`].
    #[must_use]
    pub fn scenario(&self, endpoint: &str, name: &str) -> Option<(usize, &Scenario)> {
        self.scenarios.iter().enumerate().find(|(_, scenario)| {
            scenario.name == name && scenario.endpoints.iter().any(|known| known == endpoint)
        })
    }
}

/// Where facts are recorded.
#[derive(Clone, Debug)]
pub struct Store {
    /// The database.
    pub database: Database,
    /// The largest number of connections to a server, `1..=100`. The embedded database takes one
    /// only, whatever stands here.
    pub max_connections: u32,
}

/// The database.
#[derive(Clone, Debug)]
pub enum Database {
    /// A Postgres inside this process, its files in [`Config::data_dir`].
    Embedded,
    /// A PostgreSQL server.
    Server {
        /// `postgres://…`; a secret, because it may hold a password.
        url: SecretString,
    },
}

/// How a prober shares the work with others that use the same database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// It takes endpoints only whose labels are all among these. `[a-z0-9-]{1,63}` each.
    pub labels: Vec<String>,
    /// How long it has an endpoint for itself without a word to the database, 5 seconds to an hour.
    pub lease: Duration,
    /// At so many endpoints it has rounds at once, 1 to 1000.
    pub rounds_at_once: usize,
}

/// What waits on the disk while the database is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spool {
    /// With more bytes waiting no request is sent, 32 MiB to 1 TiB.
    pub max_bytes: u64,
}

/// What is served by HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serve {
    /// Where; `None` serves nothing.
    pub listen: Option<SocketAddr>,
}

/// What is kept of responses that prove something.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What they are sealed with; without any nothing is kept.
    pub keys: Option<EvidenceKeys>,
    /// Of each response, so many bytes at most, `1 KiB..=16 MiB`.
    pub max_bytes: usize,
    /// How long they are kept, 1 to 36,500 days.
    pub retention: Duration,
}

/// What belongs to all receivers of alerts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alerts {
    /// Where people find a prober's status page: `http` or `https`, without a slash at the end.
    pub status_page: Option<String>,
    /// How long it is kept what was told to whom, 1 to 36,500 days.
    pub retention: Duration,
}

/// What is logged and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// The shape of a line.
    pub format: LogFormat,
    /// The least important level that is logged.
    pub level: tracing::Level,
}

/// The shape of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person at a terminal.
    Human,
    /// One JSON object a line.
    Json,
}

/// One base URL, API and model, with its advertised context limit.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Unique, `[a-z0-9-]{1,63}`.
    pub name: String,
    /// Only probers with all of these labels take it (regions, networks). `[a-z0-9-]{1,63}` each.
    pub labels: Vec<String>,
    /// The wire format.
    pub api: Api,
    /// `http` or `https`, without credentials, query, fragment or a slash at the end.
    pub base_url: String,
    /// The model asked for.
    pub model: String,
    /// The advertised context window in tokens, `256..=16_777_216`.
    pub context_tokens: u64,
    /// Whether answers are streamed.
    pub stream: bool,
    /// The engine's page size in tokens, `1..=65_536`; for reports only.
    pub page_tokens: u32,
    /// How lengths of prompts are measured.
    pub tokenizer: Tokenizer,
    /// How long and how much is waited for.
    pub limits: Limits,
    /// What it may cost in a day.
    pub budget: Budget,
    /// The synthetic customers; at least two, names unique in this endpoint.
    pub tenants: Vec<Tenant>,
}

/// A synthetic customer of an endpoint.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Unique in its endpoint, `[a-z0-9-]{1,63}`.
    pub name: String,
    /// What it identifies itself with: one line of printable ASCII without spaces around it.
    /// `None` where the endpoint asks for nothing. `Debug` does not show it.
    pub credential: Option<SecretString>,
    /// What it adds to its requests; the endpoint's own additions are among it.
    pub extras: Extras,
    /// How it connects; what the endpoint says of it is in here.
    pub connection: Connection,
}

/// What is tried, where and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The name in output, `[a-z0-9-]{1,63}`; the kind, unless another is given.
    pub name: String,
    /// The names of the endpoints it is tried at; at least one, in the order of
    /// [`Config::endpoints`].
    pub endpoints: Vec<String>,
    /// The width of a cell of the time grid, 10 seconds to 7 days, in whole milliseconds.
    pub every: Duration,
    /// Rounds start up to so much after the beginning of their cell; at most half of `every`.
    pub jitter: Duration,
    /// How canaries are written.
    pub form: Form,
    /// The share of its own canaries an endpoint must repeat for silence to prove anything, `(0, 1]`.
    pub min_sensitivity: f64,
    /// Room for an answer in tokens, `16..=4096`.
    pub max_answer_tokens: u32,
    /// The kind and what belongs to it.
    pub recipe: Recipe,
}
