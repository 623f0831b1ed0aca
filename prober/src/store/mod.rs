//! The store: the only station that speaks SQL. One table family a file.
//!
//! Everything works on a pool of one connection (the embedded Postgres has no more): no function
//! acquires a second connection while it holds one, and nothing listens or notifies.

#[cfg(feature = "embedded-postgres")]
mod embedded;
mod endpoints;
mod evidence;
mod findings;
mod incidents;
mod leases;
mod probes;
mod record;
mod report;
mod rounds;
mod spending;
mod sums;
mod upkeep;

pub use endpoints::{EndpointFacts, RegisteredEndpoint, RegisteredTenant};
pub use evidence::{Access, Act, EvidenceFacts, EvidenceState, Resealed};
pub use findings::{DonorRecord, FindingRecord, Part, Relation};
pub use incidents::{By, IncidentEvent, IncidentFinding, IncidentRecord};
pub use leases::{Decided, Gained, Lease};
pub use probes::{NewProbe, ProbeRecord, SentRecord, Usage};
pub use report::Counts;
pub use rounds::{History, NewRound, RoundEnd, RoundRecord, SkippedRound};
pub use spending::Standing;
pub use upkeep::{Pruned, Retention, SchemaState};

use secrecy::{ExposeSecret, SecretString};
use sqlx::ConnectOptions as _;
use sqlx::migrate::MigrateError;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations");

/// How long a query waits for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// Which Postgres to use.
#[derive(Clone, Debug)]
pub enum Location {
    /// A server, by its `postgres://` URL (which may hold a password).
    Server {
        /// The URL.
        url: SecretString,
        /// Most connections to hold, at least 1.
        max_connections: u32,
    },
    /// The embedded Postgres, with its files in this directory.
    Embedded {
        /// The directory; made if missing.
        directory: PathBuf,
    },
}

/// Why the store could not do what it was asked. Never holds a URL or a password.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL is not one.
    #[error("read the database URL (expected `postgres://USER:PASSWORD@HOST:PORT/DATABASE`)")]
    Url,
    /// No connection.
    #[error("connect to the database")]
    Connect(#[source] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("bring the database schema up to date")]
    Migrate(#[source] MigrateError),
    /// The schema is not this version's, and the role may not change it.
    #[error(
        "the database's schema is not that of this version ({pending} migrations to come, {unknown} not known), and this role may not change it (run `prober db migrate` with the owner's URL, or the version that fits)"
    )]
    Foreign {
        /// How many migrations are to come.
        pending: usize,
        /// How many were applied that this version does not know.
        unknown: usize,
    },
    /// A statement failed.
    #[error("{act}")]
    Query {
        /// What was being done.
        act: &'static str,
        /// What the database said.
        source: sqlx::Error,
    },
    /// The embedded Postgres did not start.
    #[error("start the embedded Postgres in `{directory}`: {reason}")]
    Embedded {
        /// Its directory.
        directory: PathBuf,
        /// What it said.
        reason: String,
    },
    /// Another prober has the endpoint now; nothing was recorded.
    #[error("the lease of the endpoint was lost")]
    LeaseLost,
    /// This binary has no embedded Postgres.
    #[error(
        "this build has no embedded Postgres (set DATABASE_URL or `store.url`, or build with the feature `embedded-postgres`)"
    )]
    NotCompiledIn,
    /// All 4,096 tenant numbers are taken, or a number does not fit its column.
    #[error("{what} is out of range")]
    Range {
        /// Which number.
        what: &'static str,
    },
}

impl StoreError {
    /// Whether trying again later may help: the connection failed, not the statement.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let source = match self {
            Self::Connect(source) | Self::Query { source, .. } => source,
            _ => return false,
        };
        match source {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) => true,
            // Class 57: operator intervention (shutdown, crash); 08: connection exceptions; 53: resources.
            sqlx::Error::Database(error) => error.code().is_some_and(|code| {
                ["57", "08", "53"]
                    .iter()
                    .any(|class| code.starts_with(class))
            }),
            _ => false,
        }
    }
}

/// The open database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pool: PgPool,
    /// One permit a connection; see [`Store::turn`].
    turns: Arc<Semaphore>,
    #[cfg(feature = "embedded-postgres")]
    embedded: Option<Arc<embedded::Server>>,
}

impl Store {
    /// Opens the database and brings its schema up to date.
    ///
    /// # Errors
    /// When it cannot be reached or started, or holds a schema this version does not know.
    pub async fn open(location: &Location) -> Result<Self, StoreError> {
        let store = Self::attach(location).await?;
        store.migrate().await?;
        Ok(store)
    }

    /// Opens the database with whatever schema it has.
    ///
    /// # Errors
    /// When it cannot be reached or started.
    pub async fn attach(location: &Location) -> Result<Self, StoreError> {
        match location {
            Location::Server {
                url,
                max_connections,
            } => {
                let options: PgConnectOptions =
                    url.expose_secret().parse().map_err(|_| StoreError::Url)?;
                Self::connect(options, *max_connections).await
            }
            #[cfg(feature = "embedded-postgres")]
            Location::Embedded { directory } => {
                let server = embedded::Server::start(directory.clone()).await?;
                let options: PgConnectOptions =
                    server.url().parse().map_err(|_| StoreError::Url)?;
                let store = Self::connect(options, 1).await?;
                Ok(Self {
                    embedded: Some(Arc::new(server)),
                    ..store
                })
            }
            #[cfg(not(feature = "embedded-postgres"))]
            Location::Embedded { .. } => Err(StoreError::NotCompiledIn),
        }
    }

    /// Waits for a turn to use a connection, for as long as it takes: first come, first served. Whoever
    /// has one finds a connection free, so that waiting for one longer than ten seconds means that the
    /// database is away, not that a thousand probes end at once.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }

    /// Opens a server's database as it is, to look at it only: changes no schema and starts nothing. `None` for
    /// the embedded Postgres, which would have to be started.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn look(location: &Location) -> Result<Option<Self>, StoreError> {
        let Location::Server { url, .. } = location else {
            return Ok(None);
        };
        let options: PgConnectOptions = url.expose_secret().parse().map_err(|_| StoreError::Url)?;
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options.disable_statement_logging())
            .await
            .map_err(StoreError::Connect)?;
        Ok(Some(Self {
            pool,
            turns: Arc::new(Semaphore::new(1)),
            #[cfg(feature = "embedded-postgres")]
            embedded: None,
        }))
    }

    async fn connect(options: PgConnectOptions, max_connections: u32) -> Result<Self, StoreError> {
        let max_connections = max_connections.max(1);
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            // A connection to the embedded server takes 0.1 s and resets its session: keep it.
            .min_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options.disable_statement_logging())
            .await
            .map_err(StoreError::Connect)?;
        Ok(Self {
            pool,
            turns: Arc::new(Semaphore::new(max_connections as usize)),
            #[cfg(feature = "embedded-postgres")]
            embedded: None,
        })
    }

    /// Brings the schema up to date; a role that may not make tables finds it so. Several at once wait for each other.
    ///
    /// # Errors
    /// When a migration fails, or the schema is one this version does not know.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        // The library begins with `create table if not exists`, which PostgreSQL refuses to such a role though
        // there is nothing to make.
        if !self.may_create().await? {
            let state = self.schema_state().await?;
            return if state.pending.is_empty() && state.unknown.is_empty() {
                Ok(())
            } else {
                Err(StoreError::Foreign {
                    pending: state.pending.len(),
                    unknown: state.unknown.len(),
                })
            };
        }
        MIGRATIONS
            .run(&self.pool)
            .await
            .map_err(StoreError::Migrate)
    }

    /// Where a person can look at the tables of the embedded Postgres; `None` for a server.
    #[must_use]
    pub fn embedded_url(&self) -> Option<String> {
        #[cfg(feature = "embedded-postgres")]
        return self.embedded.as_ref().map(|server| server.url());
        #[cfg(not(feature = "embedded-postgres"))]
        None
    }

    /// Closes every connection and stops the embedded Postgres, if it is one.
    pub async fn close(self) {
        self.pool.close().await;
        #[cfg(feature = "embedded-postgres")]
        if let Some(server) = self.embedded.and_then(std::sync::Arc::into_inner) {
            server.stop().await;
        }
    }

    /// Lets go of the only connection of the embedded Postgres, so that a person can look at it
    /// with `psql` while it stays up.
    pub async fn release(&self) {
        self.pool.close().await;
    }
}

fn query_error(act: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |source| StoreError::Query { act, source }
}

/// An unsigned count as a column's `bigint`. Counts of bytes and tokens are far below 2⁶³.
fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A small count as a column's `integer`.
fn integer(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
