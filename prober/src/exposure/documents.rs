//! JSON documents: pages of a usage API, or a list of records. Read as a whole, so they have a bound.

use super::assess::Question;
use super::detect::{self, Unknown};
use super::json::NotJson;
use super::log::{Log, Part};
use super::mapping::{Layout, Mapping};
use super::problem::What;
use super::row::{Cell, Kind};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Bytes of the documents of one log.
pub(super) const LARGEST: usize = 64 << 20;

/// Reads documents one behind the other. All records of one have the line in which it begins.
pub(super) fn read(
    log: &Log,
    bytes: &[u8],
    question: &Question,
) -> Result<(Part, Arc<Mapping>), Unknown> {
    let mut part = Part {
        bytes: bytes.len() as u64,
        ..Part::default()
    };
    let Some(choice) = &log.choice else {
        return Err(Unknown::Format);
    };
    let mut known: Option<Log> = None;
    let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let mut line = 1;
    let mut counted = 0;
    loop {
        let start = documents.byte_offset();
        let blank = bytes[start..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        line += memchr::memchr_iter(b'\n', &bytes[counted..start + blank]).count() as u64;
        counted = start + blank;
        let value = match documents.next() {
            None => break,
            Some(Ok(value)) => value,
            Some(Err(error)) => {
                // What comes behind it cannot be told apart any more.
                let why = if error.is_eof() {
                    NotJson::Cut
                } else {
                    NotJson::Unexpected
                };
                part.fail(error.line() as u64, What::NotJson(why));
                break;
            }
        };
        let lists: Vec<String> = match &known {
            Some(log) => log
                .mapping
                .iter()
                .flat_map(|mapping| mapping.records.clone())
                .collect(),
            None => lists_of(choice),
        };
        let mut outcome = Ok(());
        for_each_record(&value, &lists, &mut Vec::new(), &mut |record| {
            if outcome.is_err() {
                return;
            }
            let Some(record) = record else {
                return part.fail(line, What::NoRecords);
            };
            if known.is_none() {
                match detect::of_record(merged(record).to_string().as_bytes(), choice) {
                    Ok(mapping) => known = Some(Log::new(mapping, Layout::JsonDocuments, None)),
                    Err(unknown) => {
                        outcome = Err(unknown);
                        return;
                    }
                }
            }
            if let Some(log) = &known {
                let (text, cells) = cells(log, record);
                log.answer(line, text.as_bytes(), &cells, question, &mut part);
            }
        });
        outcome?;
    }
    let mapping = known.and_then(|log| log.mapping);
    match mapping {
        Some(mapping) => Ok((part, mapping)),
        // Nothing to tell it by: lists without records, or no JSON at all.
        None => Ok((part, detect::last(choice)?)),
    }
}

fn lists_of(choice: &detect::Choice) -> Vec<String> {
    match choice {
        detect::Choice::This(mapping) => mapping.records.clone(),
        detect::Choice::Auto(mappings) => {
            let mut lists: Vec<String> = mappings
                .iter()
                .flat_map(|mapping| mapping.records.clone())
                .collect();
            let mut seen = Vec::new();
            lists.retain(|name| {
                let is_new = !seen.contains(name);
                seen.push(name.clone());
                is_new
            });
            lists
        }
    }
}

type Object = Map<String, Value>;

/// Tells each record with the objects around it, the innermost last; `None` for what can be none.
fn for_each_record<'v>(
    value: &'v Value,
    lists: &[String],
    around: &mut Vec<&'v Object>,
    each: &mut dyn FnMut(Option<&[&'v Object]>),
) {
    match value {
        Value::Array(values) => {
            for value in values {
                for_each_record(value, lists, around, each);
            }
        }
        Value::Object(object) => {
            around.push(object);
            let inner = lists
                .iter()
                .find_map(|name| Some(object.get(name)?).filter(|list| list.is_array()));
            match inner {
                Some(list) => for_each_record(list, lists, around, each),
                None => each(Some(around)),
            }
            around.pop();
        }
        _ => each(None),
    }
}

/// A record with what the objects around it say, too.
fn merged(record: &[&Object]) -> Value {
    let mut all = Object::new();
    for object in record {
        for (name, value) in *object {
            if !value.is_array() {
                all.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(all)
}

/// The wanted fields of a record: of the innermost object that has them.
fn cells(log: &Log, record: &[&Object]) -> (String, Vec<Cell>) {
    let mut text = String::new();
    let cells = log.slots().paths().iter().map(|path| {
        let found = record.iter().rev().find_map(|object| {
            let (first, rest) = path.split_first()?;
            rest.iter()
                .try_fold(object.get(first)?, |at, key| at.get(key))
        });
        let start = text.len();
        let kind = match found {
            None => Kind::Absent,
            Some(Value::Null) => Kind::Null,
            Some(Value::String(value)) => {
                text.push_str(value);
                Kind::Text
            }
            Some(Value::Number(value)) => {
                text.push_str(&value.to_string());
                Kind::Number
            }
            Some(_) => Kind::Other,
        };
        Cell {
            kind,
            start,
            end: text.len(),
        }
    });
    let cells = cells.collect();
    (text, cells)
}
