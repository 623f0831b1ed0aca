//! From a status and what the body says to an outcome. Pure.

use super::facts::{ErrorFacts, Facts};
use super::limits::{Limit, Wait};
use super::outcome::{CutOff, Outcome};
use super::overlong;
use std::time::Duration;

/// How the reading of a body came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The body is complete.
    Complete,
    /// The connection or its framing broke.
    Broken,
    /// Nothing more came in time.
    TimedOut(Wait),
}

/// What kind of body it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// There was none.
    Empty,
    /// Neither JSON nor a stream.
    Opaque,
    /// JSON; `flawed` if not all of it could be read.
    Json { flawed: bool },
    /// An event stream; `broken_event` if an event's JSON could not be read to its end.
    Stream {
        events: u64,
        done: bool,
        broken_event: bool,
    },
}

/// Everything an outcome depends on.
pub(super) struct Response<'a> {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) too_large: Option<Limit>,
    pub(super) end: End,
    pub(super) kind: BodyKind,
    /// Whether answers of this API say why they ended, or that they did.
    pub(super) tells_its_end: bool,
    pub(super) facts: &'a Facts,
    /// Whether text of an answer was seen.
    pub(super) answer_began: bool,
}

pub(super) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// What the endpoint did.
pub(super) fn outcome(response: &Response<'_>) -> Outcome {
    if let Some(limit) = response.too_large {
        return Outcome::TooLarge(limit);
    }
    if !is_success(response.status) {
        // The status was told before anything that went wrong later.
        return refusal(response, response.facts.error.as_ref());
    }
    let done = matches!(response.kind, BodyKind::Stream { done: true, .. });
    if let (End::TimedOut(wait), false) = (response.end, done) {
        return Outcome::TimedOut(wait);
    }
    match &response.facts.error {
        // Some text was generated from the prompt, so this proves no clean refusal of it.
        Some(_) if response.answer_began => Outcome::CutOff(CutOff::ErrorMidAnswer),
        Some(error) => refusal(response, Some(error)),
        None => completion(response),
    }
}

fn completion(response: &Response<'_>) -> Outcome {
    let facts = response.facts;
    let is_broken = response.end == End::Broken;
    let has_reason = facts.finish_reason.is_some() || facts.ended;
    match response.kind {
        BodyKind::Stream { done, .. } if is_broken && !done && !has_reason => {
            Outcome::CutOff(CutOff::MidBody)
        }
        BodyKind::Stream {
            broken_event: true, ..
        } => Outcome::Malformed("an event is not JSON"),
        BodyKind::Stream { events: 0, .. } => Outcome::Malformed("empty stream"),
        _ if is_broken && !matches!(response.kind, BodyKind::Stream { .. }) => {
            Outcome::CutOff(CutOff::MidBody)
        }
        BodyKind::Json { flawed: true } => Outcome::Malformed("the body is not JSON"),
        BodyKind::Empty => Outcome::Malformed("empty body"),
        BodyKind::Opaque => Outcome::Malformed("neither JSON nor an event stream"),
        _ if !facts.choice => Outcome::Malformed("no choices"),
        BodyKind::Stream { done: true, .. } => answer(facts),
        _ if has_reason => answer(facts),
        BodyKind::Stream { .. } => Outcome::CutOff(CutOff::NoEnd),
        BodyKind::Json { .. } if response.tells_its_end => Outcome::Malformed("no finish reason"),
        BodyKind::Json { .. } => answer(facts),
    }
}

/// A complete answer, which may be none.
fn answer(facts: &Facts) -> Outcome {
    let reason = facts.finish_reason.as_deref().unwrap_or_default();
    if FILTERED.contains(&reason) {
        Outcome::ContentFiltered
    } else if facts.declined || reason == "refusal" {
        Outcome::Declined
    } else if facts.truncated {
        Outcome::Truncated
    } else {
        Outcome::Answered
    }
}

/// Reasons for an end that a filter gave: OpenAI's and Azure's, Gemini's behind its gateways, and others.
const FILTERED: &[&str] = &[
    "content_filter",
    "content_filtered",
    "guardrail_intervened",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "sensitive",
];

fn refusal(response: &Response<'_>, error: Option<&ErrorFacts>) -> Outcome {
    let told_in_body = is_success(response.status);
    let status = match error.and_then(|error| error.status) {
        Some(status) if told_in_body => status,
        _ => response.status,
    };
    if (told_in_body || matches!(status, 400 | 413 | 422))
        && let Some(named) = error.and_then(overlong::recognise)
    {
        return Outcome::RejectedTooLong {
            limit: named.limit,
            prompt_tokens: named.prompt_tokens,
        };
    }
    let says = |rows: &[&[&str]]| {
        let words = error.map_or("", |error| error.words.as_str());
        rows.iter()
            .any(|row| row.iter().all(|part| words.contains(part)))
    };
    let told_under_success = is_success(status);
    match status {
        429 => Outcome::RateLimited {
            retry_after: response.retry_after,
        },
        // 408 comes from gateways that waited for capacity, 529 from Anthropic.
        408 | 503 | 529 => Outcome::Overloaded,
        401 | 403 => Outcome::Unauthorised,
        400 if says(CREDENTIAL_WORDS) => Outcome::Unauthorised,
        400 | 404 if says(MODEL_WORDS) => Outcome::ModelUnknown,
        404 if says(MODEL_WORDS_OF_404) => Outcome::ModelUnknown,
        400 if says(FILTER_WORDS) => Outcome::ContentFiltered,
        // No status tells what an event in a stream means.
        _ if told_under_success && says(RATE_WORDS) => Outcome::RateLimited { retry_after: None },
        _ if told_under_success && says(OVERLOAD_WORDS) => Outcome::Overloaded,
        _ if told_under_success && says(CREDENTIAL_WORDS) => Outcome::Unauthorised,
        _ if told_under_success && says(FILTER_WORDS) => Outcome::ContentFiltered,
        200..300 | 500..600 => Outcome::ServerError(status),
        _ => Outcome::Refused(status),
    }
}

/// LiteLLM answers a wrong key with 400. All parts of a row must be said.
const CREDENTIAL_WORDS: &[&[&str]] = &[
    &["authentication error"],
    &["authentication_error"],
    &["invalid_api_key"],
    &["invalid api key"],
];

const MODEL_WORDS: &[&[&str]] = &[
    &["model_not_found"],
    &["invalid model name"],
    &["no such model"],
    &["model not found"],
    &["does not exist"],
];

/// Ollama and Anthropic; elsewhere these words could mean something else.
const MODEL_WORDS_OF_404: &[&[&str]] = &[&["model", "not found"], &["not_found_error", "model:"]];

/// Azure refuses a prompt so.
const FILTER_WORDS: &[&[&str]] = &[&["content_filter"], &["content management policy"]];

const RATE_WORDS: &[&[&str]] = &[&["rate_limit"], &["rate limit"]];

const OVERLOAD_WORDS: &[&[&str]] = &[&["overloaded"], &["queue is full"], &["server busy"]];

/// How long a `retry-after` header asks us to stay away, at most a day; `date` is the same response's
/// own `date` header, so that no clock of ours is asked.
pub(super) fn retry_after(value: Option<&str>, date: Option<&str>) -> Option<Duration> {
    let value = value?.trim();
    let seconds = match value.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => (http_date(value)? - http_date(date?)?).as_seconds_f64(),
    };
    // Also false for what is no number.
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(86_400.0)))
}

fn http_date(text: &str) -> Option<time::PrimitiveDateTime> {
    let format = time::macros::format_description!(
        "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
    );
    time::PrimitiveDateTime::parse(text.trim(), format).ok()
}

#[cfg(test)]
mod tests;
