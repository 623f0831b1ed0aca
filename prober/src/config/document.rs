//! Reading a TOML text into raw tables, with the place of everything, going on after mistakes.
//!
//! serde would stop at the first wrong type and could not tell the line of a missing key, so the
//! spanned tree of the `toml` crate is walked here instead.

use super::from_toml::FromToml;
use super::mistake::{Mistakes, Place};
use super::raw::RawConfig;
use super::suggest::hint;
use toml::de::{DeTable, DeValue};

/// So many syntax errors are told; more are most likely echoes of the first.
const MOST_SYNTAX_ERRORS: usize = 10;

/// Reads the text of a configuration; `None` if it is no TOML at all.
pub(super) fn parse(text: &str, mistakes: &mut Mistakes) -> Option<RawConfig> {
    let lines = Lines::of(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors.iter().take(MOST_SYNTAX_ERRORS) {
        // Only the parser's own words: its `Display` would show the line, which may hold a secret.
        let (line, column) = lines.position(error.span().map_or(0, |span| span.start));
        mistakes.line(
            line,
            format!("column {column}: is not TOML: {}", error.message()),
        );
    }
    if !errors.is_empty() {
        return None;
    }
    let start = Place {
        key: String::new(),
        line: None,
    };
    let cursor = Cursor {
        lines: &lines,
        mistakes,
    };
    Some(RawConfig::from_table(document.get_ref(), start, cursor))
}

/// A key of the file: not there, there but unreadable (a mistake was noted), or read.
// No `Debug` here: a value may be a secret.
#[derive(Clone, Default)]
pub(super) enum Field<T> {
    #[default]
    Absent,
    Wrong,
    Given(At<T>),
}

impl<T> Field<T> {
    pub(super) fn given(&self) -> Option<&At<T>> {
        match self {
            Self::Given(at) => Some(at),
            Self::Absent | Self::Wrong => None,
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl<T: Clone + Default> Field<T> {
    /// The table that stands here, or one without keys: what is wrong with it was noted already.
    pub(super) fn table(&self) -> T {
        self.given().map_or_else(T::default, |at| at.value.clone())
    }
}

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) place: Place,
}

/// What readers need beside the value.
pub(super) struct Cursor<'a> {
    pub(super) lines: &'a Lines<'a>,
    pub(super) mistakes: &'a mut Mistakes,
}

impl Cursor<'_> {
    pub(super) fn again(&mut self) -> Cursor<'_> {
        Cursor {
            lines: self.lines,
            mistakes: self.mistakes,
        }
    }

    pub(super) fn wrong<T>(
        &mut self,
        place: &Place,
        expected: &str,
        found: &DeValue<'_>,
    ) -> Option<T> {
        let found = found.type_str();
        self.mistakes
            .at(place, format!("is of type {found} (write {expected})"));
        None
    }

    /// Reads the key `name` of a table at `place`.
    pub(super) fn field<T: FromToml>(
        &mut self,
        table: &DeTable<'_>,
        place: &Place,
        name: &str,
    ) -> Field<T> {
        let Some((key, value)) = table.get_key_value(name) else {
            return Field::Absent;
        };
        let place = Place {
            line: Some(self.lines.line(key.span().start)),
            ..place.of_key(name)
        };
        match T::from_toml(value, &place, self.again()) {
            Some(value) => Field::Given(At { value, place }),
            None => Field::Wrong,
        }
    }

    /// Notes every key of the table that is not known.
    pub(super) fn refuse_unknown(&mut self, table: &DeTable<'_>, place: &Place, known: &[&str]) {
        for key in table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
        {
            let written = key.get_ref().as_ref();
            let place = Place {
                line: Some(self.lines.line(key.span().start)),
                ..place.of_key(&shown(written))
            };
            let candidates = known.iter().copied();
            let remedy = match hint(written, candidates) {
                hint if hint.is_empty() => format!(" (known keys here: {})", known.join(", ")),
                hint => hint,
            };
            self.mistakes.at(&place, format!("unknown key{remedy}"));
        }
    }
}

/// A key as a message shows it: short, on one line.
pub(super) fn shown(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&key.len()) && key.chars().all(bare) {
        return key.to_owned();
    }
    let start: String = key.chars().take(40).collect();
    format!("{start:?}")
}

/// Where the lines of a text begin.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(breaks).collect(),
        }
    }

    /// The line and column of a byte, both from 1; columns count characters.
    fn position(&self, byte: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= byte);
        let start = self.starts[line - 1];
        let before = self.text.get(start..byte).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    pub(super) fn line(&self, byte: usize) -> usize {
        self.position(byte).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let lines = Lines::of("añb\n\nc");
        assert_eq!(lines.position(0), (1, 1));
        assert_eq!(lines.position(3), (1, 3));
        assert_eq!(lines.position(5), (2, 1));
        assert_eq!(lines.position(6), (3, 1));
        assert_eq!(lines.position(99), (3, 1));
    }

    #[test]
    fn a_strange_key_is_shown_short_and_on_one_line() {
        assert_eq!(shown("base_url"), "base_url");
        assert_eq!(shown("a\nb"), r#""a\nb""#);
        assert!(shown(&"x".repeat(1_000)).len() < 50);
    }
}
