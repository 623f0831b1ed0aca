//! How long work takes at a given speed.

use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Longer than anybody waits, and short enough to be added to any instant.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3_600);

/// Holds work back to a speed. It counts from its beginning, not from call to call: timers are coarse
/// (a millisecond), a page or a token at a realistic speed is not, and the errors would add up.
pub(super) struct Pacer {
    /// In tokens a second; `None` is as fast as it can.
    speed: Option<f64>,
    begun: Instant,
    done: usize,
}

impl Pacer {
    pub(super) fn new(speed: Option<f64>) -> Self {
        Self {
            speed,
            begun: Instant::now(),
            done: 0,
        }
    }

    /// Lets the time pass that `tokens` more take.
    pub(super) async fn spend(&mut self, tokens: usize) {
        if let Some(due) = self.due(tokens) {
            sleep_until(due).await;
        }
    }

    /// When `tokens` more are done; `None`: at once.
    fn due(&mut self, tokens: usize) -> Option<Instant> {
        self.done = self.done.saturating_add(tokens);
        let speed = self.speed?;
        Some(self.begun + time_for(self.done, speed))
    }
}

fn time_for(tokens: usize, speed: f64) -> Duration {
    Duration::try_from_secs_f64(tokens as f64 / speed)
        .unwrap_or(FAR)
        .min(FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_tokens_by_speed_and_never_overflows() {
        assert_eq!(time_for(64, 128_000.0), Duration::from_micros(500));
        assert_eq!(time_for(0, 1.0), Duration::ZERO);
        assert_eq!(time_for(usize::MAX, f64::MIN_POSITIVE), FAR);
    }

    #[test]
    fn many_small_steps_are_done_when_one_large_one_is() {
        let mut pacer = Pacer::new(Some(100_000.0));
        let last = (0..1_000).filter_map(|_| pacer.due(1)).last();
        assert_eq!(last, Some(pacer.begun + Duration::from_millis(10)));
        assert_eq!(Pacer::new(None).due(1_000), None);
    }
}
