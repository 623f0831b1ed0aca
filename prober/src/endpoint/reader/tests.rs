#![allow(clippy::unwrap_used)]

mod answers;
mod outcomes;
mod samples;
mod transcripts;

use super::*;
use crate::endpoint::Usage;
use proptest::prelude::*;
use reqwest::header::{HeaderName, HeaderValue};
use std::collections::BTreeMap;

/// Every text of a response, by place.
type Texts = BTreeMap<String, Vec<u8>>;

#[derive(Default)]
struct Collector(Texts);

impl Sink for Collector {
    fn piece(&mut self, place: &Place, bytes: &[u8]) {
        self.0
            .entry(format!("{place:?}"))
            .or_default()
            .extend_from_slice(bytes);
    }
}

/// What a response amounts to, in a form that can be compared.
#[derive(Debug, PartialEq)]
struct Read {
    outcome: Outcome,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    body_bytes: u64,
    texts: Texts,
}

impl Read {
    fn text(&self, place: &str) -> String {
        let path = format!(
            "{:?}",
            Place::Text {
                path: place.to_owned(),
                answer: true
            }
        );
        self.texts.get(&path).map_or_else(String::new, |text| {
            String::from_utf8_lossy(text).into_owned()
        })
    }
}

struct Given<'a> {
    status: u16,
    content_type: &'a str,
    limits: Limits,
    end: End,
    asked: Asked,
}

impl Default for Given<'_> {
    fn default() -> Self {
        Self {
            status: 200,
            content_type: "text/event-stream",
            limits: Limits::default(),
            end: End::Complete,
            asked: Asked {
                api: Api::OpenAiChat,
                stream: true,
            },
        }
    }
}

impl Given<'_> {
    fn read<'c>(&self, chunks: impl IntoIterator<Item = &'c [u8]>) -> Read {
        let headers = [("content-type", self.content_type)];
        self.read_with(&headers, chunks)
    }

    fn read_with<'c>(
        &self,
        headers: &[(&str, &str)],
        chunks: impl IntoIterator<Item = &'c [u8]>,
    ) -> Read {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (
                    name.parse::<HeaderName>().unwrap(),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect();
        let mut sink = Collector::default();
        let mut reader =
            ResponseReader::new(&self.asked, &self.limits, self.status, &headers, &mut sink);
        for chunk in chunks {
            if reader.chunk(chunk, &mut sink) == Flow::Enough {
                break;
            }
        }
        let reading = reader.finish(self.end, &mut sink);
        Read {
            outcome: reading.outcome,
            usage: reading.facts.usage(),
            finish_reason: reading.facts.finish_reason,
            body_bytes: reading.body_bytes,
            texts: sink.0,
        }
    }
}

fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn small_limits() -> Limits {
    Limits {
        response_bytes: 300,
        line_bytes: 60,
        json_bytes: 80,
        events: 4,
        header_bytes: 100,
        ..Limits::default()
    }
}

/// Bytes made of the parts that streams and documents are made of.
fn body() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: [&str; 26] = [
        "data:",
        "data: ",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        ":",
        "event: error",
        "{\"choices\":[{\"delta\":{\"content\":\"",
        "\"",
        "}",
        "]",
        "{",
        "[",
        "\\ud83d",
        "\\ude00",
        "\\",
        "[DONE]",
        "\"finish_reason\":\"stop\"",
        ",",
        "é😀",
        "\u{feff}",
        "{\"error\":{\"message\":\"prompt is too long",
        "\"index\":1",
        "12345678901234567890",
        " ",
    ];
    let part = prop_oneof![
        4 => prop::sample::select(&PARTS[..]).prop_map(|part| part.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

fn split(body: &[u8], cuts: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
    places.sort_unstable();
    places.push(body.len());
    let mut start = 0;
    places
        .into_iter()
        .map(|end| body[std::mem::replace(&mut start, end)..end].to_vec())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_in_any_chunks_read_the_same_and_nothing_panics(
        body in body(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        content_type in prop::sample::select(&["text/event-stream", "application/json", "text/html"][..]),
        status in prop::sample::select(&[200, 400][..]),
        small in any::<bool>(),
    ) {
        let limits = if small { small_limits() } else { Limits::default() };
        let given = Given { status, content_type, limits, ..Given::default() };
        let chunks = split(&body, &cuts);
        let whole = given.read([body.as_slice()]);
        prop_assert_eq!(&whole, &given.read(chunks.iter().map(Vec::as_slice)));
        prop_assert_eq!(&whole, &given.read(body.chunks(1)));
        prop_assert!(whole.body_bytes <= limits.response_bytes);
    }
}

#[test]
fn deltas_form_one_text_and_the_end_makes_an_answer() {
    let stream = [&delta("AB"), &delta("CD"), STOP, DONE].concat();
    let read = Given::default().read([stream.as_bytes()]);
    assert_eq!(read.outcome, Outcome::Answered);
    assert_eq!(read.finish_reason.as_deref(), Some("stop"));
    assert_eq!(read.text("choices[0].delta.content"), "ABCD");
    assert_eq!(read.texts["RawBody"], stream.as_bytes());
}

#[test]
fn what_stands_after_done_in_comments_in_fields_and_in_plain_data_is_shown_too() {
    let stream = [
        ": secret\n",
        "id: 7\n",
        &delta("a"),
        STOP,
        DONE,
        "data: plain\n\ndata:  text\n\n",
        &delta("late"),
    ]
    .concat();
    let read = Given::default().read([stream.as_bytes()]);
    assert_eq!(read.outcome, Outcome::Answered);
    assert_eq!(read.texts["SseComment"], b" secret\n");
    assert_eq!(read.texts["SseField"], b"id: 7\n");
    assert_eq!(read.texts["SseData"], b"plain text");
    assert_eq!(read.text("choices[0].delta.content"), "alate");
}

#[test]
fn headers_are_shown_with_their_names_and_odd_names_are_numbered() {
    let headers = [
        ("content-type", "application/json"),
        ("x-note", "one"),
        ("x-note", "two"),
        ("x-7c3f-token", "three"),
    ];
    let read = Given::default().read_with(&headers, [b"{}".as_slice()]);
    assert_eq!(read.texts["Header(\"x-note\")"], b"one\ntwo\n");
    assert_eq!(read.texts["Header(\"?3\")"], b"three\n");
    assert!(String::from_utf8_lossy(&read.texts["HeaderNames"]).contains("x-7c3f-token"));
}

#[test]
fn a_body_is_what_it_looks_like_whatever_its_content_type_claims() {
    let json = br#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let stream = [&delta("hi"), DONE].concat();
    for content_type in ["text/event-stream", "application/json", "text/plain", ""] {
        let given = Given {
            content_type,
            ..Given::default()
        };
        let read = given.read([json.as_slice()]);
        assert_eq!(
            (
                read.text("choices[0].message.content").as_str(),
                &read.outcome
            ),
            ("hi", &Outcome::Answered)
        );
        let read = given.read([stream.as_bytes()]);
        assert_eq!(
            (
                read.text("choices[0].delta.content").as_str(),
                &read.outcome
            ),
            ("hi", &Outcome::Answered)
        );
    }
    let html = Given {
        content_type: "text/html",
        ..Given::default()
    }
    .read([b"<html>hi</html>".as_slice()]);
    assert_eq!(
        html.outcome,
        Outcome::Malformed("neither JSON nor an event stream")
    );
}

#[test]
fn an_error_event_of_any_shape_is_recognised() {
    let rejected = Outcome::RejectedTooLong {
        limit: Some(8),
        prompt_tokens: Some(9),
    };
    let message =
        r#""message":"The input (9 tokens) is longer than the model's context length (8 tokens).""#;
    for stream in [
        format!(
            "data: {{\"error\":{{{message},\"type\":\"BadRequestError\",\"code\":400}}}}\n\ndata: [DONE]\n\n"
        ),
        format!("data: {{\"object\":\"error\",{message},\"code\":400}}\n\ndata: [DONE]\n\n"),
        format!("event: error\ndata: {{{message}}}\n\n"),
        format!("{{\"error\":{{{message}}}}}\n"),
        format!(": ping\n{{\"error\":{{{message}}}}}\n\ndata: [DONE]\n\n"),
    ] {
        assert_eq!(
            Given::default().read([stream.as_bytes()]).outcome,
            rejected,
            "{stream}"
        );
    }
}

#[test]
fn an_event_that_breaks_off_is_read_as_far_as_it_goes_and_is_no_answer() {
    let stream = [
        &delta("a"),
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"SECRET\n\n",
        STOP,
        DONE,
    ]
    .concat();
    let read = Given::default().read([stream.as_bytes()]);
    assert_eq!(read.outcome, Outcome::Malformed("an event is not JSON"));
    assert_eq!(read.text("choices[0].delta.content"), "aSECRET");
}

#[test]
fn usage_is_the_last_that_was_told_and_absurd_numbers_are_not_believed() {
    let usage = |json: &str| format!("data: {{\"choices\":[],\"usage\":{json}}}\n\n");
    let last = usage(
        r#"{"prompt_tokens":30,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":24}}"#,
    );
    let stream = [
        &usage(r#"{"prompt_tokens":30,"completion_tokens":1}"#),
        &last,
        &usage("null"),
        DONE,
    ]
    .concat();
    let expected = Usage {
        prompt_tokens: 30,
        completion_tokens: 2,
        cached_tokens: Some(24),
        reasoning_tokens: None,
    };
    assert_eq!(
        Given::default().read([stream.as_bytes()]).usage,
        Some(expected)
    );
    for absurd in ["-1", "1.5", "99999999999999999999999", "\"30\""] {
        let stream = usage(&format!("{{\"prompt_tokens\":{absurd}}}"));
        assert_eq!(
            Given::default().read([stream.as_bytes()]).usage,
            None,
            "{absurd}"
        );
    }
}

#[test]
fn a_finish_reason_that_is_text_is_not_handed_on() {
    let stream = STOP.replace("stop", "Jane Doe, 5 Elm Street");
    assert_eq!(
        Given::default()
            .read([stream.as_bytes()])
            .finish_reason
            .as_deref(),
        Some("other")
    );
}

#[test]
fn each_size_has_its_limit_and_the_raw_bytes_are_shown_up_to_the_largest() {
    let limits = small_limits();
    let stream = Given {
        limits,
        ..Given::default()
    };
    let long_line = format!("data: {}\n\n{DONE}", "x".repeat(100));
    let events = "data: 1\n\n".repeat(5);
    let json = format!("{{\"id\":\"{}\"}}", "x".repeat(100));
    let endless = ":".repeat(10_000);
    for (body, limit) in [
        (&long_line, Limit::LineBytes),
        (&events, Limit::Events),
        (&json, Limit::JsonBytes),
        (&endless, Limit::LineBytes),
        (&"data: 1\n".repeat(3).repeat(100), Limit::LineBytes),
        (&": hi\n".repeat(100), Limit::ResponseBytes),
    ] {
        let read = stream.read([body.as_bytes()]);
        assert_eq!(read.outcome, Outcome::TooLarge(limit), "{body}");
        let shown = body.len().min(300);
        assert_eq!(read.texts["RawBody"], body.as_bytes()[..shown]);
    }
    let read = stream.read_with(&[("x-long", &"x".repeat(100))], [DONE.as_bytes()]);
    assert_eq!(read.outcome, Outcome::TooLarge(Limit::HeaderBytes));
}
