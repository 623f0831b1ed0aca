//! Quiet hours: when a receiver's people sleep. They hold back what is not urgent, never a leak.

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};
use time::OffsetDateTime;

/// When a receiver is told only what is urgent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietHours {
    /// From a time of the day until another, over midnight if that is earlier; none if they are equal.
    pub daily: Option<(Time, Time)>,
    /// Days that are quiet as a whole; six at most.
    pub days: Vec<Weekday>,
    /// Whose hours and days these are.
    pub zone: TimeZone,
}

impl QuietHours {
    /// When the quiet ends that reigns at `now`; `None` if there is none.
    #[must_use]
    pub fn until(&self, now: OffsetDateTime) -> Option<OffsetDateTime> {
        let start = Timestamp::from_nanosecond(now.unix_timestamp_nanos()).ok()?;
        let mut moment = start.to_zoned_datetime(self.zone.clone());
        // A quiet night may border on a quiet day, and that on the next: a week has few such borders.
        for _ in 0..16 {
            match self.end(&moment) {
                Some(end) => moment = end,
                None => break,
            }
        }
        let end = moment.timestamp();
        (end > start)
            .then(|| OffsetDateTime::from_unix_timestamp_nanos(end.as_nanosecond()).ok())
            .flatten()
    }

    /// The end of the quiet day or night that a moment lies in.
    fn end(&self, moment: &ZonedDateTime) -> Option<ZonedDateTime> {
        if self.days.contains(&moment.weekday()) {
            return moment.tomorrow().ok()?.start_of_day().ok();
        }
        let (from, to) = self.daily?;
        let time = moment.time();
        let (is_quiet, ends_tomorrow) = if from <= to {
            (from <= time && time < to, false)
        } else {
            (time >= from || time < to, time >= from)
        };
        if !is_quiet {
            return None;
        }
        let date = moment.date();
        let date = if ends_tomorrow {
            date.tomorrow().ok()?
        } else {
            date
        };
        let end = date
            .to_datetime(to)
            .to_zoned_datetime(self.zone.clone())
            .ok()?;
        // Where the clocks go back, the end may have been an hour ago.
        (end > *moment).then_some(end)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jiff::civil::time;
    use time::macros::datetime;

    fn berlin(daily: Option<(Time, Time)>, days: &[Weekday]) -> QuietHours {
        QuietHours {
            daily,
            days: days.to_vec(),
            zone: TimeZone::get("Europe/Berlin").unwrap(),
        }
    }

    #[test]
    fn a_night_is_quiet_from_evening_to_morning_where_the_people_are() {
        let nights = berlin(Some((time(22, 0, 0, 0), time(7, 0, 0, 0))), &[]);
        // In winter Berlin is an hour ahead.
        let morning = Some(datetime!(2026-12-02 06:00 UTC));
        for (now, until) in [
            (datetime!(2026-12-01 20:59:59 UTC), None),
            (datetime!(2026-12-01 21:00 UTC), morning),
            (datetime!(2026-12-02 03:00 UTC), morning),
            (datetime!(2026-12-02 06:00 UTC), None),
            // In summer two.
            (
                datetime!(2026-07-01 20:00 UTC),
                Some(datetime!(2026-07-02 05:00 UTC)),
            ),
        ] {
            assert_eq!(nights.until(now), until, "{now}");
        }
    }

    #[test]
    fn quiet_days_join_the_nights_beside_them() {
        let nights = Some((time(22, 0, 0, 0), time(7, 0, 0, 0)));
        let quiet = berlin(nights, &[Weekday::Saturday, Weekday::Sunday]);
        let monday = Some(datetime!(2026-12-07 06:00 UTC));
        assert_eq!(quiet.until(datetime!(2026-12-04 22:00 UTC)), monday);
        assert_eq!(quiet.until(datetime!(2026-12-05 12:00 UTC)), monday);
        assert_eq!(quiet.until(datetime!(2026-12-04 12:00 UTC)), None);
    }

    #[test]
    fn a_break_at_noon_is_quiet_too() {
        let noon = berlin(Some((time(12, 0, 0, 0), time(13, 0, 0, 0))), &[]);
        let until = Some(datetime!(2026-12-01 12:00 UTC));
        assert_eq!(noon.until(datetime!(2026-12-01 11:30 UTC)), until);
        assert_eq!(noon.until(datetime!(2026-12-01 12:00 UTC)), None);
        assert_eq!(noon.until(datetime!(2026-12-01 23:00 UTC)), None);
    }

    #[test]
    fn it_ends_where_the_clocks_change() {
        // They go back from 3:00 to 2:00 on 25 October 2026 at 01:00 UTC: the second 2:30 is at 01:30.
        let nights = berlin(Some((time(22, 0, 0, 0), time(2, 30, 0, 0))), &[]);
        let first = nights.until(datetime!(2026-10-24 21:00 UTC)).unwrap();
        assert_eq!(first, datetime!(2026-10-25 00:30 UTC));
        // And from 2:00 to 3:00 on 28 March 2027 at 01:00 UTC: there is no 2:30.
        let end = nights.until(datetime!(2027-03-27 22:00 UTC)).unwrap();
        assert_eq!(end, datetime!(2027-03-28 01:30 UTC));
    }
}
