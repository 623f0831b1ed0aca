//! How each type of value is read, and how tables of known keys are declared.

use super::document::{At, Cursor, Field};
use super::mistake::Place;
use super::units::{parse_duration, parse_size};
use crate::budget::{Money, MoneyError};
use std::time::Duration;
use toml::Spanned;
use toml::de::DeValue;

/// A size in bytes, written with a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes(pub(super) u64);

/// What a value of the file can be read as; `None` after noting what is wrong with it.
pub(super) trait FromToml: Sized {
    fn from_toml(value: &Spanned<DeValue<'_>>, place: &Place, cursor: Cursor<'_>) -> Option<Self>;
}

impl FromToml for String {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            other => cursor.wrong(place, "a text in quotes", other),
        }
    }
}

impl FromToml for bool {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        match value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            other => cursor.wrong(place, "true or false", other),
        }
    }
}

impl FromToml for i128 {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        let DeValue::Integer(integer) = value.get_ref() else {
            return cursor.wrong(place, "a whole number", value.get_ref());
        };
        let number = i128::from_str_radix(integer.as_str(), integer.radix());
        if number.is_err() {
            cursor
                .mistakes
                .at(place, "has too many digits (write a smaller number)");
        }
        number.ok()
    }
}

impl FromToml for f64 {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        let text = match value.get_ref() {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            other => return cursor.wrong(place, "a number", other),
        };
        match text.parse::<Self>() {
            Ok(number) if number.is_finite() => Some(number),
            _ => {
                cursor
                    .mistakes
                    .at(place, "is not finite (write an ordinary number)");
                None
            }
        }
    }
}

impl FromToml for Duration {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        let DeValue::String(text) = value.get_ref() else {
            return cursor.wrong(
                place,
                "a duration in quotes, such as \"90s\"",
                value.get_ref(),
            );
        };
        parse_duration(text)
            .map_err(|error| cursor.mistakes.at(place, error.to_string()))
            .ok()
    }
}

impl FromToml for Bytes {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        let DeValue::String(text) = value.get_ref() else {
            return cursor.wrong(place, "a size in quotes, such as \"8MiB\"", value.get_ref());
        };
        parse_size(text)
            .map(Self)
            .map_err(|error| cursor.mistakes.at(place, error.to_string()))
            .ok()
    }
}

impl FromToml for Money {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        // From its digits, never through a float: money is exact.
        let text = match value.get_ref() {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            other => return cursor.wrong(place, "a plain decimal number, such as 0.55", other),
        };
        text.parse()
            .map_err(|error: MoneyError| cursor.mistakes.at(place, error.to_string()))
            .ok()
    }
}

/// A list; elements that cannot be read are left out, each with its mistake.
impl<T: FromToml> FromToml for Vec<Field<T>> {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        let DeValue::Array(elements) = value.get_ref() else {
            return cursor.wrong(place, "a list: […], or [[…]] for tables", value.get_ref());
        };
        let elements = elements.iter().enumerate().map(|(index, element)| {
            let place = Place {
                key: format!("{}[{index}]", place.key),
                line: Some(cursor.lines.line(element.span().start)),
            };
            match T::from_toml(element, &place, cursor.again()) {
                Some(value) => Field::Given(At { value, place }),
                None => Field::Wrong,
            }
        });
        Some(elements.collect())
    }
}

/// Declares a raw table: its keys, each a [`Field`] of what it may hold.
macro_rules! raw_table {
    ($name:ident { $($key:ident: $type:ty),* $(,)? }) => {
        // No `Debug`: a value may be a secret.
        #[derive(Clone, Default)]
        pub(super) struct $name {
            // Not every table is asked where it stands.
            #[allow(dead_code)]
            pub(super) place: Place,
            $(pub(super) $key: Field<$type>,)*
        }

        impl $name {
            pub(super) const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];

            /// Reads the known keys of a table and notes the unknown ones.
            pub(super) fn from_table(table: &DeTable<'_>, place: Place, mut cursor: Cursor<'_>) -> Self {
                cursor.refuse_unknown(table, &place, Self::KEYS);
                Self {
                    $($key: cursor.field(table, &place, stringify!($key)),)*
                    place,
                }
            }
        }

        impl FromToml for $name {
            fn from_toml(value: &Spanned<DeValue<'_>>, place: &Place, mut cursor: Cursor<'_>) -> Option<Self> {
                match value.get_ref() {
                    DeValue::Table(table) => Some(Self::from_table(table, place.clone(), cursor)),
                    other => cursor.wrong(place, "a table of keys", other),
                }
            }
        }
    };
}
pub(super) use raw_table;
