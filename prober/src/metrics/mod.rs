//! Metrics: what Prometheus is told (docs/metrics.md).
//!
//! One value of them a process is handed to whatever has something to tell. Labels are names of the configuration and
//! codes of ours; nothing of a response ever gets here. Names follow Prometheus' conventions: base units, `_total`.
//! Drills have metrics of their own: whatever is counted elsewhere happened.

mod database;
mod known;
mod probing;
#[cfg(target_os = "linux")]
mod process;
mod requests;
mod series;
mod service;
mod standing;
mod survey;

pub use probing::JudgedProbe;
pub use requests::{InFlight, Moved, Scanned, Text};
pub use series::Described;
pub use service::HeldLease;
pub use survey::keep_surveying;

use crate::alert::Next;
use crate::config::Config;
use crate::endpoint::Exchange;
use crate::judge::Finding;
use crate::plan::SkipReason;
use crate::spool::Spooler;
use crate::store::{StoreError, Survey};
use database::Database;
use known::Known;
use probing::Probing;
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;
use requests::Requests;
use series::{Forgetful, Registrar};
use service::Service;
use standing::Standing;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use tokio::sync::Notify;

/// How metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' own, 0.0.4.
    Classic,
}

impl Format {
    /// What HTTP calls it.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Classic => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// All metrics of a process. Cheap to clone: all clones are one.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    described: Vec<Described>,
    forgetful: Vec<Box<dyn Forgetful>>,
    known: Arc<RwLock<Known>>,
    probing: Probing,
    requests: Requests,
    database: Database,
    service: Service,
    standing: Standing,
    /// Rings when what the database holds is worth another look.
    outdated: Notify,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Metrics that know no configuration yet: what has an endpoint, scenario or receiver is not kept before
    /// [`Metrics::configure`].
    #[must_use]
    pub fn new() -> Self {
        let mut registrar = Registrar::default();
        let service = Service::new(&mut registrar);
        let probing = Probing::new(&mut registrar);
        let requests = Requests::new(&mut registrar);
        let standing = Standing::new(&mut registrar);
        let database = Database::new(&mut registrar);
        #[cfg(target_os = "linux")]
        {
            for (spec, kind) in &process::SPECS {
                registrar.describe(spec, kind);
            }
            let collector = Box::new(process::ProcessCollector);
            registrar.registry.register_collector(collector);
        }
        Self(Arc::new(Inner {
            registry: registrar.registry,
            described: registrar.described,
            forgetful: registrar.forgetful,
            known: registrar.known,
            probing,
            requests,
            database,
            service,
            standing,
            outdated: Notify::new(),
        }))
    }

    /// Which metrics there are.
    #[must_use]
    pub fn described(&self) -> &[Described] {
        &self.0.described
    }

    /// All of them as they are now.
    #[must_use]
    pub fn encode(&self, format: Format) -> String {
        let mut out = String::new();
        let registry = &self.0.registry;
        let written = match format {
            Format::OpenMetrics => text::encode(&mut out, registry),
            Format::Classic => prometheus_text::encode(&mut out, registry),
        };
        debug_assert!(written.is_ok(), "writing into a string never fails");
        out
    }

    /// From now on there are series of what this configuration names, and of those before only of the endpoints
    /// `leaving`, at which a round goes on.
    pub fn configure(&self, config: &Config, leaving: &[String]) {
        let inner = &*self.0;
        *inner.known.write().unwrap_or_else(PoisonError::into_inner) = Known::of(config, leaving);
        {
            let known = inner.known.read().unwrap_or_else(PoisonError::into_inner);
            inner.forgetful.iter().for_each(|one| one.forget(&known));
        }
        for endpoint in &config.endpoints {
            inner.probing.prepare_endpoint(&endpoint.name);
            inner.requests.prepare_endpoint(&endpoint.name);
            inner.service.prepare_endpoint(&endpoint.name);
        }
        for scenario in &config.scenarios {
            for endpoint in &scenario.endpoints {
                inner.probing.prepare(endpoint, &scenario.name);
            }
        }
        for receiver in &config.receivers {
            inner.service.prepare_receiver(&receiver.name);
        }
        inner.service.receivers(config.receivers.len());
        inner.standing.prepare(config);
        inner.outdated.notify_one();
    }

    /// A configuration was taken over at a moment; whether the file asks for something that takes a restart.
    pub fn config_taken(&self, at: OffsetDateTime, is_restart_required: bool) {
        self.0.service.config_taken(at, is_restart_required);
    }

    /// A configuration could not be taken over; whether because it asks for something that takes a restart.
    pub fn config_refused(&self, is_restart_required: bool) {
        self.0.service.config_refused(is_restart_required);
    }

    /// A request begins. It is under way until what is returned is dropped.
    #[must_use]
    pub fn request_begun(&self, endpoint: &str) -> InFlight {
        self.0.requests.begun(endpoint)
    }

    /// A request has ended.
    pub fn request_ended(&self, endpoint: &str, exchange: &Exchange, moved: Moved) {
        self.0.requests.ended(endpoint, exchange, moved);
    }

    /// A whole text was scanned.
    pub fn scanned(&self, text: Text, scanned: Scanned) {
        self.0.requests.scanned(text, scanned);
    }

    /// A probe was judged that was not there to calibrate.
    pub fn judged(&self, probe: &JudgedProbe<'_>) {
        self.0.probing.judged(probe);
    }

    /// Something was found.
    pub fn found(&self, endpoint: &str, finding: &Finding) {
        self.0.probing.found(endpoint, finding);
        self.0.outdated.notify_one();
    }

    /// A round ended with a verdict.
    pub fn round_ended(
        &self,
        endpoint: &str,
        scenario: &str,
        verdict: &'static str,
        took: Duration,
    ) {
        let probing = &self.0.probing;
        probing.round_ended(endpoint, scenario, verdict, took);
        self.0.outdated.notify_one();
    }

    /// A round could not be recorded completely.
    pub fn round_unrecorded(&self, endpoint: &str, scenario: &str) {
        self.0.probing.round_unrecorded(endpoint, scenario);
    }

    /// So many due rounds in a row did not happen.
    pub fn rounds_skipped(&self, endpoint: &str, scenario: &str, reason: SkipReason, rounds: u64) {
        let probing = &self.0.probing;
        probing.rounds_skipped(endpoint, scenario, reason, rounds);
    }

    /// A lease was gained. It is held until what is returned is dropped.
    #[must_use]
    pub fn leased(&self, endpoint: &str) -> HeldLease {
        self.0.service.leased(endpoint)
    }

    /// A lease was lost.
    pub fn lease_lost(&self, endpoint: &str) {
        self.0.service.lease_lost(endpoint);
    }

    /// An attempt to deliver a message was made.
    pub fn attempted(&self, receiver: &str, next: &Next) {
        self.0.service.attempted(receiver, next);
        self.0.outdated.notify_one();
    }

    /// What waits for the database waits in this spool.
    pub fn watch_spool(&self, spool: Spooler) {
        self.0.database.watch(spool);
    }

    /// Carries an act of the store out, and takes its time. One that is given up counts as failed.
    ///
    /// # Errors
    /// As the act.
    pub async fn timed<T>(
        &self,
        act: &'static str,
        write: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut timing = Timing {
            metrics: self,
            act,
            begun: Instant::now(),
            is_done: false,
        };
        let done = write.await;
        // That another prober has the endpoint is an answer.
        timing.is_done = matches!(done, Ok(_) | Err(StoreError::LeaseLost));
        done
    }

    /// Whether the database answered, and how many connections are idle and used.
    fn database(&self, is_up: bool, (idle, used): (u32, u32)) {
        self.0.database.is_up(is_up);
        self.0.database.connections(idle, used);
    }

    /// What the database holds.
    fn surveyed(&self, config: &Config, survey: &Survey, now: OffsetDateTime) {
        self.0.standing.surveyed(config, survey, now);
        for line in &survey.lines {
            if let Some(at) = line.last_conclusive_at {
                let probing = &self.0.probing;
                probing.conclusive(&line.endpoint, &line.scenario, at);
            }
        }
    }

    /// Waits until what the database holds is worth another look.
    async fn outdated(&self) {
        self.0.outdated.notified().await;
    }
}

/// An act of the store under way.
struct Timing<'a> {
    metrics: &'a Metrics,
    act: &'static str,
    begun: Instant,
    is_done: bool,
}

impl Drop for Timing<'_> {
    fn drop(&mut self) {
        let database = &self.metrics.0.database;
        database.wrote(self.act, self.begun.elapsed(), self.is_done);
    }
}

/// Seconds since 1970.
fn timestamp(at: OffsetDateTime) -> f64 {
    at.unix_timestamp_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests;
