//! The clock is passed in, so that every decision about time can be tested without sleeping.

use std::sync::{Mutex, PoisonError};
use time::{Duration, OffsetDateTime};

/// Tells the time. Only [`crate::plan`] and the executor of rounds ask for it.
pub trait Clock: Send + Sync {
    /// The present moment, in UTC.
    fn now(&self) -> OffsetDateTime;

    /// How long to sleep until a moment; nothing if it has come. A clock of another speed says otherwise.
    fn until(&self, moment: OffsetDateTime) -> std::time::Duration {
        std::time::Duration::try_from(moment - self.now()).unwrap_or_default()
    }
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "its one home")]
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc()
    }
}

/// A clock that stands still until it is told otherwise, for tests.
#[derive(Debug)]
pub struct FixedClock(Mutex<OffsetDateTime>);

impl FixedClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: OffsetDateTime) -> Self {
        Self(Mutex::new(now))
    }

    /// Shows `now` from here on.
    pub fn set(&self, now: OffsetDateTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Moves the clock by `step`, which may be negative.
    pub fn advance(&self, step: Duration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = now.saturating_add(step);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> OffsetDateTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> OffsetDateTime {
        (**self).now()
    }

    fn until(&self, moment: OffsetDateTime) -> std::time::Duration {
        (**self).until(moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_moves_only_when_told() {
        let clock = FixedClock::new(OffsetDateTime::UNIX_EPOCH);
        assert_eq!(clock.now(), OffsetDateTime::UNIX_EPOCH);
        clock.advance(Duration::seconds(90));
        assert_eq!(clock.now().unix_timestamp(), 90);
        clock.advance(Duration::seconds(-30));
        assert_eq!(clock.now().unix_timestamp(), 60);
        clock.set(OffsetDateTime::UNIX_EPOCH);
        assert_eq!(clock.now().unix_timestamp(), 0);
    }

    #[test]
    fn the_system_clock_shows_utc_of_this_century() {
        let now = SystemClock.now();
        assert!(now.offset().is_utc());
        assert!((2_020..2_120).contains(&now.year()));
    }
}
