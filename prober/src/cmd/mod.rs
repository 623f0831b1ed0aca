//! Commands, one a file. Standard output carries results, standard error everything else.

pub mod alert;
pub mod check;
pub mod db;
pub mod demo;
pub mod drill;
pub mod evidence;
pub mod export;
pub mod exposure;
pub mod incidents;
pub mod limits;
pub mod once;
pub mod plan;
pub mod power;
pub mod replay;
pub mod run;
pub mod simulate;

mod follow;
mod progress;
mod signals;
mod upkeep;
mod who;

use crate::config::{Config, ConfigErrors, Database};
use crate::evidence::Keeper;
use crate::round::{RoundError, SessionError};
use crate::store::{Location, StoreError};
use crate::terminal::say;
use crate::watch::InstanceError;
use canary_gen::key_file::KeyFileError;
use std::io::{self, Write};
use std::path::PathBuf;

/// Exit codes, documented in `--help` and README.
pub mod exit {
    /// Done, or clean.
    pub const CLEAN: u8 = 0;
    /// A finding.
    pub const FINDING: u8 = 1;
    /// An error.
    pub const ERROR: u8 = 2;
    /// Nothing was proven.
    pub const INCONCLUSIVE: u8 = 3;
    /// The budget does not allow it; nothing was sent.
    pub const OVER_BUDGET: u8 = 4;
}

/// What can end a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The configuration is wrong.
    #[error("the configuration has mistakes\n{0}")]
    Config(ConfigErrors),
    /// The key ring is missing or wrong.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The evidence keys could not be made.
    #[error(transparent)]
    EvidenceKey(#[from] crate::evidence::key_file::KeyFileError),
    /// Evidence does not open.
    #[error("open the evidence of probe {probe}")]
    Evidence {
        /// Whose response.
        probe: u64,
        /// Why not.
        source: crate::evidence::OpenError,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An endpoint could not be made ready.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Another prober runs here, or its name cannot be kept.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// Nothing can be sent to a receiver of alerts.
    #[error(transparent)]
    Sender(#[from] crate::alert::SenderError),
    /// The spool cannot be opened.
    #[error(transparent)]
    Spool(#[from] crate::spool::SpoolError),
    /// A round could not be carried through.
    #[error(transparent)]
    Round(#[from] RoundError),
    /// The command line asks for something the configuration does not have.
    #[error("{0}")]
    Choice(String),
    /// A simulated endpoint could not be set up.
    #[error("set up the simulated endpoint")]
    Simulator(#[from] simulator::ConfigError),
    /// A socket, file or signal failed.
    #[error("{act}")]
    Io {
        /// What was being done.
        act: String,
        /// What the system said.
        source: io::Error,
    },
    /// An incident, mapping or rules file is wrong.
    #[error(transparent)]
    Settings(#[from] crate::exposure::SettingsError),
    /// A result could not be encoded.
    #[error("encode the result as JSON")]
    Json(#[from] serde_json::Error),
}

impl CommandError {
    fn io(act: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let act = act.into();
        move |source| Self::Io { act, source }
    }
}

/// Writes a result to standard output.
fn print(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        // The reader has seen enough (`| head`).
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(CommandError::io("write to standard output")),
    }
}

/// Where a configuration keeps its facts.
fn location(config: &Config) -> Location {
    match &config.store.database {
        Database::Server { url } => Location::Server {
            url: url.clone(),
            max_connections: config.store.max_connections,
        },
        Database::Embedded => Location::Embedded {
            directory: config.data_dir.join("postgres"),
        },
    }
}

/// What keeps the responses behind findings. Says so where nothing does.
fn keeper(config: &Config) -> Option<Keeper> {
    let evidence = &config.evidence;
    let keys = evidence.keys.clone();
    if keys.is_none() {
        tracing::warn!("{NO_EVIDENCE}");
    }
    keys.map(|keys| Keeper::new(keys, evidence.max_bytes))
}

/// What is said where there is no evidence key.
const NO_EVIDENCE: &str = "responses behind findings are not kept: no evidence key is configured (make one with `prober evidence keygen -o FILE` and name it in `evidence.key_file`)";

/// How a result is written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Format {
    /// Sentences for people.
    Text,
    /// One JSON object.
    Json,
}

/// Which configuration file.
#[derive(Debug, clap::Args)]
pub struct ConfigArg {
    /// Configuration file (TOML; every key is explained in docs/config.md).
    #[arg(long, value_name = "FILE", env = "PROBER_CONFIG")]
    pub config: PathBuf,
}

impl ConfigArg {
    fn load(&self) -> Result<Config, CommandError> {
        crate::config::load(&self.config).map_err(CommandError::Config)
    }
}
