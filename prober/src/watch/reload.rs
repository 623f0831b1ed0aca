//! Taking another configuration over while rounds go on.
//!
//! Nothing is cut off: whoever serves an endpoint ends its round under the configuration it began with, gives the lease
//! back, and begins no further one. Only then is the endpoint made known as the new configuration has it. What is decided
//! upon stands in the database, so no tick is decided twice or lost.

use super::{Place, Watch};
use crate::config::{Config, Endpoint};
use crate::errors;
use crate::evidence::Keeper;
use crate::plan::Timetable;
use crate::reload::changed;
use crate::round::{Session, SessionError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Endpoints that could not be made known are tried again so much later.
const OPEN_AGAIN: Duration = Duration::from_secs(5);

/// The endpoints whose labels are all among this prober's.
pub(super) fn mine(config: &Config) -> Vec<Endpoint> {
    let labels = &config.fleet.labels;
    let is_mine = |endpoint: &&Endpoint| endpoint.labels.iter().all(|label| labels.contains(label));
    config.endpoints.iter().filter(is_mine).cloned().collect()
}

/// The next configuration, when there is one.
pub(super) async fn next_of(configs: &mut Option<watch::Receiver<Arc<Config>>>) -> Arc<Config> {
    match configs {
        Some(configs) => {
            changed(configs).await;
            Arc::clone(&configs.borrow_and_update())
        }
        None => std::future::pending().await,
    }
}

impl Watch {
    /// From now on whatever begins does so under this configuration.
    pub(super) fn adopt(&mut self, config: Arc<Config>) {
        self.retired.cancel();
        self.retired = CancellationToken::new();
        self.timetable = Arc::new(Timetable::new(&config, &self.root_label));
        let evidence = &config.evidence;
        let keys = evidence.keys.clone();
        self.executor.evidence = keys.map(|keys| Keeper::new(keys, evidence.max_bytes));
        self.places.retain(|place| place.is_served);
        self.places
            .iter_mut()
            .for_each(|place| place.is_leaving = true);
        self.unopened = mine(&config);
        self.open_at = Instant::now();
        self.config = config;
        self.tell_names();
    }

    /// Tells the metrics which names there are, those of what goes on still among them.
    pub(super) fn tell_names(&self) {
        let leaving = self.places.iter().filter(|place| place.is_leaving);
        let leaving: Vec<String> = leaving.map(|place| place.name().to_owned()).collect();
        self.executor.metrics.configure(&self.config, &leaving);
    }

    /// Whether an endpoint waits for nothing but the database to become a place.
    pub(super) fn has_unopened(&self) -> bool {
        self.unopened.iter().any(|one| self.may_open(one))
    }

    pub(super) fn can_open(&self) -> bool {
        self.has_unopened() && self.open_at <= Instant::now()
    }

    fn may_open(&self, endpoint: &Endpoint) -> bool {
        !self
            .places
            .iter()
            .any(|place| place.name() == endpoint.name)
    }

    /// Makes all endpoints places that can be; those that cannot are tried again.
    pub(super) async fn try_to_open_places(&mut self) {
        if let Err(error) = self.open_places().await {
            tracing::warn!(
                error = errors::chain(&error),
                "an endpoint could not be made known; trying again"
            );
            self.open_at = Instant::now() + OPEN_AGAIN;
        }
        // How far new places are decided upon is to be looked up before anything is leased.
        self.look_at = Instant::now();
    }

    pub(super) async fn open_places(&mut self) -> Result<(), SessionError> {
        while let Some(at) = self.unopened.iter().position(|one| self.may_open(one)) {
            let (endpoint, executor) = (&self.unopened[at], &self.executor);
            let turn = executor.store.turn().await;
            let clock = executor.clock.as_ref();
            let session = Session::open(&executor.store, endpoint, clock).await?;
            let names = self.timetable.scenarios(&endpoint.name);
            let now = executor.clock.now();
            executor.store.open_lines(session.id(), &names, now).await?;
            drop(turn);
            self.places.push(Place::new(session));
            self.unopened.remove(at);
        }
        Ok(())
    }
}
