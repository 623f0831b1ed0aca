//! How much of the work the time allows at the speeds that are set.

use super::scheduler::Budget;
use crate::config::Speeds;
use crate::kv::PAGE_TOKENS;
use std::time::{Duration, Instant};

/// Without a speed, prefill works in chunks of so many tokens.
const CHUNK_TOKENS: usize = 8_192;
/// Without a speed, so many pages of a request are transferred in a step.
const PAGES_A_STEP: usize = 256;
/// With a speed, so much time passes between steps.
const TICK: Duration = Duration::from_millis(1);
/// Work that could not be done for lack of time is not made up for beyond this.
const MOST_CREDIT: Duration = Duration::from_millis(20);

/// Turns time into budgets. It carries over what is less than a token: timers are coarse (a millisecond),
/// a token at a realistic speed is not.
pub(super) struct Pace {
    speeds: Speeds,
    before: Instant,
    prefill: f64,
    transfer: f64,
    decode: f64,
}

impl Pace {
    pub(super) fn new(speeds: Speeds) -> Self {
        Self {
            speeds,
            before: Instant::now(),
            prefill: 0.0,
            transfer: 0.0,
            decode: 0.0,
        }
    }

    /// How long to wait before the next step.
    pub(super) fn tick(&self) -> Duration {
        let Speeds {
            prefill,
            transfer,
            decode,
        } = self.speeds;
        if prefill.or(transfer).or(decode).is_some() {
            TICK
        } else {
            Duration::ZERO
        }
    }

    /// Nothing is to be done: the time that passes earns nothing.
    pub(super) fn rest(&mut self) {
        *self = Self::new(self.speeds);
    }

    /// What the time since the last step allows.
    pub(super) fn budget(&mut self) -> Budget {
        let now = Instant::now();
        let passed = (now - self.before).min(MOST_CREDIT);
        self.before = now;
        self.after(passed)
    }

    fn after(&mut self, passed: Duration) -> Budget {
        let earn = |credit: &mut f64, speed: Option<f64>, unit: usize, unpaced: usize| match speed {
            None => unpaced,
            Some(speed) => {
                *credit += speed * passed.as_secs_f64() / unit as f64;
                let whole = credit.floor();
                *credit -= whole;
                whole as usize
            }
        };
        Budget {
            prefill: earn(&mut self.prefill, self.speeds.prefill, 1, CHUNK_TOKENS),
            transfer: earn(
                &mut self.transfer,
                self.speeds.transfer,
                PAGE_TOKENS,
                PAGES_A_STEP,
            ),
            decode: earn(&mut self.decode, self.speeds.decode, 1, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_steps_allow_what_one_large_one_does() {
        let speeds = Speeds {
            prefill: Some(100_000.0),
            transfer: Some(6_400.0),
            decode: None,
        };
        let mut pace = Pace::new(speeds);
        let steps = (0..1_000).map(|_| pace.after(Duration::from_micros(333)));
        let steps: Vec<Budget> = steps.collect();
        let all = |part: fn(&Budget) -> usize| steps.iter().map(part).sum::<usize>();
        assert!((33_299..=33_300).contains(&all(|step| step.prefill)));
        assert!((33..=34).contains(&all(|step| step.transfer)));
        assert_eq!(all(|step| step.decode), 1_000);
    }

    #[test]
    fn without_speeds_every_step_does_its_share_at_once() {
        let mut pace = Pace::new(Speeds::default());
        let budget = pace.after(Duration::ZERO);
        let expected = Budget {
            prefill: CHUNK_TOKENS,
            transfer: PAGES_A_STEP,
            decode: 1,
        };
        assert_eq!((budget, pace.tick()), (expected, Duration::ZERO));
    }
}
