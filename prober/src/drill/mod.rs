//! Drills: a harmless leak of our own goes the way of a real one, through scan, judge, store, incident, outbox and
//! receivers, so that a silent chain is noticed (docs/alerts.md). What is decided, without a clock, is here; `stage`
//! plays the endpoint that leaks, `conduct` carries a drill out and watches over those of others.

mod conduct;
mod stage;

pub use conduct::{Conductor, DrillError};

use crate::ids::DrillId;
use std::time::Duration;
use time::OffsetDateTime;

/// When drills are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How often, 10 minutes to 31 days; `None`: by hand only.
    pub every: Option<Duration>,
    /// One of them is due at this time of the day in UTC, since midnight.
    pub at: Duration,
    /// So soon every receiver must have taken it, 10 seconds to an hour, and sooner than the next is due.
    pub deadline: Duration,
}

impl Settings {
    /// The last drill that is due at a moment: when, and its number, by which endpoints take turns.
    #[must_use]
    pub fn due(&self, now: OffsetDateTime) -> Option<(OffsetDateTime, u64)> {
        let every = i64::try_from(self.every?.as_secs()).ok()?.max(1);
        let phase = i64::try_from(self.at.as_secs()).ok()? % every;
        let number = (now.unix_timestamp() - phase).div_euclid(every);
        let due_at = OffsetDateTime::from_unix_timestamp(number * every + phase).ok()?;
        Some((due_at, number.cast_unsigned()))
    }
}

/// A drill that is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDrill {
    /// The name of the endpoint that it is told of, as if that had leaked.
    pub endpoint: String,
    /// Who begins it by hand; nobody, if it is due.
    pub who: Option<String>,
    /// When it was due; `None` if somebody begins it by hand.
    pub due_at: Option<OffsetDateTime>,
    /// Now.
    pub begun_at: OffsetDateTime,
    /// Until when every receiver must have taken it.
    pub deadline_at: OffsetDateTime,
}

/// How far a drill is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which one.
    pub id: DrillId,
    /// The endpoint that it is told of.
    pub endpoint: String,
    /// When it began.
    pub begun_at: OffsetDateTime,
    /// Until when every receiver must have taken it.
    pub deadline_at: OffsetDateTime,
    /// When its leak was found and recorded.
    pub found_at: Option<OffsetDateTime>,
    /// Whether it is decided who is told.
    pub is_routed: bool,
    /// Who is told, by name.
    pub arrivals: Vec<Arrival>,
}

/// A receiver that is told of a drill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its name.
    pub receiver: String,
    /// When it took it.
    pub delivered_at: Option<OffsetDateTime>,
    /// Whether nobody tries any more.
    pub is_dead: bool,
    /// Why the last attempt failed, if it did.
    pub error: Option<String>,
}

/// What a drill shows at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing yet.
    Waits,
    /// Every receiver took it.
    Arrived,
    /// It did not reach everybody who would be told of a leak. Why, in a few words.
    Failed(String),
}

/// What a drill shows at a moment.
#[must_use]
pub fn standing(drill: &Progress, now: OffsetDateTime) -> Standing {
    let is_told = drill.found_at.is_some() && drill.is_routed;
    if is_told && drill.arrivals.is_empty() {
        let because = format!("no receiver is told of leaks at {}", drill.endpoint);
        return Standing::Failed(because);
    }
    let has_arrived = |one: &Arrival| one.delivered_at.is_some();
    if is_told && drill.arrivals.iter().all(has_arrived) {
        return Standing::Arrived;
    }
    let is_late = now >= drill.deadline_at;
    let missing: Vec<String> = drill
        .arrivals
        .iter()
        .filter(|one| !has_arrived(one) && (is_late || one.is_dead))
        .map(|one| match &one.error {
            Some(error) => format!("{}: {error}", one.receiver),
            None => format!("{} was not told in time", one.receiver),
        })
        .collect();
    if !missing.is_empty() {
        return Standing::Failed(missing.join("; "));
    }
    if !is_late {
        return Standing::Waits;
    }
    let because = if drill.found_at.is_none() {
        "its leak was not found and recorded in time"
    } else {
        "nobody decided in time who is told (is a prober running?)"
    };
    Standing::Failed(because.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

    fn drill(is_found: bool, is_routed: bool, arrivals: &[Arrival]) -> Progress {
        Progress {
            id: DrillId::new(1),
            endpoint: "glm".to_owned(),
            begun_at: NOW,
            deadline_at: NOW + time::Duration::MINUTE,
            found_at: is_found.then_some(NOW),
            is_routed,
            arrivals: arrivals.to_vec(),
        }
    }

    fn arrival(receiver: &str, is_delivered: bool, error: Option<&str>) -> Arrival {
        Arrival {
            receiver: receiver.to_owned(),
            delivered_at: is_delivered.then_some(NOW),
            is_dead: false,
            error: error.map(str::to_owned),
        }
    }

    fn failed(because: &str) -> Standing {
        Standing::Failed(because.to_owned())
    }

    #[test]
    fn a_drill_arrives_when_every_receiver_has_taken_it() {
        let (soon, late) = (NOW, NOW + time::Duration::MINUTE);
        let done = arrival("soc", true, None);
        let waiting = arrival("pager", false, None);
        let refused = arrival("pager", false, Some("answered 500"));
        let dead = Arrival {
            is_dead: true,
            ..refused.clone()
        };
        for (drill, at, expected) in [
            (drill(false, false, &[]), soon, Standing::Waits),
            (
                drill(false, false, &[]),
                late,
                failed("its leak was not found and recorded in time"),
            ),
            (drill(true, false, &[]), soon, Standing::Waits),
            (
                drill(true, false, &[]),
                late,
                failed("nobody decided in time who is told (is a prober running?)"),
            ),
            (
                drill(true, true, &[]),
                soon,
                failed("no receiver is told of leaks at glm"),
            ),
            (
                drill(true, true, std::slice::from_ref(&done)),
                late,
                Standing::Arrived,
            ),
            (
                drill(true, true, &[done.clone(), waiting.clone()]),
                soon,
                Standing::Waits,
            ),
            (
                drill(true, true, &[done.clone(), waiting]),
                late,
                failed("pager was not told in time"),
            ),
            (
                drill(true, true, &[done.clone(), refused.clone()]),
                soon,
                Standing::Waits,
            ),
            (
                drill(true, true, &[done.clone(), refused]),
                late,
                failed("pager: answered 500"),
            ),
            // Nobody tries any more: there is nothing to wait for.
            (
                drill(true, true, &[done, dead]),
                soon,
                failed("pager: answered 500"),
            ),
        ] {
            assert_eq!(standing(&drill, at), expected, "{drill:?} at {at}");
        }
    }

    #[test]
    fn drills_are_due_at_their_hour_and_at_equal_distances_from_it() {
        let settings = |every, at| Settings {
            every: Some(Duration::from_secs(every)),
            at: Duration::from_secs(at),
            deadline: Duration::from_secs(60),
        };
        let daily = settings(24 * 3_600, 10 * 3_600 + 1_800);
        let (today, number) = daily.due(datetime!(2026-12-01 10:30 UTC)).unzip();
        assert_eq!(today, Some(datetime!(2026-12-01 10:30 UTC)));
        let (yesterday, before) = daily.due(datetime!(2026-12-01 10:29:59 UTC)).unzip();
        assert_eq!(yesterday, Some(datetime!(2026-11-30 10:30 UTC)));
        assert_eq!(before.map(|before| before + 1), number);
        let often = settings(6 * 3_600, 10 * 3_600 + 1_800);
        let (at, _) = often.due(datetime!(2026-12-01 04:31 UTC)).unzip();
        assert_eq!(at, Some(datetime!(2026-12-01 04:30 UTC)));
        let never = Settings {
            every: None,
            ..daily
        };
        assert_eq!(never.due(NOW), None);
    }
}
