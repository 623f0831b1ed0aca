//! An answer of each API, plain and streamed (`tests/data/answers/`): every text in it is read, and
//! what it says of itself is understood.

use super::*;
use crate::endpoint::{CutOff, Paths, Template};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    file: String,
    api: String,
    stream: bool,
    content_type: String,
    origin: String,
    /// Texts that must each stand whole in the model's own words.
    answer: Vec<String>,
    finish_reason: Option<String>,
    /// Prompt, answer, cached, reasoning.
    usage: Option<(u64, u64, Option<u64>, Option<u64>)>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/answers")
}

fn samples() -> Vec<(Sample, Vec<u8>)> {
    let index = std::fs::read_to_string(folder().join("index.json")).unwrap();
    let samples: Vec<Sample> = serde_json::from_str(&index).unwrap();
    let with_body = |sample: Sample| {
        let path = folder().join(format!("{}.resp", sample.file));
        (sample, std::fs::read(path).unwrap())
    };
    samples.into_iter().map(with_body).collect()
}

impl Sample {
    fn read(&self, body: &[u8], chunk: usize, content_type: &str) -> Read {
        let api = Api::ALL.into_iter().find(|api| api.as_str() == self.api);
        let given = Given {
            content_type,
            asked: Asked {
                api: api.unwrap(),
                stream: self.stream,
            },
            ..Given::default()
        };
        given.read(body.chunks(chunk))
    }
}

#[test]
fn an_answer_of_each_api_is_understood_in_any_chunks() {
    let samples = samples();
    for (sample, body) in &samples {
        let name = &sample.file;
        assert!(!sample.origin.is_empty(), "{name}");
        for chunk in [1, 13, usize::MAX] {
            let read = sample.read(body, chunk, &sample.content_type);
            assert_eq!(read.outcome, Outcome::Answered, "{name}");
            assert_eq!(read.finish_reason, sample.finish_reason, "{name}");
            let usage = read.usage.map(|usage| {
                (
                    usage.prompt_tokens,
                    usage.completion_tokens,
                    usage.cached_tokens,
                    usage.reasoning_tokens,
                )
            });
            assert_eq!(usage, sample.usage, "{name}");
            for words in &sample.answer {
                let told = |(place, text): (&String, &Vec<u8>)| {
                    place.contains("answer: true") && String::from_utf8_lossy(text).contains(words)
                };
                assert!(read.texts.iter().any(told), "{name}: {words}");
            }
        }
    }
    for api in Api::ALL {
        let count = |stream| {
            let is_of = |sample: &Sample| sample.api == api.as_str() && sample.stream == stream;
            samples.iter().filter(|(sample, _)| is_of(sample)).count()
        };
        // Completions share all but the request with chat; llama.cpp's stream is a transcript.
        let transcribed = matches!(api, Api::OpenAiCompletions | Api::LlamaCppCompletion);
        assert!(
            count(true) + count(false) >= 2 || transcribed,
            "{}",
            api.as_str()
        );
    }
}

#[test]
fn an_answer_is_read_as_the_configuration_describes_it() {
    let path = |path: &str| Some(path.to_owned());
    let paths = Paths {
        answer: vec!["outputs[].says".to_owned()],
        finish: path("outputs[].why"),
        prompt_tokens: path("cost.in"),
        cached_tokens: path("cost.hit"),
        completion_tokens: path("cost.out"),
    };
    let describe = |paths: &Paths, in_documents| {
        let body = serde_json::json!({"in": "{prompt}"});
        let template = Template::new("p".to_owned(), body, paths.clone(), None, in_documents);
        Api::Template(Arc::new(template.unwrap()))
    };
    let read = |api: Api, stream, content_type: &'static str, body: &str| {
        let given = Given {
            content_type,
            asked: Asked { api, stream },
            ..Given::default()
        };
        given.read([body.as_bytes()])
    };
    let plain = r#"{"outputs":[{"says":"one","why":"done"},{"says":"two"}],"cost":{"in":9,"hit":4,"out":2}}"#;
    let answer = read(describe(&paths, false), false, "application/json", plain);
    assert_eq!(answer.outcome, Outcome::Answered);
    assert_eq!(answer.finish_reason.as_deref(), Some("done"));
    let usage = answer.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (9, 2));
    assert_eq!(usage.cached_tokens, Some(4));
    assert_eq!(answer.text("outputs[1].says"), "two");

    let lines = r#"{"outputs":[{"says":"o"}]}{"outputs":[{"says":"ne","why":"done"}]}"#;
    let answer = read(describe(&paths, true), true, "application/x-ndjson", lines);
    assert_eq!(answer.outcome, Outcome::Answered);
    assert_eq!(answer.text("outputs[0].says"), "one");
    let cut = r#"{"outputs":[{"says":"o"}]}"#;
    let answer = read(describe(&paths, true), true, "application/x-ndjson", cut);
    assert_eq!(answer.outcome, Outcome::CutOff(CutOff::NoEnd));

    // Without a finish only the end itself tells.
    let endless = Paths {
        finish: None,
        ..paths
    };
    let answer = read(describe(&endless, false), false, "application/json", plain);
    assert_eq!(answer.outcome, Outcome::Answered);
    let events = format!("data: {cut}\n\n");
    let answer = read(
        describe(&endless, false),
        true,
        "text/event-stream",
        &events,
    );
    assert_eq!(answer.outcome, Outcome::CutOff(CutOff::NoEnd));
    let answer = read(
        describe(&endless, false),
        true,
        "text/event-stream",
        &format!("{events}{DONE}"),
    );
    assert_eq!(answer.outcome, Outcome::Answered);
}

/// Every word of a body that begins with `MARK` is seen somewhere else than in the raw body.
#[test]
fn every_text_of_an_answer_is_read_whatever_its_field() {
    for (sample, body) in samples() {
        let read = sample.read(&body, 100, &sample.content_type);
        let body = String::from_utf8(body).unwrap();
        for (at, _) in body.match_indices("MARK") {
            let word: String = body[at..]
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            let seen = read.texts.iter().any(|(place, text)| {
                place != "RawBody" && String::from_utf8_lossy(text).contains(&word)
            });
            assert!(seen, "{}: {word}", sample.file);
        }
    }
}

#[test]
fn a_stream_is_a_stream_whatever_its_content_type_says_and_a_plain_answer_plain() {
    for (sample, body) in samples() {
        for content_type in ["application/json", "text/event-stream", "text/plain", ""] {
            let read = sample.read(&body, 50, content_type);
            assert_eq!(
                read.outcome,
                Outcome::Answered,
                "{} as {content_type}",
                sample.file
            );
        }
        let asked_otherwise = Sample {
            stream: !sample.stream,
            ..sample
        };
        let read = asked_otherwise.read(&body, 50, &asked_otherwise.content_type);
        assert_eq!(read.outcome, Outcome::Answered, "{}", asked_otherwise.file);
    }
}

#[test]
fn an_answer_that_stops_anywhere_is_never_answered_unless_it_had_said_its_end() {
    for (sample, body) in samples() {
        let whole = sample.read(&body, usize::MAX, &sample.content_type);
        for end in 0..body.len() {
            let read = sample.read(&body[..end], usize::MAX, &sample.content_type);
            if read.outcome == Outcome::Answered {
                let is_told = read.finish_reason == whole.finish_reason;
                assert!(is_told, "{} up to {end}", sample.file);
            }
        }
    }
}
