//! What follows from a receiver's answer.

use std::time::Duration;
use time::OffsetDateTime;

/// The pause after the first attempt.
const FIRST: Duration = Duration::from_secs(5);
/// The longest pause that we choose ourselves.
const LONGEST: Duration = Duration::from_secs(3_600);
/// So long after the first attempt a message is given up.
pub const PATIENCE: time::Duration = time::Duration::DAY;

/// What a receiver did with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It took it.
    Taken,
    /// It did not, and may later.
    Failed {
        /// In a few words; never a URL, nor what was answered.
        because: String,
        /// It asked for so long a pause.
        retry_after: Option<Duration>,
    },
    /// It will never take this message.
    Refused {
        /// In a few words; never a URL, nor what was answered.
        because: String,
    },
    /// It is gone and wants nothing more (HTTP 410).
    Gone,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The message has arrived.
    Delivered,
    /// It is tried again.
    Again {
        /// When.
        due_at: OffsetDateTime,
        /// Never before, because the receiver asked for it.
        not_before: Option<OffsetDateTime>,
        /// What went wrong.
        because: String,
    },
    /// It is given up.
    Dead {
        /// What went wrong.
        because: String,
    },
    /// It is given up, and so is the receiver.
    Disable,
}

/// What follows from an answer at `now` to a message that has been tried `attempts` times since `first_at`, with a
/// `chance` from 0 to 1 that keeps many from coming back at the same moment.
#[must_use]
pub fn next(
    answer: Answer,
    attempts: u32,
    (first_at, now): (OffsetDateTime, OffsetDateTime),
    chance: f64,
) -> Next {
    let (because, retry_after) = match answer {
        Answer::Taken => return Next::Delivered,
        Answer::Gone => return Next::Disable,
        Answer::Refused { because } => return Next::Dead { because },
        Answer::Failed {
            because,
            retry_after,
        } => (because, retry_after),
    };
    if now - first_at >= PATIENCE {
        return Next::Dead { because };
    }
    // Nobody is waited for longer than a message lives.
    let within = |pause: Duration| {
        let pause = time::Duration::try_from(pause).unwrap_or(PATIENCE);
        (now + pause.min(PATIENCE)).min(first_at + PATIENCE)
    };
    let not_before = retry_after.map(within);
    let due_at = within(pause(attempts, chance));
    Next::Again {
        due_at: not_before.map_or(due_at, |moment| moment.max(due_at)),
        not_before,
        because,
    }
}

/// Twice as long after each attempt, and by up to a half shorter as it happens.
fn pause(attempts: u32, chance: f64) -> Duration {
    let doubled = FIRST.saturating_mul(1 << attempts.saturating_sub(1).min(16));
    doubled
        .min(LONGEST)
        .mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::Duration as Span;
    use time::macros::datetime;

    const FIRST_AT: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

    fn failed(retry_after: Option<u64>) -> Answer {
        Answer::Failed {
            because: "answered 503".to_owned(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn pauses_double_up_to_an_hour_and_a_message_is_given_up_after_a_day() {
        let mut now = FIRST_AT;
        let mut pauses = Vec::new();
        let mut attempts = 1;
        while let Next::Again { due_at, .. } = next(failed(None), attempts, (FIRST_AT, now), 0.0) {
            pauses.push((due_at - now).whole_seconds());
            now = due_at;
            attempts += 1;
        }
        assert_eq!(pauses[..5], [5, 10, 20, 40, 80]);
        assert_eq!(pauses[10..12], [3_600, 3_600]);
        assert_eq!(
            now,
            FIRST_AT + PATIENCE,
            "the last attempt is when the day is over"
        );
        assert_eq!(
            next(failed(None), attempts, (FIRST_AT, now), 0.0),
            Next::Dead {
                because: "answered 503".to_owned()
            }
        );
    }

    #[test]
    fn chance_shortens_a_pause_by_up_to_a_half() {
        let due = |chance| match next(failed(None), 1, (FIRST_AT, FIRST_AT), chance) {
            Next::Again { due_at, .. } => (due_at - FIRST_AT).whole_milliseconds(),
            other => panic!("{other:?}"),
        };
        assert_eq!((due(0.0), due(0.5), due(1.0)), (5_000, 3_750, 2_500));
    }

    #[test]
    fn a_receiver_that_asks_for_a_pause_gets_it() {
        let asked = |seconds| match next(failed(Some(seconds)), 1, (FIRST_AT, FIRST_AT), 0.0) {
            Next::Again {
                due_at, not_before, ..
            } => (due_at - FIRST_AT, not_before.map(|at| at - FIRST_AT)),
            other => panic!("{other:?}"),
        };
        assert_eq!(asked(120), (Span::seconds(120), Some(Span::seconds(120))));
        assert_eq!(asked(1), (Span::seconds(5), Some(Span::SECOND)));
        assert_eq!(asked(1 << 40), (PATIENCE, Some(PATIENCE)), "a day at most");
    }

    #[test]
    fn what_is_taken_refused_or_gone_is_not_tried_again() {
        let after = |answer| next(answer, 1, (FIRST_AT, FIRST_AT), 0.0);
        assert_eq!(after(Answer::Taken), Next::Delivered);
        assert_eq!(after(Answer::Gone), Next::Disable);
        let because = "answered 400".to_owned();
        let refused = Answer::Refused {
            because: because.clone(),
        };
        assert_eq!(after(refused), Next::Dead { because });
    }
}
