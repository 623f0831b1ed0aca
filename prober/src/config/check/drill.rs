//! When it is tried whether a leak would be told.

use super::Check;
use crate::config::document::{At, Field};
use crate::config::raw::RawDrill;
use crate::drill::Settings;
use jiff::civil::Time;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3_600);

impl Check<'_> {
    pub(super) fn drill(&mut self, raw: &RawDrill) -> Option<Settings> {
        let every = match &raw.every {
            Field::Absent => Some(None),
            given => self.duration(given, DAY, 10 * MINUTE..=31 * DAY).map(Some),
        };
        let at = match &raw.at {
            Field::Absent => Some(Duration::ZERO),
            Field::Wrong => None,
            Field::Given(at) => self.time_of_day(at),
        };
        let longest = 60 * MINUTE;
        let deadline = self.duration(&raw.deadline, 5 * MINUTE, Duration::from_secs(10)..=longest);
        let (every, at, deadline) = (every?, at?, deadline?);
        if let (None, Field::Given(given)) = (every, &raw.at) {
            let message = "stands alone (write `every`, too, or remove it)";
            self.mistakes.at(&given.place, message);
            return None;
        }
        if let (Some(every), Field::Given(given)) = (every, &raw.deadline)
            && deadline >= every
        {
            let message = "is not sooner than the next drill (make it shorter than `every`)";
            self.mistakes.at(&given.place, message);
            return None;
        }
        Some(Settings {
            every,
            at,
            deadline,
        })
    }

    fn time_of_day(&mut self, at: &At<String>) -> Option<Duration> {
        let Ok(time) = Time::strptime("%H:%M", at.value.trim()) else {
            let message = "is no time of the day (write it in UTC, such as \"10:30\")";
            self.mistakes.at(&at.place, message);
            return None;
        };
        let minutes =
            u64::from(time.hour().unsigned_abs()) * 60 + u64::from(time.minute().unsigned_abs());
        Some(Duration::from_secs(minutes * 60))
    }
}
