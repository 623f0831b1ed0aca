//! Moments as logs write them: RFC 3339 and its relatives, seconds to nanoseconds since 1970, the date of access
//! logs, a day.

use time::{Date, Month, OffsetDateTime, UtcOffset};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// The Julian day of 1 January 1970.
const EPOCH: i32 = 2_440_588;
/// 2001. What is smaller is no moment of a log in any unit, but perhaps a date like 20260824.
const FIRST_SECOND: f64 = 1e9;

/// A moment: microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Moment(i64);

impl Moment {
    /// The day it is in, counted from 1970.
    pub(super) fn day(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// The beginning of a day counted from 1970.
    pub(super) fn of_day(day: i64) -> Self {
        Self(day.saturating_mul(DAY))
    }

    /// The moment as the `time` crate has it; `None` beyond the year 9999.
    #[must_use]
    pub(super) fn to_offset(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000).ok()
    }
}

impl From<OffsetDateTime> for Moment {
    fn from(at: OffsetDateTime) -> Self {
        // From the year -9999 to 9999: far within the range.
        Self((at.unix_timestamp_nanos() / 1_000) as i64)
    }
}

/// From when until when: twice the same moment, or longer for what a log sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The beginning.
    pub(super) from: Moment,
    /// The end, not included if it is later than the beginning.
    pub(super) until: Moment,
}

impl Span {
    fn at(moment: Moment) -> Self {
        Self {
            from: moment,
            until: moment,
        }
    }
}

/// What a time without a zone is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zone(UtcOffset);

impl Zone {
    /// UTC.
    pub(super) const UTC: Self = Self(UtcOffset::UTC);

    /// `utc`, or an offset like `+02:00`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("utc") {
            return Some(Self::UTC);
        }
        let seconds = offset(text.as_bytes())?;
        UtcOffset::from_whole_seconds(i32::try_from(seconds).ok()?)
            .ok()
            .map(Self)
    }

    fn seconds(self) -> i64 {
        i64::from(self.0.whole_seconds())
    }
}

/// Why a text is no moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoMoment {
    /// It is none of the ways that are known.
    Unknown,
    /// It is, but does not tell the zone.
    NoZone,
}

/// Reads a moment, or a day. `zone` is that of times that tell none.
pub(super) fn parse(text: &[u8], zone: Option<Zone>) -> Result<Span, NoMoment> {
    let text = text.trim_ascii();
    let text = match text {
        [b'[', inner @ .., b']'] => inner,
        text => text,
    };
    match text {
        [_, _, _, _, b'-', ..] => calendar(text, zone),
        [_, _, b'/', ..] | [_, b'/', ..] => access_log(text, zone),
        _ => since_1970(text).map(Span::at),
    }
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970: the sizes of this and the next centuries do
/// not overlap.
fn since_1970(text: &[u8]) -> Result<Moment, NoMoment> {
    let text = std::str::from_utf8(text).map_err(|_| NoMoment::Unknown)?;
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(NoMoment::Unknown);
    }
    if let Ok(whole) = text.parse::<i64>() {
        let micros = match whole {
            1_000_000_000..=99_999_999_999 => Some(whole * SECOND),
            100_000_000_000..=99_999_999_999_999 => Some(whole * 1_000),
            100_000_000_000_000..=99_999_999_999_999_999 => Some(whole),
            100_000_000_000_000_000.. => Some(whole / 1_000),
            _ => None,
        };
        return micros.map(Moment).ok_or(NoMoment::Unknown);
    }
    let number: f64 = text.parse().map_err(|_| NoMoment::Unknown)?;
    let scale = match number {
        n if !(FIRST_SECOND..1e20).contains(&n) => return Err(NoMoment::Unknown),
        n if n < 1e11 => 1e6,
        n if n < 1e14 => 1e3,
        n if n < 1e17 => 1.0,
        _ => 1e-3,
    };
    Ok(Moment((number * scale).round() as i64))
}

/// `2026-08-24T10:00:00.123Z` and its relatives, or a day.
fn calendar(text: &[u8], zone: Option<Zone>) -> Result<Span, NoMoment> {
    let date = day(
        digits(text.get(..4))?,
        digits(text.get(5..7))?,
        digits(text.get(8..10))?,
    )?;
    if text[7] != b'-' {
        return Err(NoMoment::Unknown);
    }
    let midnight = date * 86_400;
    let Some((separator, clock)) = text[10..].split_first() else {
        let from = midnight - zone.ok_or(NoMoment::NoZone)?.seconds();
        return Ok(Span {
            from: Moment(from * SECOND),
            until: Moment(from * SECOND + DAY),
        });
    };
    if !matches!(separator, b'T' | b't' | b' ' | b'_') {
        return Err(NoMoment::Unknown);
    }
    let (of_day, rest) = time_of_day(clock)?;
    let shift = shift(rest, zone)?;
    Ok(Span::at(Moment((midnight - shift) * SECOND + of_day)))
}

/// `24/Aug/2026:10:00:00 +0000`
fn access_log(text: &[u8], zone: Option<Zone>) -> Result<Span, NoMoment> {
    let mut parts = text.splitn(3, |&byte| byte == b'/');
    let (Some(of_month), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(NoMoment::Unknown);
    };
    let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let month = months
        .iter()
        .position(|name| month.eq_ignore_ascii_case(name.as_bytes()))
        .ok_or(NoMoment::Unknown)?;
    if rest.get(4) != Some(&b':') {
        return Err(NoMoment::Unknown);
    }
    let date = day(
        digits(rest.get(..4))?,
        month as i64 + 1,
        digits(Some(of_month))?,
    )?;
    let (of_day, rest) = time_of_day(&rest[5..])?;
    let shift = shift(rest, zone)?;
    Ok(Span::at(Moment((date * 86_400 - shift) * SECOND + of_day)))
}

/// Days since 1970.
fn day(year: i64, month: i64, day: i64) -> Result<i64, NoMoment> {
    let month = u8::try_from(month)
        .ok()
        .and_then(|m| Month::try_from(m).ok());
    let (Some(month), Ok(year), Ok(day)) = (month, i32::try_from(year), u8::try_from(day)) else {
        return Err(NoMoment::Unknown);
    };
    let date = Date::from_calendar_date(year, month, day).map_err(|_| NoMoment::Unknown)?;
    Ok(i64::from(date.to_julian_day() - EPOCH))
}

/// Microseconds of `10:00:00.123`, and what follows.
fn time_of_day(text: &[u8]) -> Result<(i64, &[u8]), NoMoment> {
    let (hour, minute) = (digits(text.get(..2))?, digits(text.get(3..5))?);
    let second = digits(text.get(6..8))?;
    // A leap second is the 60th.
    if text[2] != b':' || text[5] != b':' || hour > 23 || minute > 59 || second > 60 {
        return Err(NoMoment::Unknown);
    }
    let mut rest = &text[8..];
    let mut micros = 0;
    if let [b'.' | b',', fraction @ ..] = rest {
        let length = fraction
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if length == 0 {
            return Err(NoMoment::Unknown);
        }
        for place in 0..6 {
            let digit = fraction[..length].get(place).map_or(0, |byte| byte - b'0');
            micros = micros * 10 + i64::from(digit);
        }
        rest = &fraction[length..];
    }
    Ok((((hour * 60 + minute) * 60 + second) * SECOND + micros, rest))
}

/// How many seconds local time is before UTC, by what follows a time.
fn shift(rest: &[u8], zone: Option<Zone>) -> Result<i64, NoMoment> {
    match rest.trim_ascii_start() {
        [] => zone.map(Zone::seconds).ok_or(NoMoment::NoZone),
        b"Z" | b"z" | b"UTC" | b"GMT" => Ok(0),
        rest => offset(rest).ok_or(NoMoment::Unknown),
    }
}

/// `+02`, `+0200` or `+02:00`, in seconds.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, rest) = match text {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let hours = digits(rest.get(..2)).ok()?;
    let minutes = match &rest[2..] {
        [] => 0,
        [b':', minutes @ ..] | minutes if minutes.len() == 2 => digits(Some(minutes)).ok()?,
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// A number of at most four digits and nothing else.
fn digits(text: Option<&[u8]>) -> Result<i64, NoMoment> {
    let text = text
        .filter(|text| (1..=4).contains(&text.len()))
        .ok_or(NoMoment::Unknown)?;
    text.iter().try_fold(0, |number, byte| match byte {
        b'0'..=b'9' => Ok(number * 10 + i64::from(byte - b'0')),
        _ => Err(NoMoment::Unknown),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use time::format_description::well_known::Rfc3339;
    use time::macros::datetime;

    const NOON: OffsetDateTime = datetime!(2026-08-24 12:00:00 UTC);

    #[test]
    fn one_moment_is_read_in_all_the_ways_that_logs_write_it() {
        for text in [
            "2026-08-24T12:00:00Z",
            "2026-08-24T12:00:00.000000Z",
            "2026-08-24 12:00:00+00",
            "2026-08-24 12:00:00.000 UTC",
            "2026-08-24T14:00:00+02:00",
            "2026-08-24T06:30:00-0530",
            "24/Aug/2026:12:00:00 +0000",
            "[24/Aug/2026:13:00:00 +0100]",
            "1787572800",
            "1787572800.0",
            "1.7875728e9",
            "1787572800000",
            "1787572800000000",
            "1787572800000000000",
        ] {
            let span = parse(text.as_bytes(), None).unwrap();
            assert_eq!(span, Span::at(Moment::from(NOON)), "{text}");
        }
    }

    #[test]
    fn a_time_without_a_zone_is_none_unless_it_is_said_which() {
        for text in ["2026-08-24T14:00:00", "2026-08-24 14:00:00.000"] {
            assert_eq!(parse(text.as_bytes(), None), Err(NoMoment::NoZone));
            let zone = Zone::parse("+02:00");
            let span = parse(text.as_bytes(), zone).unwrap();
            assert_eq!(span.from, Moment::from(NOON), "{text}");
        }
        assert_eq!(parse(b"2026-08-24", None), Err(NoMoment::NoZone));
        let day = parse(b"2026-08-24", Some(Zone::UTC)).unwrap();
        assert_eq!(day.from, Moment::from(datetime!(2026-08-24 0:00 UTC)));
        assert_eq!(day.until, Moment::from(datetime!(2026-08-25 0:00 UTC)));
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "-",
            "now",
            "20260824",
            "0",
            "-1787572800",
            "1e400",
            "nan",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-08-24T25:00:00Z",
            "2026-08-24T12:00:00.Z",
            "2026-08-24T12:00",
            "2026-08-24T12:00:00+2",
            "24/Foo/2026:12:00:00 +0000",
            "24/Aug/2026",
            "é026-08-24",
        ] {
            assert_eq!(
                parse(text.as_bytes(), Some(Zone::UTC)),
                Err(NoMoment::Unknown),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text: Vec<u8>) {
            let _ = parse(&text, Some(Zone::UTC));
        }

        #[test]
        fn it_agrees_with_a_strict_reader_of_rfc_3339(seconds in 0_i64..4_000_000_000, micros in 0_i64..1_000_000, hours in -23_i32..23) {
            let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap() + time::Duration::microseconds(micros);
            let text = at.to_offset(UtcOffset::from_whole_seconds(hours * 3_600).unwrap()).format(&Rfc3339).unwrap();
            prop_assert_eq!(parse(text.as_bytes(), None), Ok(Span::at(Moment::from(at))));
        }
    }
}
