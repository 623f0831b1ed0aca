//! Reloading: the file is read and checked again, and whoever works by it is handed the new configuration, or none is.

mod changes;

pub use changes::{Changes, Named, restart_keys};

use crate::alert::{SenderError, check_receivers};
use crate::clock::Clock;
use crate::config::{self, Config, ConfigErrors};
use crate::errors;
use crate::metrics::Metrics;
use crate::round::{Session, SessionError};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// Why a configuration was not taken over. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The file has mistakes. Says what `prober check` does.
    #[error("{0}")]
    Config(ConfigErrors),
    /// Something differs that is read at the start only.
    #[error("{}", restart_sentences(file, keys))]
    Restart {
        /// Which file.
        file: PathBuf,
        /// What differs.
        keys: Vec<&'static str>,
    },
    /// Nothing can be sent to a receiver.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// Nothing can be sent to an endpoint.
    #[error(transparent)]
    Client(#[from] SessionError),
    /// The file could not be read to its end, because the process ends.
    #[error("the prober stops")]
    Stops,
}

/// One a line, like the mistakes of a file.
fn restart_sentences(file: &Path, keys: &[&str]) -> String {
    let sentence = |key: &&str| {
        format!(
            "{}: {key}: `{key}` changes only with a restart (restart the prober, or change it back)",
            file.display()
        )
    };
    let sentences: Vec<String> = keys.iter().map(sentence).collect();
    sentences.join("\n")
}

/// Takes configurations over. Cheap to clone: all clones are one.
#[derive(Clone)]
pub struct Reloader(Arc<Inner>);

struct Inner {
    file: PathBuf,
    /// Labels of the command line, beside those of the file.
    labels: Vec<String>,
    configs: watch::Sender<Arc<Config>>,
    metrics: Metrics,
    clock: Arc<dyn Clock>,
    /// One reload at a time.
    turn: Mutex<()>,
}

impl fmt::Debug for Reloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloader")
            .field("file", &self.0.file)
            .finish_non_exhaustive()
    }
}

impl Reloader {
    /// Of a prober that has begun with `config`, read from `file`, with `labels` of the command line among its own.
    #[must_use]
    pub fn new(
        file: PathBuf,
        labels: Vec<String>,
        config: Arc<Config>,
        metrics: Metrics,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self(Arc::new(Inner {
            file,
            labels,
            configs: watch::Sender::new(config),
            metrics,
            clock,
            turn: Mutex::new(()),
        }))
    }

    /// The configuration that holds, and every later one.
    #[must_use]
    pub fn configs(&self) -> watch::Receiver<Arc<Config>> {
        self.0.configs.subscribe()
    }

    /// Reads the file again and hands the configuration out if all of it can be taken over. Tells log and metrics.
    ///
    /// # Errors
    /// When it cannot: the old one holds on.
    pub async fn reload(&self) -> Result<Changes, ReloadError> {
        let inner = &*self.0;
        let _turn = inner.turn.lock().await;
        let old = Arc::clone(&inner.configs.borrow());
        match self.read(&old).await {
            Ok(config) => {
                let changes = Changes::between(&old, &config);
                inner.configs.send_replace(Arc::new(config));
                inner.metrics.config_taken(inner.clock.now(), false);
                tracing::info!(
                    endpoints = %changes.endpoints,
                    scenarios = %changes.scenarios,
                    receivers = %changes.receivers,
                    "the configuration was taken over"
                );
                Ok(changes)
            }
            Err(error) => {
                let takes_restart = matches!(error, ReloadError::Restart { .. });
                inner.metrics.config_refused(takes_restart);
                tracing::error!(
                    error = errors::chain(&error),
                    "the configuration was not taken over: the old one holds on"
                );
                Err(error)
            }
        }
    }

    async fn read(&self, old: &Config) -> Result<Config, ReloadError> {
        let file = self.0.file.clone();
        let read = tokio::task::spawn_blocking(move || config::load(&file)).await;
        let mut config = read
            .map_err(|_| ReloadError::Stops)?
            .map_err(ReloadError::Config)?;
        config.fleet.labels.extend(self.0.labels.iter().cloned());
        let keys = restart_keys(old, &config);
        if !keys.is_empty() {
            let file = self.0.file.clone();
            return Err(ReloadError::Restart { file, keys });
        }
        check_receivers(&config.receivers)?;
        config.endpoints.iter().try_for_each(Session::check)?;
        Ok(config)
    }
}

/// Waits for the next configuration; for ever if there will be none.
pub async fn changed(configs: &mut watch::Receiver<Arc<Config>>) {
    if configs.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
