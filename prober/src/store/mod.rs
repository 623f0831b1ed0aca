//! The store: the only station that speaks SQL. One table family a file.
//!
//! Everything works on a pool of one connection (the embedded Postgres has no more): no function
//! acquires a second connection while it holds one, and nothing listens or notifies.

mod alerts;
mod drills;
#[cfg(feature = "embedded-postgres")]
mod embedded;
mod endpoints;
mod evidence;
mod export;
mod findings;
mod incidents;
mod leases;
mod pool;
mod probes;
mod record;
mod report;
mod rounds;
mod spending;
mod sums;
mod survey;
mod upkeep;

pub use alerts::{Claim, DeliveryCounts, Lane, ReceiverRecord, Route};
pub use drills::DrillRecord;
pub use endpoints::{EndpointFacts, RegisteredEndpoint, RegisteredTenant};
pub use evidence::{Access, Act, EvidenceFacts, EvidenceState, Resealed};
pub use export::{ExportedDonor, ExportedFinding, ExportedIncident, FindingFilter, Writers};
pub use findings::{DonorRecord, FindingRecord, JointFinding, Part, Relation};
pub use incidents::{By, IncidentEvent, IncidentFinding, IncidentRecord};
pub use leases::{Decided, Gained, Lease};
pub use probes::{NewProbe, ProbeRecord, SentRecord, Usage};
pub use report::Counts;
pub use rounds::{History, NewRound, RoundEnd, RoundRecord, SkippedRound};
pub use spending::Standing;
pub use survey::{DrillSurvey, LineSurvey, ReceiverSurvey, Survey, UnresolvedIncidents, Waiting};
pub use upkeep::{Pruned, Retention, SchemaState};

use secrecy::{ExposeSecret, SecretString};
use sqlx::ConnectOptions as _;
use sqlx::migrate::MigrateError;
use sqlx::postgres::{PgConnectOptions, PgPool};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations");

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
    /// The database was away for longer than we wait, and the spool took nothing more.
    #[error("neither the database nor the spool took a record")]
    NotKept,
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
            // A certificate that is not believed will not be later either.
            sqlx::Error::Io(error) => error.kind() != io::ErrorKind::InvalidData,
            sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) => true,
            // Class 57: operator intervention (shutdown, crash, a statement's time is up); 08: connection
            // exceptions; 53: resources; 25006: the server has become a standby; 40001, 40P01, 55P03: others
            // were in the way.
            sqlx::Error::Database(error) => error.code().is_some_and(|code| {
                ["57", "08", "53", "25006", "40001", "40P01", "55P03"]
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
    /// Rings when this process may have written alerts; see [`Store::alerted`].
    alerted: Arc<Notify>,
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
                let most = (*max_connections).max(1);
                Ok(Self::of(pool::to_server(parse(url)?, most).await?, most))
            }
            #[cfg(feature = "embedded-postgres")]
            Location::Embedded { directory } => {
                let server = embedded::Server::start(directory.clone()).await?;
                let pool = pool::to_embedded(parse(&server.url().into())?).await?;
                Ok(Self {
                    embedded: Some(Arc::new(server)),
                    ..Self::of(pool, 1)
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

    /// How many connections are idle, and how many are used.
    #[must_use]
    pub fn connections(&self) -> (u32, u32) {
        let idle = u32::try_from(self.pool.num_idle()).unwrap_or(u32::MAX);
        (idle, self.pool.size().saturating_sub(idle))
    }

    /// Waits until this process has written what may be an alert: what other processes write, only looking tells.
    pub async fn alerted(&self) {
        self.alerted.notified().await;
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
        Ok(Some(Self::of(pool::to_look(parse(url)?).await?, 1)))
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
        let mut connection = self.pool.acquire().await.map_err(StoreError::Connect)?;
        pool::without_limits(&mut connection)
            .await
            .map_err(query_error("prepare to bring the schema up to date"))?;
        MIGRATIONS
            .run(&mut *connection)
            .await
            .map_err(StoreError::Migrate)?;
        if self.embedded_url().is_none() {
            pool::with_limits(&mut connection)
                .await
                .map_err(query_error("go on after bringing the schema up to date"))?;
        }
        Ok(())
    }

    fn of(pool: PgPool, max_connections: u32) -> Self {
        Self {
            pool,
            turns: Arc::new(Semaphore::new(max_connections as usize)),
            alerted: Arc::default(),
            #[cfg(feature = "embedded-postgres")]
            embedded: None,
        }
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

fn parse(url: &SecretString) -> Result<PgConnectOptions, StoreError> {
    let options = url.expose_secret().parse().map_err(|_| StoreError::Url);
    options.map(PgConnectOptions::disable_statement_logging)
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
