//! Looking up what the database holds, apart from the scrapes: those never wait for it.

use super::Metrics;
use crate::clock::Clock;
use crate::config::Config;
use crate::errors;
use crate::store::{Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// It is looked at so often, whether anything is known to have changed or not.
const EVERY: Duration = Duration::from_secs(30);
/// And not more often than this.
const SPACING: Duration = Duration::from_secs(1);
/// A database that does not answer in this time is away.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks up what the database holds until told to stop: now, when something has changed, and now and then.
pub async fn keep_surveying(
    store: Store,
    metrics: Metrics,
    mut configs: watch::Receiver<Arc<Config>>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let mut was_up = true;
    loop {
        let config = Arc::clone(&configs.borrow_and_update());
        let surveyed = survey(&store, &metrics, &config, clock.as_ref());
        let is_up = match tokio::time::timeout(PATIENCE, surveyed).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                if was_up {
                    tracing::warn!(
                        error = errors::chain(&error),
                        "what the database holds could not be looked up for the metrics"
                    );
                }
                false
            }
            Err(_) => false,
        };
        was_up = is_up;
        metrics.database(is_up, store.connections());
        let later = async {
            tokio::time::sleep(SPACING).await;
            metrics.outdated().await;
        };
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = later => {}
            Ok(()) = configs.changed() => {}
            () = stop.cancelled() => return,
        }
    }
}

async fn survey(
    store: &Store,
    metrics: &Metrics,
    config: &Config,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let endpoints: Vec<String> = config
        .endpoints
        .iter()
        .map(|one| one.name.clone())
        .collect();
    let receivers: Vec<String> = config
        .receivers
        .iter()
        .map(|one| one.name.clone())
        .collect();
    let _turn = store.turn().await;
    let now = clock.now();
    let survey = store.survey(&endpoints, &receivers, now).await?;
    metrics.surveyed(config, &survey, now);
    Ok(())
}
