//! Answers made after the specifications and sources of the APIs (`tests/data/samples/`, each with its
//! origin): what of them must be surfaced, and what they say of themselves.

use super::*;
use serde_json::Value;
use std::path::Path;

#[test]
fn what_a_sample_holds_is_surfaced_and_what_it_says_is_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/samples");
    let index = std::fs::read_to_string(folder.join("index.json")).unwrap();
    let samples: Vec<Value> = serde_json::from_str(&index).unwrap();
    let mut wrong = Vec::new();
    for sample in &samples {
        let text = |name: &str| sample[name].as_str().unwrap_or_default();
        let body = std::fs::read(folder.join(text("file"))).unwrap();
        let api = Api::ALL.into_iter().find(|api| api.as_str() == text("api"));
        let given = Given {
            status: sample["status"].as_u64().unwrap_or(200) as u16,
            content_type: text("content_type"),
            asked: Asked {
                api: api.unwrap(),
                stream: sample["streaming"] == true,
            },
            ..Given::default()
        };
        let read = given.read(body.chunks(97));
        let mut say = |what: String| wrong.push(format!("{}: {what}", text("file")));
        for marker in sample["markers"].as_array().into_iter().flatten() {
            let marker = marker.as_str().unwrap();
            let seen = read.texts.iter().any(|(place, text)| {
                place != "RawBody" && String::from_utf8_lossy(text).contains(marker)
            });
            if !seen {
                say(format!("{marker} was not surfaced"));
            }
        }
        let expected = &sample["expected"];
        for (name, told) in [
            ("prompt_tokens", read.usage.map(|usage| usage.prompt_tokens)),
            (
                "cached_tokens",
                read.usage.and_then(|usage| usage.cached_tokens),
            ),
            (
                "reasoning_tokens",
                read.usage.and_then(|usage| usage.reasoning_tokens),
            ),
        ] {
            if let Some(tokens) = expected[name].as_u64()
                && told != Some(tokens)
            {
                say(format!("{name}: {told:?} instead of {tokens}"));
            }
        }
        let is_answer = expected.get("error").is_none()
            && expected["ended"] == true
            && expected["answer"] != Value::Array(Vec::new());
        let answered = matches!(
            read.outcome,
            Outcome::Answered | Outcome::Declined | Outcome::ContentFiltered | Outcome::Truncated
        );
        if is_answer != answered {
            say(format!("{:?}", read.outcome));
        }
        if answered && let Some(finish) = expected["finish"].as_str() {
            // Of several choices, any one's.
            let all = expected["finish_all"].as_array().into_iter().flatten();
            let mut fitting = all.chain([&expected["finish"], &expected["finish_detail"]]);
            let told = read.finish_reason.as_deref();
            if told.is_none() || !fitting.any(|one| one.as_str() == told) {
                say(format!("finish {told:?} instead of {finish}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(samples.len() >= 40);
}
