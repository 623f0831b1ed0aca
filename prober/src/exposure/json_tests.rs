#![allow(clippy::unwrap_used)]

use super::super::row::{Row, path};
use super::*;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;

const PATHS: [&str; 5] = ["a", "b", "a.b", "c.a.b", r#""a.b""#];

fn wanted() -> Wanted {
    let paths: Vec<Path> = PATHS.iter().map(|text| path(text).unwrap()).collect();
    Wanted::new(&paths)
}

/// The texts and numbers that stand at [`PATHS`].
fn read(line: &str) -> Result<Vec<Option<String>>, NotJson> {
    let mut cells = [Cell::default(); PATHS.len()];
    wanted().read(line.as_bytes(), &mut cells)?;
    let row = Row {
        bytes: line.as_bytes(),
        cells: &cells,
    };
    let texts = (0..PATHS.len()).map(|slot| row.text(slot).ok().flatten());
    Ok(texts
        .map(|text| text.map(|text| text.into_owned()))
        .collect())
}

/// The same with a tree of the whole line.
fn read_all(line: &str) -> Option<Vec<Option<String>>> {
    let value: Value = serde_json::from_str(line).ok().filter(Value::is_object)?;
    let texts = PATHS.iter().map(|text| {
        let found = path(text)
            .unwrap()
            .iter()
            .try_fold(&value, |at, key| at.get(key))?;
        match found {
            Value::String(text) => {
                Some(text.clone()).filter(|text| !text.is_empty() && text != "-")
            }
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    });
    Some(texts.collect())
}

#[test]
fn wanted_fields_are_found_wherever_they_stand() {
    let line = r#" {"x":[{"a":1},"]"],"a":{"b":"B\n\u00e9","a":0},"c":{"a":{"b":-1.5e3}},"a.b":"dotted"} "#;
    let found = read(line).unwrap();
    let expected = [None, None, Some("B\né"), Some("-1.5e3"), Some("dotted")];
    assert_eq!(found, expected.map(|text| text.map(str::to_owned)));
}

#[test]
fn a_key_may_be_written_with_escapes_and_the_last_of_two_counts() {
    assert_eq!(read(r#"{"\u0062":"1"}"#).unwrap()[1].as_deref(), Some("1"));
    assert_eq!(
        read(r#"{"b":"1","b":"2"}"#).unwrap()[1].as_deref(),
        Some("2")
    );
}

#[test]
fn what_is_no_object_is_refused_with_its_reason() {
    for (line, why) in [
        ("", NotJson::Cut),
        ("{", NotJson::Cut),
        (r#"{"a":"#, NotJson::Cut),
        (r#"{"a":"x"#, NotJson::Cut),
        (r#"{"a":"x\"#, NotJson::Cut),
        (r#"{"a":tru"#, NotJson::Cut),
        (r#"{"a":1,}"#, NotJson::Unexpected),
        (r#"{"a":01}"#, NotJson::Unexpected),
        (r#"{a:1}"#, NotJson::Unexpected),
        (r#"{"a":"\x"}"#, NotJson::Unexpected),
        ("{\"a\":\"\t\"}", NotJson::Unexpected),
        (r#"{"a":[1}}"#, NotJson::Unexpected),
        (r#"{"a":1} {"a":2}"#, NotJson::Trailing),
        ("[]", NotJson::NoObject),
        ("17", NotJson::NoObject),
    ] {
        assert_eq!(read(line), Err(why), "{line}");
    }
    let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(300), "]".repeat(300));
    assert_eq!(read(&deep), Err(NotJson::Deep));
    let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
    assert!(read(&deep).is_ok());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        "\\PC{0,40}|[a\"\\\\/\u{1}]{0,24}".prop_map(Value::from),
    ];
    let key = || prop_oneof![Just("a"), Just("b"), Just("c"), Just("a.b"), Just("x\"y")];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let list = prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from);
        let map = prop::collection::vec((key(), inner), 0..6).prop_map(|pairs| {
            pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()
        });
        prop_oneof![list, map]
    })
}

proptest! {
    #[test]
    fn it_finds_what_a_tree_of_the_line_has(value in any_json()) {
        let line = value.to_string();
        let found = read(&line).ok();
        let all = read_all(&line);
        prop_assert_eq!(found.is_some(), all.is_some());
        if let (Some(found), Some(all)) = (found, all) {
            for (found, all) in found.iter().zip(&all) {
                // Numbers stay as they are written.
                let same = |one: &str, other: &str| one == other || one.parse::<f64>().ok() == other.parse::<f64>().ok();
                prop_assert!(match (found, all) { (Some(one), Some(other)) => same(one, other), (one, other) => one == other }, "{found:?} {all:?}");
            }
        }
    }

    #[test]
    fn it_refuses_exactly_what_a_strict_reader_refuses(value in any_json(), at: prop::sample::Index, byte: u8, cut: bool) {
        let mut line = value.to_string().into_bytes();
        let at = at.index(line.len());
        if cut { line.truncate(at); } else { line[at] = byte; }
        prop_assume!(std::str::from_utf8(&line).is_ok());
        let strict = serde_json::from_slice::<IgnoredAny>(&line).is_ok();
        let mut cells = [Cell::default(); PATHS.len()];
        let read = wanted().read(&line, &mut cells);
        prop_assert_eq!(matches!(read, Ok(()) | Err(NotJson::NoObject)), strict, "{:?}", read);
    }

    #[test]
    fn nothing_makes_it_panic(line: Vec<u8>) {
        let mut cells = [Cell::default(); PATHS.len()];
        let _ = wanted().read(&line, &mut cells);
    }
}
