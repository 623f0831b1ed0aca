//! The fields of one line that somebody wants, wherever they came from.

use std::borrow::Cow;

/// What stands in a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// The line does not have it.
    #[default]
    Absent,
    /// It says that there is nothing.
    Null,
    /// Text as it is.
    Text,
    /// JSON text with escapes in it.
    Escaped,
    /// A number, as it is written.
    Number,
    /// Something that is neither text nor number.
    Other,
}

/// A field: what it is, and where in the bytes of its line it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Cell {
    /// Text as it is.
    pub(super) fn text(start: usize, end: usize) -> Self {
        Self {
            kind: Kind::Text,
            start,
            end,
        }
    }
}

/// The wanted fields of one line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'l> {
    pub(super) bytes: &'l [u8],
    pub(super) cells: &'l [Cell],
}

/// A field that holds something else than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong;

impl<'l> Row<'l> {
    /// The text or number in a field; `None` if there is none, or nothing in it.
    pub(super) fn text(&self, slot: usize) -> Result<Option<Cow<'l, str>>, Wrong> {
        let cell = self.cells.get(slot).copied().unwrap_or_default();
        let raw = self.bytes.get(cell.start..cell.end).unwrap_or_default();
        match cell.kind {
            Kind::Absent | Kind::Null => Ok(None),
            Kind::Other => Err(Wrong),
            // Access logs write `-` for nothing.
            Kind::Text | Kind::Number if raw.is_empty() || raw == b"-" => Ok(None),
            Kind::Text | Kind::Number => std::str::from_utf8(raw)
                .map(|text| Some(Cow::Borrowed(text)))
                .map_err(|_| Wrong),
            Kind::Escaped => {
                // With its quotation marks, which stand around it.
                let quoted = self
                    .bytes
                    .get(cell.start.wrapping_sub(1)..cell.end + 1)
                    .ok_or(Wrong)?;
                serde_json::from_slice::<String>(quoted)
                    .map(|text| Some(Cow::Owned(text)))
                    .map_err(|_| Wrong)
            }
        }
    }

    /// The number in a field: whole, not negative, perhaps written as text or with a fraction of zero.
    pub(super) fn number(&self, slot: usize) -> Result<Option<u64>, Wrong> {
        let Some(text) = self.text(slot)? else {
            return Ok(None);
        };
        let text = text.trim();
        if let Ok(number) = text.parse() {
            return Ok(Some(number));
        }
        match text.parse::<f64>() {
            Ok(number) if (0.0..1e15).contains(&number) && number.fract() == 0.0 => {
                Ok(Some(number as u64))
            }
            _ => Err(Wrong),
        }
    }
}

/// Which slot of a row belongs to which path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots(Vec<Path>);

/// Keys that lead to a field.
pub(super) type Path = Vec<String>;

impl Slots {
    /// The slot of a path, new or known.
    pub(super) fn of(&mut self, path: &Path) -> usize {
        match self.0.iter().position(|known| known == path) {
            Some(slot) => slot,
            None => {
                self.0.push(path.clone());
                self.0.len() - 1
            }
        }
    }

    pub(super) fn paths(&self) -> &[Path] {
        &self.0
    }
}

/// Keys joined by dots; one with a dot in it stands in quotation marks. `None` if it is no path.
pub(super) fn path(text: &str) -> Option<Path> {
    let mut keys = Vec::new();
    let mut rest = text;
    loop {
        let (key, tail) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if key.is_empty() {
            return None;
        }
        keys.push(key.to_owned());
        if tail.is_empty() {
            return Some(keys);
        }
        rest = tail.strip_prefix('.')?;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_keys_joined_by_dots() {
        let of = |text| path(text).map(|keys| keys.join("|"));
        assert_eq!(of("a.b"), Some("a|b".to_owned()));
        assert_eq!(of(r#"a."b.c".d"#), Some("a|b.c|d".to_owned()));
        for text in ["", ".", "a.", ".a", "a..b", r#""a"#, r#""a"b"#, r#""""#] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_whole_and_not_negative() {
        let number = |text: &str| {
            let cell = Cell::text(0, text.len());
            let row = Row {
                bytes: text.as_bytes(),
                cells: &[cell],
            };
            row.number(0)
        };
        assert_eq!(number("17"), Ok(Some(17)));
        assert_eq!(number(" 17.0 "), Ok(Some(17)));
        assert_eq!(number("1e3"), Ok(Some(1_000)));
        assert_eq!(number(""), Ok(None));
        assert_eq!(number("-"), Ok(None));
        for text in ["-1", "1.5", "x", "1e99", "nan"] {
            assert_eq!(number(text), Err(Wrong), "{text}");
        }
    }
}
