//! The reader of one response: takes its head and its body in any chunks, hands every text in every
//! shape to the sink, keeps none, and tells the outcome. Knows no socket and no clock.

use super::api::{Api, Framing};
use super::classify::{self, BodyKind, End, is_success};
use super::documents::{Documents, Piece};
use super::facts::Facts;
use super::limits::{Limit, Limits, as_usize};
use super::outcome::Outcome;
use super::place::{Place, Sink};
use super::sse::{EventStream, Item};
use super::walk::Walker;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use std::time::Duration;

/// So many bytes are looked at to tell what a body is.
const SNIFFED_BYTES: usize = 1 << 10;

/// Whether more of the body is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    More,
    Enough,
}

/// What was asked for.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) api: Api,
    pub(super) stream: bool,
}

/// What was read of a response.
pub(super) struct Reading {
    pub(super) outcome: Outcome,
    pub(super) facts: Facts,
    pub(super) body_bytes: u64,
}

/// The state between two chunks of a response.
pub(super) struct ResponseReader {
    limits: Limits,
    status: u16,
    retry_after: Option<Duration>,
    content_type: Kind,
    body: Body,
    body_bytes: u64,
    /// The answer was asked for as one document after the other.
    in_documents: bool,
    tells_its_end: bool,
    contents: Contents,
    too_large: Option<Limit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
    Json,
    Other,
}

enum Body {
    /// Its first bytes do not tell yet.
    Unknown(Vec<u8>),
    Stream(EventStream),
    Json(Documents),
    Opaque,
}

/// What the documents in a body amount to.
struct Contents {
    walker: Walker,
    facts: Facts,
    told_as_error: bool,
    max_events: u64,
    events: u64,
    done: bool,
    flawed: bool,
}

impl ResponseReader {
    /// Reads the head.
    pub(super) fn new(
        asked: &Asked,
        limits: &Limits,
        status: u16,
        headers: &HeaderMap,
        sink: &mut dyn Sink,
    ) -> Self {
        sink.head(status, headers);
        let head_bytes = show_headers(headers, Place::Header, sink);
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let success = is_success(status);
        let dialect = asked.api.dialect();
        Self {
            in_documents: asked.stream && dialect.framing() == Framing::Documents,
            tells_its_end: dialect.tells_its_end(),
            limits: *limits,
            status,
            retry_after: classify::retry_after(text(RETRY_AFTER), text(DATE)),
            content_type: kind_of(text(CONTENT_TYPE).unwrap_or_default()),
            body: Body::Unknown(Vec::new()),
            body_bytes: 0,
            contents: Contents {
                walker: Walker::new(asked.api.clone(), success),
                facts: Facts::default(),
                told_as_error: !success,
                max_events: limits.events,
                events: 0,
                done: false,
                flawed: false,
            },
            too_large: (head_bytes > limits.header_bytes).then_some(Limit::HeaderBytes),
        }
    }

    /// Reads the next bytes of the body.
    pub(super) fn chunk(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Flow {
        let room = as_usize(self.limits.response_bytes - self.body_bytes);
        let taken = &bytes[..bytes.len().min(room)];
        self.body_bytes += taken.len() as u64;
        if !taken.is_empty() {
            sink.piece(&Place::RawBody, taken);
            self.feed(taken, sink);
        }
        if taken.len() < bytes.len() {
            self.too_large.get_or_insert(Limit::ResponseBytes);
            return Flow::Enough;
        }
        Flow::More
    }

    /// Reads the trailers.
    pub(super) fn trailers(&mut self, trailers: &HeaderMap, sink: &mut dyn Sink) {
        sink.trailers(trailers);
        if show_headers(trailers, Place::Trailer, sink) > self.limits.header_bytes {
            self.too_large.get_or_insert(Limit::HeaderBytes);
        }
    }

    /// Whether text of an answer has arrived.
    pub(super) fn answer_began(&self) -> bool {
        self.contents.walker.answer_began
    }

    /// Whether the stream has said that it is complete.
    pub(super) fn is_done(&self) -> bool {
        self.contents.done || self.contents.facts.ended
    }

    /// Ends the response.
    pub(super) fn finish(mut self, end: End, sink: &mut dyn Sink) -> Reading {
        if let Body::Unknown(prefix) = &mut self.body {
            let prefix = std::mem::take(prefix);
            self.decide(self.content_type, &prefix, sink);
        }
        let kind = match std::mem::replace(&mut self.body, Body::Opaque) {
            Body::Stream(stream) => {
                let Self {
                    contents,
                    too_large,
                    ..
                } = &mut self;
                stream.finish(&mut |item| contents.item(item, too_large, sink));
                self.contents.as_stream()
            }
            _ if self.body_bytes == 0 => BodyKind::Empty,
            Body::Json(documents) => {
                let Self {
                    contents,
                    too_large,
                    ..
                } = &mut self;
                documents.finish(&mut |piece| contents.piece(piece, too_large, sink));
                if self.in_documents || self.contents.events > 1 {
                    self.contents.as_stream()
                } else {
                    BodyKind::Json {
                        flawed: self.contents.flawed,
                    }
                }
            }
            Body::Opaque | Body::Unknown(_) => BodyKind::Opaque,
        };
        let outcome = classify::outcome(&classify::Response {
            status: self.status,
            retry_after: self.retry_after,
            too_large: self.too_large,
            end,
            kind,
            tells_its_end: self.tells_its_end,
            facts: &self.contents.facts,
            answer_began: self.contents.walker.answer_began,
        });
        Reading {
            outcome,
            facts: self.contents.facts,
            body_bytes: self.body_bytes,
        }
    }

    fn feed(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        let Self {
            contents,
            too_large,
            ..
        } = self;
        match &mut self.body {
            Body::Unknown(prefix) => {
                prefix.extend_from_slice(bytes);
                if let Some(kind) = sniff(prefix, self.content_type) {
                    let prefix = std::mem::take(prefix);
                    self.decide(kind, &prefix, sink);
                }
            }
            Body::Stream(stream) => {
                stream.push(bytes, &mut |item| contents.item(item, too_large, sink))
            }
            Body::Json(documents) => {
                documents.push(bytes, &mut |piece| contents.piece(piece, too_large, sink));
            }
            Body::Opaque => {}
        }
    }

    fn decide(&mut self, kind: Kind, prefix: &[u8], sink: &mut dyn Sink) {
        self.body = match kind {
            Kind::Stream => Body::Stream(EventStream::new(as_usize(self.limits.line_bytes))),
            Kind::Json => Body::Json(Documents::new(as_usize(self.limits.json_bytes))),
            Kind::Other => Body::Opaque,
        };
        self.feed(prefix, sink);
    }
}

impl Contents {
    fn item(&mut self, item: Item<'_>, too_large: &mut Option<Limit>, sink: &mut dyn Sink) {
        match item {
            Item::Comment(text) => show_line(&Place::SseComment, text, sink),
            // Some proxy's error in the midst of a stream.
            Item::Field(line) if line.starts_with(b"{") => self.event(line, false, too_large, sink),
            Item::Field(line) => show_line(&Place::SseField, line, sink),
            Item::Event { data, is_error } => self.event(data, is_error, too_large, sink),
            Item::TooLong => drop(too_large.get_or_insert(Limit::LineBytes)),
        }
    }

    fn piece(&mut self, piece: Piece<'_>, too_large: &mut Option<Limit>, sink: &mut dyn Sink) {
        match piece {
            Piece::Document(document) => self.event(document, false, too_large, sink),
            Piece::Stray => self.flawed = true,
            Piece::TooLong => drop(too_large.get_or_insert(Limit::JsonBytes)),
        }
    }

    fn as_stream(&self) -> BodyKind {
        BodyKind::Stream {
            events: self.events,
            done: self.done || self.facts.ended,
            broken_event: self.flawed,
        }
    }

    fn event(
        &mut self,
        data: &[u8],
        is_error: bool,
        too_large: &mut Option<Limit>,
        sink: &mut dyn Sink,
    ) {
        if self.events >= self.max_events {
            too_large.get_or_insert(Limit::Events);
            return;
        }
        self.events += 1;
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        let rest = self.walk_all(data, is_error, sink);
        if !rest.trim_ascii().is_empty() {
            sink.piece(&Place::SseData, rest);
        }
    }

    /// Walks through one document after the other. Returns what is no document.
    fn walk_all<'a>(
        &mut self,
        mut bytes: &'a [u8],
        is_error: bool,
        sink: &mut dyn Sink,
    ) -> &'a [u8] {
        while matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) {
            match self.walker.walk(bytes, sink) {
                Ok((draft, rest)) => {
                    self.facts
                        .merge(draft.complete(is_error || self.told_as_error));
                    bytes = rest;
                }
                Err((_, rest)) => {
                    self.flawed = true;
                    return rest;
                }
            }
        }
        bytes
    }
}

fn show_line(place: &Place, line: &[u8], sink: &mut dyn Sink) {
    sink.piece(place, line);
    sink.piece(place, b"\n");
}

/// Shows names and values and returns their size in bytes.
fn show_headers(headers: &HeaderMap, place: impl Fn(String) -> Place, sink: &mut dyn Sink) -> u64 {
    let mut bytes = 0;
    for (number, name) in headers.keys().enumerate() {
        show_line(&Place::HeaderNames, name.as_str().as_bytes(), sink);
        let shown = if is_plain_name(name.as_str()) {
            name.to_string()
        } else {
            format!("?{}", number + 1)
        };
        let place = place(shown);
        for value in headers.get_all(name) {
            show_line(&place, value.as_bytes(), sink);
            bytes += (name.as_str().len() + value.len() + 4) as u64;
        }
    }
    bytes
}

/// Whether a header's name is made of words, so that it may be shown.
fn is_plain_name(name: &str) -> bool {
    name.len() <= 40
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'))
}

fn kind_of(content_type: &str) -> Kind {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "text/event-stream" => Kind::Stream,
        other if other.ends_with("json") => Kind::Json,
        _ => Kind::Other,
    }
}

/// What a body is by its first bytes, whatever its content type claims; `None` if they are too few.
/// Looks at no more than [`SNIFFED_BYTES`], so that chunking makes no difference.
fn sniff(prefix: &[u8], claimed: Kind) -> Option<Kind> {
    let looked_at = &prefix[..prefix.len().min(SNIFFED_BYTES)];
    let is_all = prefix.len() >= SNIFFED_BYTES;
    let mark: &[u8] = b"\xEF\xBB\xBF";
    let text = looked_at
        .strip_prefix(mark)
        .unwrap_or(looked_at)
        .trim_ascii_start();
    let begins_one_of = |words: &[&[u8]]| words.iter().any(|word| word.starts_with(text));
    match text.first() {
        Some(b'{' | b'[') => Some(Kind::Json),
        Some(_) if STREAM_FIELDS.iter().any(|field| text.starts_with(field)) => Some(Kind::Stream),
        Some(_) if !is_all && (begins_one_of(STREAM_FIELDS) || mark.starts_with(text)) => None,
        None if !is_all => None,
        _ => Some(claimed),
    }
}

const STREAM_FIELDS: &[&[u8]] = &[b":", b"data:", b"event:", b"id:", b"retry:"];

#[cfg(test)]
mod tests;
