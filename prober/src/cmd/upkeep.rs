//! The upkeep of the database while `prober run` watches.

use crate::clock::Clock;
use crate::errors;
use crate::store::{Retention, Store, StoreError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(3_600);

/// Makes partitions ahead and drops what is older than it is kept, now and each hour, until told to stop. What
/// fails is logged and tried again the next time.
pub(super) async fn keep_up(
    store: &Store,
    keep: Retention,
    clock: &dyn Clock,
    stop: &CancellationToken,
) {
    loop {
        let turn = store.turn().await;
        if let Err(error) = once(store, keep, clock).await {
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

async fn once(store: &Store, keep: Retention, clock: &dyn Clock) -> Result<(), StoreError> {
    store.prepare_weeks(clock.now()).await?;
    let pruned = store.prune(keep, clock.now()).await?;
    if !pruned.weeks.is_empty() || pruned.sums > 0 {
        tracing::info!(
            weeks = pruned.weeks.len(),
            sums.hourly = pruned.sums,
            "dropped what is older than it is kept"
        );
    }
    Ok(())
}
