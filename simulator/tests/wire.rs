//! The simulator over a real socket, spoken to in raw HTTP/1.1.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;

use serde_json::{Value, json};
use simulator::Config;
use support::{Endpoint, send, start};

fn small() -> Config {
    Config {
        model: "m".to_owned(),
        context_tokens: 4_096,
        prefill_tokens: 2_048,
        keys: vec![("acme".to_owned(), "sk-acme".to_owned()).into()],
        ..Config::default()
    }
}

async fn chat(endpoint: &Endpoint, body: Value) -> (u16, Value) {
    let (status, body) = send(
        endpoint.address,
        "POST",
        "/v1/chat/completions",
        Some("sk-acme"),
        &body.to_string(),
    )
    .await;
    (status, serde_json::from_str(&body).unwrap())
}

fn ask(content: &str) -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": content }], "max_tokens": 64 })
}

const DOCUMENT: &str =
    "Section 1\n\nCode 0K7Q2-M9XVR-T4HBN-C8WJD-E5GFPS.\n\nWhat is the access code of section 1?";
const ANSWER: &str = "The access code of section 1 is 0K7Q2-M9XVR-T4HBN-C8WJD-E5GFPS.";

#[tokio::test]
async fn a_chat_completion_has_the_answer_and_exact_usage() {
    let endpoint = start(small()).await;
    let (status, object) = chat(&endpoint, ask(DOCUMENT)).await;
    assert_eq!(status, 200);
    assert_eq!(object["choices"][0]["message"]["content"], ANSWER);
    assert_eq!(
        (&object["choices"][0]["finish_reason"], &object["object"]),
        (&"stop".into(), &"chat.completion".into())
    );
    let prompt = format!("<|user|>\n{DOCUMENT}\n<|assistant|>\n");
    let count = async |text: String| {
        let body = json!({ "prompt": text }).to_string();
        let (_, body) = send(
            endpoint.address,
            "POST",
            "/tokenize",
            Some("sk-acme"),
            &body,
        )
        .await;
        serde_json::from_str::<Value>(&body).unwrap()["count"]
            .as_u64()
            .unwrap()
    };
    let (prompt, answer) = (count(prompt).await, count(ANSWER.to_owned()).await);
    assert_eq!(
        object["usage"],
        json!({ "prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer,
                "prompt_tokens_details": { "cached_tokens": 0 } })
    );
}

#[tokio::test]
async fn content_may_come_in_parts_and_the_answer_is_cut_at_its_limit() {
    let endpoint = start(small()).await;
    let (first, second) = DOCUMENT.split_at(20);
    let parts = json!([{ "type": "text", "text": first }, { "type": "text", "text": second }]);
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": parts }], "max_completion_tokens": 4 });
    let (_, object) = chat(&endpoint, body).await;
    assert_eq!(
        object["choices"][0]["message"]["content"],
        "The access code of"
    );
    assert_eq!(object["choices"][0]["finish_reason"], "length");
}

#[tokio::test]
async fn a_stream_gives_the_same_answer_in_deltas_with_usage_and_an_end() {
    let endpoint = start(small()).await;
    let mut body = ask(DOCUMENT);
    body["stream"] = true.into();
    body["stream_options"] = json!({ "include_usage": true });
    let (status, text) = send(
        endpoint.address,
        "POST",
        "/v1/chat/completions",
        Some("sk-acme"),
        &body.to_string(),
    )
    .await;
    assert_eq!(status, 200);
    let events: Vec<&str> = text
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .collect();
    assert_eq!(events.last(), Some(&"[DONE]"));
    let objects: Vec<Value> = events[..events.len() - 1]
        .iter()
        .map(|event| serde_json::from_str(event).unwrap())
        .collect();
    let answer: String = objects
        .iter()
        .filter_map(|object| object["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(answer, ANSWER);
    assert_eq!(objects[0]["choices"][0]["delta"]["role"], "assistant");
    let last = objects.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert!(last["usage"]["prompt_tokens"].as_u64().unwrap() > 40);
    assert_eq!(
        objects[objects.len() - 2]["choices"][0]["finish_reason"],
        "stop"
    );
}

#[tokio::test]
async fn errors_have_sglangs_shape() {
    let endpoint = start(small()).await;
    let message = |object: &Value| object["message"].as_str().unwrap().to_owned();
    for (words, part) in [
        (
            5_000,
            "is longer than the model's context length (4096 tokens).",
        ),
        (
            4_070,
            "Requested token count exceeds the model's maximum context length of 4096 tokens.",
        ),
        (3_000, "exceeds the maximum allowed length (2048 tokens)."),
    ] {
        let (status, object) = chat(&endpoint, ask(&"a ".repeat(words))).await;
        assert_eq!(
            (status, &object["object"], &object["code"]),
            (400, &"error".into(), &400.into())
        );
        assert_eq!(object["type"], "BadRequestError");
        assert!(message(&object).contains(part), "{object}");
    }
    let mut unknown = ask("x");
    unknown["model"] = "other".into();
    assert_eq!(chat(&endpoint, unknown).await.0, 404);
    let (status, _) = send(
        endpoint.address,
        "POST",
        "/v1/chat/completions",
        Some("sk-acme"),
        "{\"model\": ",
    )
    .await;
    assert_eq!(status, 400);
    let (status, body) = send(endpoint.address, "GET", "/v2/models", None, "").await;
    assert_eq!((status, body.contains("\"object\":\"error\"")), (404, true));
    assert_eq!(
        chat(&endpoint, json!({ "model": "m", "messages": [] }))
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn a_missing_or_wrong_key_is_refused_and_not_repeated() {
    let endpoint = start(small()).await;
    for key in [None, Some("sk-wrong"), Some("")] {
        let (status, body) = send(
            endpoint.address,
            "POST",
            "/v1/chat/completions",
            key,
            &ask("x").to_string(),
        )
        .await;
        assert_eq!(status, 401);
        assert!(!body.contains("sk-"), "{body}");
    }
    let (status, body) = send(endpoint.address, "GET", "/v1/models", Some("sk-acme"), "").await;
    assert_eq!(status, 200);
    let object: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(object["data"][0]["max_model_len"], 4_096);
}

#[tokio::test]
async fn a_million_tokens_are_read_and_answered() {
    let endpoint = start(Config {
        model: "m".to_owned(),
        ..Config::default()
    })
    .await;
    let document = format!("{}\n\n{DOCUMENT}", "word ".repeat(1_000_000));
    let begun = std::time::Instant::now();
    let (status, object) = chat(&endpoint, ask(&document)).await;
    // For the reader of the output; timings on a shared machine are no test.
    println!("a million tokens took {:?}", begun.elapsed());
    assert_eq!(status, 200);
    assert_eq!(object["choices"][0]["message"]["content"], ANSWER);
    assert!(object["usage"]["prompt_tokens"].as_u64().unwrap() > 1_000_000);
    let (free, all) = endpoint.gauges.decode_pages();
    assert_eq!(free, all);
}
