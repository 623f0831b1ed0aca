//! The right to probe an endpoint, as long as it lasts.

use crate::store::Lease;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// A lease that is kept alive, or was lost. By the clock of this machine it ends before it does by the database's.
#[derive(Debug)]
pub struct Tenure {
    /// The lease.
    pub lease: Lease,
    valid_until: Mutex<Instant>,
    lost: CancellationToken,
}

impl Tenure {
    /// One that lasts until then, unless it is extended.
    #[must_use]
    pub fn new(lease: Lease, valid_until: Instant) -> Self {
        Self {
            lease,
            valid_until: Mutex::new(valid_until),
            lost: CancellationToken::new(),
        }
    }

    /// Whether nobody else can have the endpoint. Asked before anything is sent: a process that was stopped for a
    /// while wakes up in the middle of things.
    #[must_use]
    pub fn is_held(&self, now: Instant) -> bool {
        !self.lost.is_cancelled() && now < self.valid_until()
    }

    /// Until when it lasts.
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        *self.lock()
    }

    /// It lasts until then. One that was lost stays lost.
    pub fn extend(&self, valid_until: Instant) {
        *self.lock() = valid_until;
    }

    /// It is over: requests under way are given up, and no more are sent.
    pub fn lose(&self) {
        self.lost.cancel();
    }

    /// Waits until it is over.
    pub async fn lost(&self) {
        self.lost.cancelled().await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Instant> {
        // A moment is never left half written.
        self.valid_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use std::time::Duration;

    #[test]
    fn a_tenure_is_held_until_its_time_or_until_it_is_lost() {
        let lease = Lease {
            endpoint: EndpointId(1),
            token: 1,
            holder: "a".to_owned(),
        };
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let tenure = Tenure::new(lease, now + second);
        assert!(tenure.is_held(now) && !tenure.is_held(now + second));
        tenure.extend(now + second * 2);
        assert!(tenure.is_held(now + second));
        tenure.lose();
        tenure.extend(now + second * 9);
        assert!(!tenure.is_held(now));
    }
}
