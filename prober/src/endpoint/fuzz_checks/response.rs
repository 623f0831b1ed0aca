//! A whole response, head and body, as any API reads it.

use super::super::api::{self, Api};
use super::super::classify::End;
use super::super::limits::{Limits, Wait};
use super::super::outcome::{Outcome, Usage};
use super::super::place::{Place, Sink};
use super::super::reader::{Asked, Flow, ResponseReader};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;

/// Bytes that are shown at most of each byte of a body: as it came, as a text, and once more where a
/// server may repeat its text from the beginning; ends of lines and numbers come on top.
const SHOWN_OF_EACH_BYTE: usize = 4;
/// Places in a response, as [`Sink`] promises.
const PLACES: usize = 900;

/// How a response is read.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The API it is an answer of.
    pub api: Api,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// In how large pieces it comes, at least one byte.
    pub chunk: usize,
    /// Whether the limits are small.
    pub small: bool,
    /// Whether it ends as it should, breaks, or hangs: 0, 1, 2.
    pub end: u8,
}

impl Shape {
    /// A shape from any two bytes.
    #[must_use]
    pub fn from_bytes([first, second]: [u8; 2]) -> Self {
        let apis = Api::ALL;
        Self {
            api: apis[usize::from(first) % apis.len()].clone(),
            stream: second & 1 == 0,
            small: second & 2 != 0,
            end: (second >> 2) % 3,
            chunk: usize::from(second >> 4) + 1,
        }
    }
}

#[derive(Debug, Default, PartialEq)]
struct Shown {
    texts: BTreeMap<String, Vec<u8>>,
    places: Vec<Place>,
    bytes: usize,
}

impl Sink for Shown {
    fn piece(&mut self, place: &Place, bytes: &[u8]) {
        self.bytes += bytes.len();
        let text = self.texts.entry(format!("{place:?}")).or_insert_with(|| {
            self.places.push(place.clone());
            Vec::new()
        });
        text.extend_from_slice(bytes);
    }
}

#[derive(Debug, PartialEq)]
struct Read {
    outcome: Outcome,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    body_bytes: u64,
    shown: Shown,
}

/// The outcome of a response written as in HTTP/1.1, read in this shape. Checks that chunks make no
/// difference, that every byte is shown but none too often, and that no name of a place is a text.
pub fn response(shape: &Shape, bytes: &[u8]) -> Outcome {
    let (status, headers, body) = parted(bytes);
    let limits = match shape.small {
        false => Limits::default(),
        true => Limits {
            response_bytes: 300,
            line_bytes: 60,
            json_bytes: 80,
            events: 4,
            header_bytes: 100,
            ..Limits::default()
        },
    };
    let end = match shape.end {
        0 => End::Complete,
        1 => End::Broken,
        _ => End::TimedOut(Wait::Idle),
    };
    let asked = Asked {
        api: shape.api.clone(),
        stream: shape.stream,
    };
    let read = |chunk: usize| {
        let mut shown = Shown::default();
        let mut reader = ResponseReader::new(&asked, &limits, status, &headers, &mut shown);
        for chunk in body.chunks(chunk) {
            if reader.chunk(chunk, &mut shown) == Flow::Enough {
                break;
            }
        }
        let reading = reader.finish(end, &mut shown);
        Read {
            outcome: reading.outcome,
            usage: reading.facts.usage(),
            finish_reason: reading.facts.finish_reason,
            body_bytes: reading.body_bytes,
            shown,
        }
    };
    let whole = read(usize::MAX);
    let mut in_chunks = read(shape.chunk);
    // In which order places first appear is a matter of chunks: the raw bytes come in between.
    in_chunks.shown.places.clone_from(&whole.shown.places);
    assert_eq!(whole, in_chunks);
    let taken = body.len().min(limits.response_bytes as usize);
    assert_eq!(whole.body_bytes, taken as u64);
    let raw = whole
        .shown
        .texts
        .get("RawBody")
        .map_or(&b""[..], Vec::as_slice);
    assert_eq!(raw, &body[..taken]);
    let of_headers = 2 * (bytes.len() - body.len() + 8);
    assert!(whole.shown.bytes <= SHOWN_OF_EACH_BYTE * body.len() + of_headers);
    assert!(whole.shown.places.len() <= PLACES);
    for place in &whole.shown.places {
        assert!(tells_no_text(place, &asked.api), "{place}");
    }
    if let Some(reason) = &whole.finish_reason {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(reason.len() <= 32 && reason.bytes().all(is_plain));
    }
    whole.outcome
}

/// Whether a place's name is made of words that we know by heart.
fn tells_no_text(place: &Place, api: &Api) -> bool {
    let known = |name: &str| {
        let number = name.strip_prefix('?');
        number.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            || name == "…"
            || name.is_empty()
            || api::is_known_name(name)
            || api.dialect().knows(name)
    };
    match place {
        // The numbers of elements stand in brackets.
        Place::Text { path, .. } => path
            .split(['.', '[', ']'])
            .all(|name| known(name) || name.bytes().all(|byte| byte.is_ascii_digit())),
        Place::Header(name) | Place::Trailer(name) => {
            let is_word = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_');
            known(name) || name.len() <= 40 && name.bytes().all(is_word)
        }
        _ => true,
    }
}

/// Status, headers and body; what is no head is a body.
fn parted(bytes: &[u8]) -> (u16, HeaderMap, &[u8]) {
    let gap: &[u8] = b"\r\n\r\n";
    let end = bytes.windows(gap.len()).position(|window| window == gap);
    let Some(end) = end.filter(|_| bytes.starts_with(b"HTTP/")) else {
        return (200, HeaderMap::new(), bytes);
    };
    let mut lines = bytes[..end].split(|&byte| byte == b'\n');
    let status = lines.next().and_then(|line| {
        let word = line.split(|&byte| byte == b' ').nth(1)?;
        std::str::from_utf8(word).ok()?.parse::<u16>().ok()
    });
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let status = status.filter(|status| (200..600).contains(status));
    (status.unwrap_or(200), headers, &bytes[end + gap.len()..])
}
