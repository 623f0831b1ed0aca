//! What was recorded of real servers, and how like it something is.

use super::unchunk;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Status and body of a recorded response.
pub(crate) fn recorded(name: &str) -> (u16, String) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/data", "../prober/tests/data/transcripts"];
    let mut files = folders
        .map(|folder| here.join(folder).join(name))
        .into_iter();
    let file = files.find(|file| file.exists()).unwrap();
    let response = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
    let (head, body) = response
        .split_once("\r\n\r\n")
        .or(response.split_once("\n\n"))
        .unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked {
        unchunk(body)
    } else {
        body.to_owned()
    };
    (status, body)
}

pub(crate) fn recorded_json(name: &str) -> Value {
    serde_json::from_str(&recorded(name).1).unwrap()
}

/// The objects of a stream; it ends as streams do.
pub(crate) fn events(body: &str) -> Vec<Value> {
    let events = body.split("\n\n").map(str::trim);
    let mut events: Vec<&str> = events.filter(|event| !event.is_empty()).collect();
    assert_eq!(events.pop(), Some("data: [DONE]"));
    let objects = events
        .iter()
        .map(|event| event.strip_prefix("data: ").unwrap());
    objects
        .map(|event| serde_json::from_str(event).unwrap())
        .collect()
}

/// Where what types are in a value.
pub(crate) type Paths = BTreeMap<String, BTreeSet<&'static str>>;

pub(crate) fn paths(value: &Value) -> Paths {
    fn walk(value: &Value, path: &str, all: &mut Paths) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        all.entry(path.to_owned()).or_default().insert(kind);
        match value {
            Value::Array(items) => {
                for item in items {
                    walk(item, &format!("{path}[]"), all);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    walk(value, &format!("{path}.{key}"), all);
                }
            }
            _ => {}
        }
    }
    let mut all = Paths::new();
    walk(value, "", &mut all);
    all
}

/// Every recorded path is there with a recorded type, but for those the simulator does not claim.
pub(crate) fn covers(simulated: &Value, recorded: &Value, unclaimed: &[&str]) {
    let (simulated, recorded) = (paths(simulated), paths(recorded));
    for (path, kinds) in &recorded {
        if unclaimed.iter().any(|prefix| path.starts_with(prefix)) {
            continue;
        }
        let own = simulated
            .get(path)
            .unwrap_or_else(|| panic!("{path} is missing"));
        // What was null may be of any type elsewhere.
        let fits = kinds.contains("null") || !kinds.is_disjoint(own);
        assert!(fits, "{path} is {own:?} and was recorded as {kinds:?}");
    }
}

/// Nothing else is there either.
pub(crate) fn is_like(simulated: &Value, recorded: &Value) {
    covers(simulated, recorded, &[]);
    covers(recorded, simulated, &[]);
}

/// A value with its numbers blanked, also those in its texts.
pub(crate) fn blanked(value: &Value) -> Value {
    match value {
        Value::Number(_) => "#".into(),
        Value::String(text) => {
            let mut blank = String::new();
            for character in text.chars() {
                if !character.is_ascii_digit() {
                    blank.push(character);
                } else if !blank.ends_with('#') {
                    blank.push('#');
                }
            }
            blank.into()
        }
        Value::Array(items) => items.iter().map(blanked).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), blanked(value)))
            .collect(),
        other => other.clone(),
    }
}

/// The kinds of a stream's events by their keys, each row of the same once.
pub(crate) fn sequence(events: &[Value]) -> Vec<BTreeSet<String>> {
    let mut kinds: Vec<BTreeSet<String>> = events
        .iter()
        .map(|event| paths(event).into_keys().collect())
        .collect();
    kinds.dedup();
    kinds
}
