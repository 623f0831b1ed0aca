//! NDJSON: fields of lines, without making anything of the rest.

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A path to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Every,
}

/// A text that is no path.
#[derive(Debug, thiserror::Error)]
#[error(
    "no field path (expected keys joined by dots, `[]` for every element, like `choices[].message.content`)"
)]
pub(super) struct NoPath;

impl FieldPath {
    /// As it was given.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for FieldPath {
    type Err = NoPath;

    fn from_str(text: &str) -> Result<Self, NoPath> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(tail) = rest.strip_prefix("[]") {
                steps.push(Step::Every);
                rest = tail;
                continue;
            }
            let key = match rest.strip_prefix('.') {
                Some(tail) => tail,
                None if steps.is_empty() => rest,
                None => return Err(NoPath),
            };
            let (key, tail) = match key.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or(NoPath)?,
                None => key.split_at(key.find(['.', '[']).unwrap_or(key.len())),
            };
            if key.is_empty() {
                return Err(NoPath);
            }
            steps.push(Step::Key(key.to_owned()));
            rest = tail;
        }
        if steps.is_empty() {
            return Err(NoPath);
        }
        Ok(Self {
            text: text.to_owned(),
            steps,
        })
    }
}

/// All wanted fields, as a tree.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The path that ends here.
    wanted: Option<String>,
    keys: BTreeMap<String, Fields>,
    every: Option<Box<Fields>>,
}

impl Fields {
    pub(super) fn new(paths: &[FieldPath]) -> Self {
        let mut root = Self::default();
        for path in paths {
            let mut node = &mut root;
            for step in &path.steps {
                node = match step {
                    Step::Key(key) => node.keys.entry(key.clone()).or_default(),
                    Step::Every => node.every.get_or_insert_default(),
                };
            }
            node.wanted = Some(path.text.clone());
        }
        root
    }

    /// Calls `each` with the path and text of every wanted field of a line. An error says only that the
    /// line is no JSON, and where: never what stands in it.
    pub(super) fn read(
        &self,
        line: &[u8],
        each: &mut dyn FnMut(&str, &[u8]),
    ) -> Result<(), serde_json::Error> {
        // As a whole this is quicker than string by string.
        let line = std::str::from_utf8(line).map_err(|_| serde_json::Error::custom("no UTF-8"))?;
        let mut json = serde_json::Deserializer::from_str(line);
        Walk { node: self, each }.deserialize(&mut json)?;
        json.end()
    }
}

struct Walk<'a> {
    node: &'a Fields,
    each: &'a mut dyn FnMut(&str, &[u8]),
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        let Some(path) = &self.node.wanted else {
            return json.deserialize_any(self);
        };
        let raw: &RawValue = serde::Deserialize::deserialize(json)?;
        if raw.get().starts_with('"') {
            let text: Cow<'_, str> =
                serde_json::from_str(raw.get()).map_err(|_| D::Error::custom("invalid string"))?;
            (self.each)(path, text.as_bytes());
        } else {
            (self.each)(path, raw.get().as_bytes());
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match self.node.keys.get(key.as_ref()) {
                Some(node) => map.next_value_seed(Walk {
                    node,
                    each: self.each,
                })?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        match self.node.every.as_deref() {
            Some(node) => {
                while seq
                    .next_element_seed(Walk {
                        node,
                        each: self.each,
                    })?
                    .is_some()
                {}
            }
            None => while seq.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(paths: &[&str], line: &str) -> Option<Vec<String>> {
        let paths: Vec<FieldPath> = paths.iter().filter_map(|path| path.parse().ok()).collect();
        let mut found = Vec::new();
        let read = Fields::new(&paths).read(line.as_bytes(), &mut |path, text| {
            found.push(format!("{path}={}", String::from_utf8_lossy(text)));
        });
        read.is_ok().then_some(found)
    }

    #[test]
    fn fields_are_found_by_key_element_and_quoted_key() {
        let line = r#"{"a":{"b":["x","\u0079",7]},"c.d":"z","e":{"f":null}}"#;
        assert_eq!(
            fields(&["a.b[]"], line),
            Some(vec!["a.b[]=x".into(), "a.b[]=y".into(), "a.b[]=7".into()])
        );
        assert_eq!(
            fields(&["\"c.d\"", "e"], line),
            Some(vec!["\"c.d\"=z".into(), "e={\"f\":null}".into()])
        );
        assert_eq!(fields(&["a.x", "b"], line), Some(vec![]));
        assert_eq!(
            fields(&["[].a"], r#"[{"a":1},2,{"a":"3"}]"#),
            Some(vec!["[].a=1".into(), "[].a=3".into()])
        );
    }

    #[test]
    fn what_is_no_json_is_told() {
        assert_eq!(fields(&["a"], r#"{"a":"b"} x"#), None);
        assert_eq!(fields(&["a"], "plain text"), None);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", ".", "a..b", "a.\"b", "a[0]", "a[]b"] {
            assert!(text.parse::<FieldPath>().is_err(), "{text}");
        }
    }
}
