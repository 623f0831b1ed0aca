//! The upkeep of the database while `prober run` watches.

use crate::clock::Clock;
use crate::config::Config;
use crate::errors;
use crate::store::{Store, StoreError};
use std::time::Duration;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(3_600);
/// A round by hand that began so long ago was killed: the longest search for a limit takes hours.
const LONGEST_BY_HAND: Duration = Duration::from_secs(24 * 3_600);

/// Makes partitions ahead, resolves incidents that are over, gives up rounds by hand that were killed, and drops what is
/// older than it is kept, evidence before all: now and each hour, until told to stop. What fails is logged and tried
/// again the next time.
pub(super) async fn keep_up(
    store: &Store,
    config: &Config,
    clock: &dyn Clock,
    stop: &CancellationToken,
) {
    loop {
        let turn = store.turn().await;
        let now = clock.now();
        // Evidence before anything else: of all that is kept too long, it does the most harm. None of these waits for
        // another that fails.
        warn("erase old evidence", erase(store, config, now).await);
        warn("make partitions ahead", store.prepare_weeks(now).await);
        warn("resolve incidents", resolve(store, config, now).await);
        warn("give up rounds by hand", give_up(store, now).await);
        warn("drop old facts", prune(store, config, now).await);
        warn("drop old alerts", prune_alerts(store, config, now).await);
        drop(turn);
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}

fn warn(act: &str, done: Result<(), StoreError>) {
    if let Err(error) = done {
        tracing::warn!(
            act,
            error = errors::chain(&error),
            "a part of the upkeep of the database failed; it is tried again in an hour"
        );
    }
}

async fn erase(store: &Store, config: &Config, now: OffsetDateTime) -> Result<(), StoreError> {
    let erased = store
        .prune_evidence(now - config.evidence.retention, now)
        .await?;
    if erased > 0 {
        tracing::info!(
            responses = erased,
            "erased evidence that is older than it is kept"
        );
    }
    Ok(())
}

async fn resolve(store: &Store, config: &Config, now: OffsetDateTime) -> Result<(), StoreError> {
    for incident in store.resolve_quiet(&config.incidents, now).await? {
        tracing::info!(
            incident.id = incident.get(),
            "an incident is over by itself"
        );
    }
    Ok(())
}

async fn give_up(store: &Store, now: OffsetDateTime) -> Result<(), StoreError> {
    let rounds = store.give_up_by_hand(now - LONGEST_BY_HAND).await?;
    if rounds > 0 {
        tracing::info!(rounds, "gave up rounds by hand that nobody carries out");
    }
    Ok(())
}

async fn prune_alerts(
    store: &Store,
    config: &Config,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let alerts = store.prune_alerts(now - config.alerts.retention).await?;
    store.prune_drills(now - config.alerts.retention).await?;
    if alerts > 0 {
        tracing::info!(alerts, "dropped alerts that are older than they are kept");
    }
    Ok(())
}

async fn prune(store: &Store, config: &Config, now: OffsetDateTime) -> Result<(), StoreError> {
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
