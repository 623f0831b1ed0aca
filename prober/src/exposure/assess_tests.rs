#![allow(clippy::unwrap_used)]

use super::super::incident::founding;
use super::super::json::Wanted;
use super::super::mapping::Mapping;
use super::super::row::Cell;
use super::*;
use serde_json::{Value, json};

fn question() -> Question {
    Question {
        incident: founding(),
        provider: None,
    }
}

/// The answer for a record of the generic mapping, and what was noted.
fn ask(record: &Value, question: &Question) -> (Result<String, What>, Vec<What>) {
    let built_in = Mapping::built_in().unwrap();
    let mapping = built_in
        .iter()
        .find(|mapping| mapping.name == "generic")
        .unwrap();
    let (slots, roles) = mapping.roles();
    let mut cells = vec![Cell::default(); slots.paths().len()];
    let line = record.to_string();
    Wanted::new(slots.paths())
        .read(line.as_bytes(), &mut cells)
        .unwrap();
    let row = Row {
        bytes: line.as_bytes(),
        cells: &cells,
    };
    let reading = Reading {
        roles: &roles,
        zone: mapping.zone,
    };
    let mut notes = Vec::new();
    let answer = assess(&row, reading, question, &mut |_| {}, &mut |what| {
        notes.push(what)
    });
    let answer = answer.map(|answer| match answer {
        Answer::Exposed(_) => "exposed".to_owned(),
        Answer::Possible(doubt, _) => doubt.as_str().to_owned(),
        Answer::Clear(why) => format!("{why:?}"),
    });
    (answer, notes)
}

/// A record of the incident, with other fields.
fn record(other: Value) -> Value {
    let mut record = json!({
        "time": "2026-08-24T12:00:00Z", "model": "@cf/zai-org/glm-5.3", "input_tokens": 1_000, "key": "k",
    });
    for (name, value) in other.as_object().unwrap() {
        record[name] = value.clone();
    }
    record
}

#[test]
fn a_record_is_exposed_if_model_provider_and_period_are_those_of_the_incident() {
    for (other, answer) in [
        (json!({}), "exposed"),
        (
            json!({ "model": "glm-5.3", "provider": "cloudflare" }),
            "exposed",
        ),
        (
            json!({ "model": "glm-5.3", "provider": "openai", "api_base": "https://api.cloudflare.com/client/v4/x" }),
            "exposed",
        ),
        (
            json!({ "model": null, "path": "/client/v4/accounts/1/ai/run/%40cf/zai-org/glm-5.3?x=1" }),
            "exposed",
        ),
        (json!({ "model": "glm-5.3" }), "provider_not_told"),
        (
            json!({ "model": "glm-5.3", "provider": "openrouter" }),
            "provider_not_told",
        ),
        (
            json!({ "model": "glm-5.3", "host": "gateway.example" }),
            "provider_not_told",
        ),
        (
            json!({ "model": "@cf/zai-org/glm-5.3-flash" }),
            "similar_model",
        ),
        (
            json!({ "model": null, "path": "/v1/chat/completions" }),
            "model_not_told",
        ),
        (json!({ "model": null, "path": "/healthz" }), "Model"),
        (json!({ "model": "gpt-4.1" }), "Model"),
        (
            json!({ "model": "glm-5.3", "provider": "z.ai" }),
            "Provider",
        ),
        (json!({ "time": "2026-07-01T00:00:00Z" }), "Time"),
        (
            json!({ "time": "2026-10-01T00:00:00Z", "model": null }),
            "Time",
        ),
    ] {
        let record = record(other);
        assert_eq!(
            ask(&record, &question()).0,
            Ok(answer.to_owned()),
            "{record}"
        );
    }
}

#[test]
fn a_field_that_is_needed_and_missing_or_wrong_is_told_and_one_that_is_not_needed_is_not() {
    for (other, what) in [
        (json!({ "time": null }), What::Missing(Role::Time)),
        (json!({ "time": "soon" }), What::Wrong(Role::Time)),
        (json!({ "time": ["2026"] }), What::Wrong(Role::Time)),
        (
            json!({ "time": "2026-08-24T12:00:00" }),
            What::NoZone(Role::Time),
        ),
        (json!({ "model": "" }), What::Missing(Role::Model)),
        (json!({ "provider": {} }), What::Wrong(Role::Provider)),
        (json!({ "requests": "many" }), What::Wrong(Role::Requests)),
    ] {
        let record = record(other);
        assert_eq!(ask(&record, &question()).0, Err(what), "{record}");
    }
    // Whatever the time was: it is another model.
    let other = record(json!({ "time": null, "model": "gpt-4.1" }));
    assert_eq!(ask(&other, &question()).0, Ok("Model".to_owned()));
}

#[test]
fn a_length_that_is_missing_or_wrong_is_noted_and_the_record_counts_nevertheless() {
    for (other, noted) in [
        (
            json!({ "input_tokens": null }),
            vec![What::Missing(Role::InputTokens)],
        ),
        (json!({ "input_tokens": null, "request_length": 9 }), vec![]),
        (
            json!({ "input_tokens": -1 }),
            vec![
                What::Wrong(Role::InputTokens),
                What::Missing(Role::InputTokens),
            ],
        ),
        (json!({ "key": [] }), vec![What::Wrong(Role::Key)]),
    ] {
        let (answer, notes) = ask(&record(other), &question());
        assert_eq!((answer, &notes), (Ok("exposed".to_owned()), &noted));
        assert!(notes.iter().all(|what| what.is_note()));
    }
}

#[test]
fn the_provider_of_a_log_that_tells_none_can_be_named() {
    let silent = record(json!({ "model": "glm-5.3" }));
    let other = record(json!({ "model": "glm-5.3", "provider": "z.ai" }));
    let named = |name: &str| Question {
        provider: Some(name.to_owned()),
        ..question()
    };
    assert_eq!(
        ask(&silent, &named("workers-ai")).0,
        Ok("exposed".to_owned())
    );
    assert_eq!(ask(&silent, &named("z.ai")).0, Ok("Provider".to_owned()));
    assert_eq!(
        ask(&other, &named("workers-ai")).0,
        Ok("Provider".to_owned())
    );
}
