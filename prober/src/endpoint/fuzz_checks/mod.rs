//! What must hold for any bytes that an endpoint sends: shared by the fuzz targets (`prober/fuzz`) and
//! the test that runs them over recorded responses and over what they once found.

mod frames;
mod response;
#[cfg(test)]
mod tests;

pub use frames::{documents, event_stream};
pub use response::{Shape, response};

use super::api::Api;
use super::facts::ErrorFacts;
use super::place::{Place, Sink};
use super::walk::Walker;
use super::{classify, overlong, tokenize};
use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;

/// Deeper nesting than this is left to the scan of the raw bytes (`walk::MAX_DEPTH`).
const FOLLOWED_DEPTH: usize = 64;
/// No number of tokens in a refusal is this large.
const ABSURD: u64 = 1_000_000_000_000;

/// A list of texts as they were handed on, each piece whole.
#[derive(Default)]
struct Pieces(HashSet<Vec<u8>>);

impl Sink for Pieces {
    fn piece(&mut self, _: &Place, bytes: &[u8]) {
        self.0.insert(bytes.to_vec());
    }
}

/// Whether the bytes were a JSON document by a strict parser's lights: then nothing of it may be lost.
pub fn json(api: &Api, bytes: &[u8]) -> bool {
    let mut pieces = Pieces::default();
    let mut walker = Walker::new(api.clone(), true);
    let walked = walker.walk(bytes, &mut pieces);
    let Ok(document) = serde_json::from_slice::<Value>(bytes) else {
        return false;
    };
    if !document.is_object() && !document.is_array() || depth(&document) > FOLLOWED_DEPTH {
        return false;
    }
    let rest = walked.map(|(_, rest)| rest).map_err(|(flaw, _)| flaw);
    assert_eq!(rest, Ok(&b""[..]), "what is JSON is read to its end");
    for_each_text(&document, &mut |text, is_name| {
        let shown = text.is_empty() || pieces.0.contains(text.as_bytes());
        let is_known = || super::api::is_known_name(text) || api.dialect().knows(text);
        assert!(shown || is_name && is_known(), "lost: {text:?}");
    });
    true
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn for_each_text(value: &Value, tell: &mut dyn FnMut(&str, bool)) {
    match value {
        Value::String(text) => tell(text, false),
        Value::Array(list) => list.iter().for_each(|one| for_each_text(one, tell)),
        Value::Object(map) => {
            for (name, one) in map {
                tell(name, true);
                for_each_text(one, tell);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether the bytes, two headers and an error's message in a line each, say that a prompt is too long.
pub fn refusal(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let (wait, date) = (lines.next(), lines.next());
    if let Some(stay_away) = classify::retry_after(wait, date) {
        assert!(stay_away <= Duration::from_secs(86_400));
    }
    let error = ErrorFacts {
        words: lines.next().unwrap_or_default().to_lowercase(),
        ..ErrorFacts::default()
    };
    let named = overlong::recognise(&error);
    let numbers = named
        .iter()
        .flat_map(|named| [named.limit, named.prompt_tokens]);
    for number in numbers.flatten() {
        assert!((1..ABSURD).contains(&number));
    }
    named.is_some()
}

/// Whether the bytes are an answer of some `/tokenize` that tells of words or of a list.
pub fn tokenize_answer(bytes: &[u8]) -> bool {
    let Ok(answer) = serde_json::from_slice::<tokenize::Answer>(bytes) else {
        return false;
    };
    let by_word = answer.by_word();
    if let Some(counts) = &by_word {
        assert!(!counts.contains(&0), "a word of no token");
        let tokens: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        assert!(tokens <= bytes.len() as u64, "more tokens than bytes");
    }
    by_word.is_some() || answer.lengths().is_some_and(|lengths| !lengths.is_empty())
}
