//! Checks of single values: ranges, choices, names.

use super::Check;
use crate::config::document::{At, Field};
use crate::config::from_toml::Bytes;
use crate::config::mistake::Place;
use crate::config::suggest::hint;
use crate::config::units::{write_duration, write_size};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The longest text of a configuration that is repeated in a message.
const LONGEST_SHOWN: usize = 40;

impl Check<'_> {
    /// A key that must be there.
    pub(super) fn required<'r, T>(
        &mut self,
        field: &'r Field<T>,
        table: &Place,
        key: &str,
        remedy: &str,
    ) -> Option<&'r At<T>> {
        if field.is_absent() {
            let message = format!("is missing (write {remedy})");
            self.mistakes.at(&table.of_key(key), message);
        }
        field.given()
    }

    /// A whole number in a range; `default` if it is not there.
    pub(super) fn whole(
        &mut self,
        field: &Field<i128>,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let (low, high) = (*range.start(), *range.end());
        let inside = |value: &i128| {
            u64::try_from(*value)
                .ok()
                .filter(|value| range.contains(value))
        };
        self.within(field, default, inside, |value| {
            format!("{value} is out of range (write {low} to {high})")
        })
    }

    /// A duration in a range; `default` if it is not there.
    pub(super) fn duration(
        &mut self,
        field: &Field<Duration>,
        default: Duration,
        range: RangeInclusive<Duration>,
    ) -> Option<Duration> {
        let (low, high) = (write_duration(*range.start()), write_duration(*range.end()));
        let inside = |value: &Duration| Some(*value).filter(|value| range.contains(value));
        self.within(field, default, inside, |value| {
            format!(
                "{} is out of range (write {low} to {high})",
                write_duration(*value)
            )
        })
    }

    /// A size in bytes in a range; `default` if it is not there.
    pub(super) fn size(
        &mut self,
        field: &Field<Bytes>,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let (low, high) = (write_size(*range.start()), write_size(*range.end()));
        let inside = |value: &Bytes| Some(value.0).filter(|value| range.contains(value));
        self.within(field, default, inside, |value| {
            format!(
                "{} is out of range (write {low} to {high})",
                write_size(value.0)
            )
        })
    }

    /// A number over 0 and up to `most`; `default` if it is not there.
    pub(super) fn fraction(&mut self, field: &Field<f64>, default: f64, most: f64) -> Option<f64> {
        let inside = |value: &f64| Some(*value).filter(|value| *value > 0.0 && *value <= most);
        self.within(field, default, inside, |value| {
            format!("{value} is out of range (write more than 0 and at most {most})")
        })
    }

    fn within<T, V>(
        &mut self,
        field: &Field<T>,
        default: V,
        inside: impl Fn(&T) -> Option<V>,
        refusal: impl Fn(&T) -> String,
    ) -> Option<V> {
        match field {
            Field::Absent => Some(default),
            Field::Wrong => None,
            Field::Given(at) => {
                let value = inside(&at.value);
                if value.is_none() {
                    self.mistakes.at(&at.place, refusal(&at.value));
                }
                value
            }
        }
    }

    /// One of a few words; `default` if it is not there.
    pub(super) fn choice<T: Copy>(
        &mut self,
        field: &Field<String>,
        default: T,
        choices: &[(&str, T)],
    ) -> Option<T> {
        match field {
            Field::Absent => Some(default),
            Field::Wrong => None,
            Field::Given(at) => self.chosen(at, choices),
        }
    }

    /// The meaning of a word.
    pub(super) fn chosen<T: Clone>(&mut self, at: &At<String>, choices: &[(&str, T)]) -> Option<T> {
        let found = choices.iter().find(|(word, _)| *word == at.value);
        if found.is_none() {
            let words = || choices.iter().map(|(word, _)| *word);
            let remedy = match hint(&at.value, words()) {
                hint if hint.is_empty() => {
                    let known: Vec<String> = words().map(|word| format!("\"{word}\"")).collect();
                    format!(" (write {})", known.join(" or "))
                }
                hint => hint,
            };
            let message = format!("`{}` is not known{remedy}", shown(&at.value));
            self.mistakes.at(&at.place, message);
        }
        found.map(|(_, meaning)| meaning.clone())
    }

    /// A name as tables, metrics and URLs can bear it: `[a-z0-9-]{1,63}`.
    pub(super) fn name(&mut self, at: &At<String>) -> Option<String> {
        match name(&at.value) {
            Ok(name) => Some(name),
            Err(message) => {
                self.mistakes.at(&at.place, message);
                None
            }
        }
    }

    /// Notes every name that stands here for the second time.
    pub(super) fn unique<'r>(
        &mut self,
        names: impl IntoIterator<Item = &'r At<String>>,
        remedy: &str,
    ) {
        let mut seen: Vec<&At<String>> = Vec::new();
        for at in names {
            match seen.iter().find(|earlier| earlier.value == at.value) {
                None => seen.push(at),
                Some(earlier) => {
                    let message = format!(
                        "`{}` stands at {} already ({remedy})",
                        shown(&at.value),
                        earlier.place.key
                    );
                    self.mistakes.at(&at.place, message);
                }
            }
        }
    }
}

/// A name or label as given; or what is wrong with it.
pub(crate) fn name(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=63).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{}` is no name (write 1 to 63 of the characters a-z, 0-9 and -)",
        shown(text)
    ))
}

/// A text of the file as a message repeats it: short and on one line.
pub(super) fn shown(text: &str) -> String {
    let mut start: String = text
        .chars()
        .take(LONGEST_SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().count() > LONGEST_SHOWN {
        start.push('…');
    }
    start
}
