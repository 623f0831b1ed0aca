//! The upkeep of the database while `prober run` watches.

use crate::clock::Clock;
use crate::config::Config;
use crate::errors;
use crate::store::{Store, StoreError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(3_600);

/// Makes partitions ahead, resolves incidents that are over, and drops what is older than it is kept, evidence before
/// all, now and each hour, until told to stop. What fails is logged and tried again the next time.
pub(super) async fn keep_up(
    store: &Store,
    config: &Config,
    clock: &dyn Clock,
    stop: &CancellationToken,
) {
    loop {
        let turn = store.turn().await;
        if let Err(error) = once(store, config, clock).await {
            tracing::warn!(
                error = errors::chain(&error),
                "the upkeep of the database failed; it is tried again in an hour"
            );
        }
        drop(turn);
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}

async fn once(store: &Store, config: &Config, clock: &dyn Clock) -> Result<(), StoreError> {
    let now = clock.now();
    // Before anything else: of all that is kept too long, this does the most harm.
    let erased = store
        .prune_evidence(now - config.evidence.retention, now)
        .await?;
    if erased > 0 {
        tracing::info!(
            responses = erased,
            "erased evidence that is older than it is kept"
        );
    }
    store.prepare_weeks(now).await?;
    for incident in store.resolve_quiet(&config.incidents, now).await? {
        tracing::info!(
            incident.id = incident.get(),
            "an incident is over by itself"
        );
    }
    let pruned = store.prune(config.retention, now).await?;
    if !pruned.weeks.is_empty() || pruned.sums > 0 {
        tracing::info!(
            weeks = pruned.weeks.len(),
            sums.hourly = pruned.sums,
            "dropped what is older than it is kept"
        );
    }
    Ok(())
}
