//! Keeping a lease alive.

use crate::round::Tenure;
use crate::store::Store;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// By our own clock a lease ends so much of its length before it does by the database's.
const MARGIN: u32 = 10;
/// It is renewed so many times while it lasts, and asked for as often again when that fails.
const RENEWALS: u32 = 3;
const RETRIES: u32 = 20;

/// A tenure of a lease that was asked for at a moment: the database counts from later than that.
pub(super) fn valid_until(asked_at: Instant, duration: Duration) -> Instant {
    asked_at + duration - duration / MARGIN
}

/// Renews a lease until it is lost: another one has it, or the database did not answer in its time. Ends then,
/// having told so.
pub(super) async fn keep(store: Store, tenure: Arc<Tenure>, duration: Duration) {
    let mut pause = duration / RENEWALS;
    loop {
        let left = tenure
            .valid_until()
            .saturating_duration_since(Instant::now());
        tokio::time::sleep(pause.min(left)).await;
        let asked_at = Instant::now();
        let left = tenure.valid_until().saturating_duration_since(asked_at);
        if left.is_zero() {
            tracing::warn!(
                lease.holder = tenure.lease.holder,
                "a lease could not be renewed in time"
            );
            return tenure.lose();
        }
        let renewal = async {
            let _turn = store.turn().await;
            store.renew(&tenure.lease, duration).await
        };
        match tokio::time::timeout(left, renewal).await {
            Ok(Ok(true)) => {
                tenure.extend(valid_until(asked_at, duration));
                pause = duration / RENEWALS;
            }
            Ok(Ok(false)) => {
                tracing::warn!(
                    lease.holder = tenure.lease.holder,
                    "another prober has the lease"
                );
                return tenure.lose();
            }
            // As long as it lasts we go on.
            Ok(Err(_)) | Err(_) => pause = duration / RETRIES,
        }
    }
}
