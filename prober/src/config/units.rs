//! Durations such as `"90s"` and sizes such as `"8MiB"`.

use std::time::Duration;

const DURATION_UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

const SIZE_UNITS: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// Why a text is no duration or no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnitError {
    #[error(
        "is no duration (write whole numbers with a unit, such as \"500ms\", \"90s\", \"15m\", \"1h30m\", \"1d\")"
    )]
    NoDuration,
    #[error(
        "is no size (write a whole number with a unit, such as \"512B\", \"64KiB\", \"8MiB\", \"1GiB\")"
    )]
    NoSize,
    #[error("is too large to be counted")]
    TooLarge,
}

/// Reads whole numbers with units `d`, `h`, `m`, `s`, `ms`, the larger units first, each once.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let mut rest = text;
    let mut units = DURATION_UNITS.iter();
    let mut total = 0u64;
    while !rest.is_empty() || text.is_empty() {
        let (number, unit, tail) = part(rest, UnitError::NoDuration)?;
        let scale = units
            .find_map(|(name, scale)| (*name == unit).then_some(*scale))
            .ok_or(UnitError::NoDuration)?;
        let add = number.checked_mul(scale).ok_or(UnitError::TooLarge)?;
        total = total.checked_add(add).ok_or(UnitError::TooLarge)?;
        rest = tail;
    }
    Ok(Duration::from_millis(total))
}

/// Reads one whole number with the unit `B`, `KiB`, `MiB` or `GiB`, in bytes.
pub(super) fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (number, unit, tail) = part(text, UnitError::NoSize)?;
    let scale = SIZE_UNITS
        .iter()
        .find_map(|(name, scale)| (*name == unit && tail.is_empty()).then_some(*scale))
        .ok_or(UnitError::NoSize)?;
    number.checked_mul(scale).ok_or(UnitError::TooLarge)
}

/// Writes a duration the way it is read, to the millisecond.
pub(super) fn write_duration(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if rest == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, scale) in DURATION_UNITS {
        if rest >= scale {
            text.push_str(&format!("{}{unit}", rest / scale));
            rest %= scale;
        }
    }
    text
}

/// Writes a size the way it is read, in the largest unit that divides it.
pub(super) fn write_size(bytes: u64) -> String {
    let fits = |(_, scale): &(&str, u64)| bytes >= *scale && bytes.is_multiple_of(*scale);
    let (unit, scale) = SIZE_UNITS.into_iter().find(fits).unwrap_or(("B", 1));
    format!("{}{unit}", bytes / scale)
}

/// The number and the unit that `text` begins with, and what follows them.
fn part(text: &str, error: UnitError) -> Result<(u64, &str, &str), UnitError> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or(error)?;
    let (digits, rest) = text.split_at(unit_at);
    let rest_at = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let (unit, tail) = rest.split_at(rest_at);
    if digits.is_empty() {
        return Err(error);
    }
    let number = digits.parse().map_err(|_| UnitError::TooLarge)?;
    Ok((number, unit, tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_in_every_unit_and_combined() {
        for (text, milliseconds) in [
            ("0s", 0),
            ("500ms", 500),
            ("90s", 90_000),
            ("15m", 900_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("1h30m", 5_400_000),
            ("1d2h3m4s5ms", 93_784_005),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "", "s", "10", "1.5s", "-1s", "1 s", " 1s", "1s ", "1S", "1w", "5s1m", "1s1s", "1m1",
        ] {
            assert_eq!(parse_duration(text), Err(UnitError::NoDuration), "{text}");
        }
        for text in [
            "99999999999999999999s",
            "18446744073709551615s",
            "213503982334d9999999d",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_in_every_unit() {
        for (text, bytes) in [
            ("0B", 0),
            ("512B", 512),
            ("64KiB", 65_536),
            ("8MiB", 8 << 20),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "", "8", "MiB", "8MB", "8mib", "8 MiB", "1.5MiB", "1MiB1KiB", "-1B",
        ] {
            assert_eq!(parse_size(text), Err(UnitError::NoSize), "{text}");
        }
        assert_eq!(
            parse_size("18446744073709551615KiB"),
            Err(UnitError::TooLarge)
        );
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(number in 0u64..1 << 50) {
            let duration = Duration::from_millis(number);
            prop_assert_eq!(parse_duration(&write_duration(duration)), Ok(duration));
            prop_assert_eq!(parse_size(&write_size(number)), Ok(number));
        }

        #[test]
        fn no_text_panics(text in "[0-9a-zA-Zäß .-]{0,30}") {
            let _ = (parse_duration(&text), parse_size(&text));
        }
    }
}
