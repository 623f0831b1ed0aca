//! Quiet hours of a receiver.

use super::super::Check;
use crate::alert::QuietHours;
use crate::config::document::{At, Field};
use crate::config::raw::{List, RawReceiver};
use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;

const DAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

impl Check<'_> {
    pub(super) fn quiet(&mut self, raw: &RawReceiver) -> Option<Option<QuietHours>> {
        let daily = match &raw.quiet_hours {
            Field::Absent => Some(None),
            Field::Wrong => None,
            Field::Given(at) => self.hours(at).map(Some),
        };
        let days = self.quiet_days(&raw.quiet_days);
        let zone = match &raw.time_zone {
            Field::Absent => Some(TimeZone::UTC),
            Field::Wrong => None,
            Field::Given(at) => self.zone(at),
        };
        let (daily, days, zone) = (daily?, days?, zone?);
        let is_ever = daily.is_some() || !days.is_empty();
        if let (false, Field::Given(at)) = (is_ever, &raw.time_zone) {
            let message = "stands alone (write `quiet_hours` or `quiet_days`, too, or remove it)";
            self.mistakes.at(&at.place, message);
        }
        Some(is_ever.then_some(QuietHours { daily, days, zone }))
    }

    fn hours(&mut self, at: &At<String>) -> Option<(Time, Time)> {
        let parse = |text: &str| Time::strptime("%H:%M", text.trim()).ok();
        let hours = at
            .value
            .split_once('-')
            .and_then(|(from, to)| Some((parse(from)?, parse(to)?)));
        if hours.is_none_or(|(from, to)| from == to) {
            let message = "are no hours (write two times, such as \"22:00-07:00\")";
            self.mistakes.at(&at.place, message);
            return None;
        }
        hours
    }

    fn quiet_days(&mut self, field: &Field<List<String>>) -> Option<Vec<Weekday>> {
        let list = match field {
            Field::Absent => return Some(Vec::new()),
            Field::Wrong => return None,
            Field::Given(list) => list,
        };
        let days: Vec<Option<Weekday>> = list
            .value
            .iter()
            .map(|day| day.given().and_then(|at| self.chosen(at, &DAYS)))
            .collect();
        let days: Vec<Weekday> = days.into_iter().collect::<Option<_>>()?;
        if DAYS.iter().all(|(_, day)| days.contains(day)) {
            let message = "are all seven: nothing but leaks would ever be told (write `kinds = [\"leak\"]` instead)";
            self.mistakes.at(&list.place, message);
            return None;
        }
        Some(days)
    }

    fn zone(&mut self, at: &At<String>) -> Option<TimeZone> {
        let zone = TimeZone::get(&at.value).ok();
        if zone.is_none() {
            let message =
                "is no time zone (write a name of the IANA database, such as \"Europe/Berlin\")";
            self.mistakes.at(&at.place, message);
        }
        zone
    }
}
