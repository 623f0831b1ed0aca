//! Tables whose keys are the user's own: headers and fields of requests.

use super::document::{At, Cursor};
use super::from_toml::FromToml;
use super::mistake::Place;
use super::raw::RawSecret;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::DeValue;

/// The entries of a table with any keys, in their order; those that cannot be read are left out, each
/// with its mistake, and `is_whole` says so.
#[derive(Clone)]
pub(super) struct Entries<T> {
    pub(super) entries: Vec<(String, At<T>)>,
    pub(super) is_whole: bool,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            is_whole: true,
        }
    }
}

impl<T: FromToml> FromToml for Entries<T> {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        let DeValue::Table(table) = value.get_ref() else {
            return cursor.wrong(place, "a table of keys", value.get_ref());
        };
        let mut all = Self::default();
        for (key, value) in table {
            let name = key.get_ref().to_string();
            let place = Place {
                line: Some(cursor.lines.line(key.span().start)),
                ..place.of_key(&super::document::shown(&name))
            };
            match T::from_toml(value, &place, cursor.again()) {
                Some(value) => all.entries.push((name, At { value, place })),
                None => all.is_whole = false,
            }
        }
        Some(all)
    }
}

/// A text, or where a secret one comes from.
#[derive(Clone)]
pub(super) enum TextSource {
    Plain(String),
    Secret(RawSecret),
}

impl FromToml for TextSource {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(text) => Some(Self::Plain(text.to_string())),
            DeValue::Table(_) => RawSecret::from_toml(value, place, cursor).map(Self::Secret),
            other => cursor.wrong(
                place,
                "a text, or { env = \"VARIABLE\" }, or { file = \"FILE\" }",
                other,
            ),
        }
    }
}

/// A value as JSON has it.
impl FromToml for Value {
    fn from_toml(
        value: &Spanned<DeValue<'_>>,
        place: &Place,
        mut cursor: Cursor<'_>,
    ) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(text) => Some(Self::from(text.as_ref())),
            DeValue::Boolean(value) => Some(Self::from(*value)),
            DeValue::Integer(_) => {
                let number = i128::from_toml(value, place, cursor.again())?;
                match i64::try_from(number) {
                    Ok(number) => Some(Self::from(number)),
                    Err(_) => {
                        let message = "has too many digits (write a smaller number)";
                        cursor.mistakes.at(place, message);
                        None
                    }
                }
            }
            DeValue::Float(_) => f64::from_toml(value, place, cursor).map(Self::from),
            DeValue::Array(elements) => {
                let values = elements
                    .iter()
                    .map(|element| Self::from_toml(element, place, cursor.again()));
                values.collect::<Option<Vec<Self>>>().map(Self::from)
            }
            DeValue::Table(_) => {
                let table = Entries::<Self>::from_toml(value, place, cursor)?;
                let entries = table.entries.into_iter().map(|(name, at)| (name, at.value));
                table
                    .is_whole
                    .then(|| Self::Object(entries.collect::<Map<_, _>>()))
            }
            other => cursor.wrong(place, "a text, number, true, false, list or table", other),
        }
    }
}
