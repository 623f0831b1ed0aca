//! Each shape beside what was recorded of the server that it is like: the same keys of the same types, the
//! same sequence of events, the same wording up to the numbers.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use simulator::{Config, Shape};
use support::recorded::{blanked, covers, events, is_like, recorded, recorded_json, sequence};
use support::shaped::{
    CHAT, DOCUMENT, chat, config, get, get_json, of, post, running, slow, until,
};
use support::{Endpoint, receive_raw, send, start};

/// A refusal is word for word the recorded one, up to the numbers.
async fn refuses_like(endpoint: &Endpoint, body: &str, name: &str) -> Value {
    let (status, refusal) = post(endpoint, CHAT, body).await;
    let (expected, text) = recorded(name);
    let text: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, blanked(&refusal)), (expected, blanked(&text)));
    assert_eq!(refusal["error"]["code"], text["error"]["code"]);
    refusal
}

async fn streams_like(endpoint: &Endpoint, more: Value, name: &str) {
    let body = chat(DOCUMENT, &more);
    let (status, text) = send(endpoint.address, "POST", CHAT, None, &body).await;
    assert_eq!(status, 200, "{text}");
    let (simulated, recorded) = (events(&text), events(&recorded(name).1));
    assert_eq!(sequence(&simulated), sequence(&recorded));
    is_like(&simulated.into(), &recorded.into());
}

/// Lengths over the window and over the window with the answer.
fn long() -> [String; 2] {
    [5_000, 4_070].map(|words| "a ".repeat(words))
}

#[tokio::test]
async fn vllm_answers_as_recorded() {
    let endpoint = of(Shape::Vllm).await;
    let (_, whole) = post(&endpoint, CHAT, &chat(DOCUMENT, &json!({}))).await;
    is_like(
        &whole,
        &recorded_json("vllm-0.32.0-cpu__chat_nonstream_cold.resp"),
    );
    let usage = json!({ "stream": true, "stream_options": { "include_usage": true } });
    streams_like(&endpoint, usage, "vllm-0.32.0-cpu__chat_stream_usage.resp").await;
    for (path, name) in [("/v1/models", "models"), ("/version", "version")] {
        let name = format!("vllm-0.32.0-cpu__{name}.resp");
        let simulated = get_json(&endpoint, path).await;
        covers(&simulated, &recorded_json(&name), &[]);
    }
    let models = get_json(&endpoint, "/v1/models").await;
    assert_eq!(models["data"][0]["max_model_len"], 4_096);
    assert_eq!(models["data"][1]["parent"], "tiny");
    for (body, name) in [
        (
            json!({ "prompt": "The access code", "return_token_strs": true }),
            "tokenize",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": "hello" }] }),
            "tokenize_chat",
        ),
    ] {
        let name = format!("vllm-0.32.0-cpu__{name}.resp");
        let (_, tokens) = post(&endpoint, "/tokenize", &body.to_string()).await;
        is_like(&tokens, &recorded_json(&name));
        assert_eq!(tokens["count"], tokens["tokens"].as_array().unwrap().len());
    }
    assert_eq!(get(&endpoint, "/health").await, (200, String::new()));
}

#[tokio::test]
async fn vllm_refuses_as_recorded() {
    let endpoint = of(Shape::Vllm).await;
    let none = json!({});
    let name = |name: &str| format!("vllm-0.32.0-cpu__{name}.resp");
    let over = &refuses_like(
        &endpoint,
        &chat(&long()[0], &none),
        &name("err_overlong_chat"),
    )
    .await;
    // A bound, not the length.
    assert!(
        over["error"]["message"]
            .as_str()
            .unwrap()
            .contains("at least 4097 input tokens")
    );
    let too_much = chat("x", &json!({ "max_tokens": 100_000 }));
    refuses_like(&endpoint, &too_much, &name("err_max_tokens_too_big")).await;
    let unknown = chat("x", &json!({ "model": "nope" }));
    // The recorded server had no adapter.
    let bare = start(Config {
        adapters: Vec::new(),
        ..config(Shape::Vllm)
    })
    .await;
    refuses_like(&bare, &unknown, &name("err_unknown_model")).await;
    let empty = chat("x", &json!({ "messages": [] }));
    refuses_like(&endpoint, &empty, &name("err_empty_messages")).await;
    let (status, total) = post(&endpoint, CHAT, &chat(&long()[1], &none)).await;
    let message = total["error"]["message"].as_str().unwrap();
    assert_eq!(status, 400);
    assert!(
        message.contains("you requested 64 output tokens and your prompt contains at least 4033")
    );
}

#[tokio::test]
async fn llamacpp_answers_as_recorded() {
    let endpoint = of(Shape::LlamaCpp).await;
    let (_, whole) = post(&endpoint, CHAT, &chat(DOCUMENT, &json!({}))).await;
    is_like(
        &whole,
        &recorded_json("llama-server-571d0d5__chat_nonstream_cold.resp"),
    );
    let usage = json!({ "stream": true, "stream_options": { "include_usage": true } });
    streams_like(
        &endpoint,
        usage,
        "llama-server-571d0d5__chat_stream_usage.resp",
    )
    .await;
    let plain = json!({ "stream": true });
    streams_like(
        &endpoint,
        plain,
        "llama-server-571d0d5__chat_stream_nousage.resp",
    )
    .await;
    for (path, unclaimed) in [
        ("/health", &[][..]),
        ("/v1/models", &[]),
        // Samplers it has none of, and what a template or a picture would need.
        (
            "/props",
            &[
                ".default_generation_settings.params.",
                ".media_marker",
                ".chat_template_caps",
            ],
        ),
        // Of an idle slot the recorded server still shows the last request.
        ("/slots", &["[].params."]),
    ] {
        let name = path.trim_start_matches("/v1").trim_start_matches('/');
        let name = format!("llama-server-571d0d5__{name}.resp");
        let slow = slow(Shape::LlamaCpp).await;
        let _under_way = support::open(
            slow.address,
            "POST",
            CHAT,
            None,
            &chat(DOCUMENT, &json!({})),
        )
        .await;
        until(async || running(&slow).await == 1).await;
        let simulated = get_json(&slow, path).await;
        covers(&simulated, &recorded_json(&name), unclaimed);
    }
    let pieces = json!({ "content": "The access code", "with_pieces": true }).to_string();
    let (_, tokens) = post(&endpoint, "/tokenize", &pieces).await;
    is_like(
        &tokens,
        &recorded_json("llama-server-571d0d5__tokenize.resp"),
    );
    let plain = json!({ "content": "The access code" }).to_string();
    let (_, tokens) = post(&endpoint, "/tokenize", &plain).await;
    assert!(tokens["tokens"][0].is_number());
    // Any name is taken, as recorded.
    let (status, object) = post(
        &endpoint,
        CHAT,
        &chat(DOCUMENT, &json!({ "model": "nope" })),
    )
    .await;
    assert_eq!((status, &object["model"]), (200, &"tiny".into()));
}

#[tokio::test]
async fn llamacpp_refuses_as_recorded_and_cuts_where_the_context_ends() {
    let endpoint = of(Shape::LlamaCpp).await;
    for (stream, name) in [(false, "err_overlong_chat"), (true, "err_overlong_stream")] {
        let name = format!("llama-server-571d0d5__{name}.resp");
        let body = chat(&long()[0], &json!({ "stream": stream }));
        let refusal = refuses_like(&endpoint, &body, &name).await;
        assert_eq!(refusal["error"]["n_ctx"], 4_096);
        assert!(refusal["error"]["n_prompt_tokens"].as_u64().unwrap() > 5_000);
    }
    let (status, object) = post(&endpoint, CHAT, &chat(&long()[1], &json!({}))).await;
    assert_eq!(status, 200);
    assert_eq!(object["choices"][0]["finish_reason"], "length");
    assert_eq!(object["usage"]["total_tokens"], 4_096);
    let (status, body) = get(&endpoint, "/nope").await;
    assert_eq!((status, body.parse::<Value>().unwrap()), {
        let (status, body) = recorded("llama-server-571d0d5__err_404.resp");
        (status, body.parse().unwrap())
    });
}

#[tokio::test]
async fn llamacpp_sends_the_role_with_the_first_token_and_the_end_with_the_usage() {
    let endpoint = of(Shape::LlamaCpp).await;
    let usage = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let body = chat(DOCUMENT, &usage);
    let connection = support::open(endpoint.address, "POST", CHAT, None, &body).await;
    let (head, body) = receive_raw(connection).await;
    assert!(head.contains("server: llama.cpp"), "{head}");
    let chunks: Vec<&str> = body
        .split("\r\n")
        .filter(|part| part.contains("data: "))
        .collect();
    let in_chunk = |chunk: &str| chunk.matches("data: ").count();
    assert_eq!(in_chunk(chunks[0]), 2);
    assert_eq!(in_chunk(chunks[chunks.len() - 2]), 2);
    assert_eq!(chunks[chunks.len() - 1].trim(), "data: [DONE]");
}

#[tokio::test]
async fn openai_has_its_error_object_and_nothing_of_the_server() {
    let endpoint = of(Shape::OpenAi).await;
    for words in long() {
        let (status, refusal) = post(&endpoint, CHAT, &chat(&words, &json!({}))).await;
        let error = &refusal["error"];
        assert_eq!(status, 400);
        assert_eq!(
            (&error["type"], &error["param"], &error["code"]),
            (
                &"invalid_request_error".into(),
                &"messages".into(),
                &"context_length_exceeded".into()
            )
        );
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with("This model's maximum context length is 4096 tokens. However, ")
        );
    }
    for path in ["/metrics", "/health", "/version", "/tokenize"] {
        let (status, body) = get(&endpoint, path).await;
        assert_eq!(status, 404);
        assert!(
            body.contains(&format!("Invalid URL (GET {path})")),
            "{body}"
        );
    }
    let connection = support::open(
        endpoint.address,
        "POST",
        CHAT,
        None,
        &chat(DOCUMENT, &json!({})),
    )
    .await;
    let (head, body) = receive_raw(connection).await;
    assert!(head.contains("x-request-id: req_"), "{head}");
    let object: Value = serde_json::from_str(&body).unwrap();
    assert!(
        object["system_fingerprint"]
            .as_str()
            .unwrap()
            .starts_with("fp_")
    );
    assert_eq!(
        object["usage"]["completion_tokens_details"]["reasoning_tokens"],
        0
    );
}

#[tokio::test]
async fn openai_streams_usage_as_null_until_the_last_chunk() {
    let endpoint = of(Shape::OpenAi).await;
    let usage = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let (_, text) = send(
        endpoint.address,
        "POST",
        CHAT,
        None,
        &chat(DOCUMENT, &usage),
    )
    .await;
    let mut events = events(&text);
    let last = events.pop().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert!(last["usage"]["total_tokens"].as_u64().unwrap() > 40);
    assert!(
        events
            .iter()
            .all(|event| event.get("usage") == Some(&Value::Null))
    );
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
}

#[tokio::test]
async fn sglang_says_its_capacity() {
    let endpoint = start(Config {
        prefill_tokens: 2_048,
        ..config(Shape::Sglang)
    })
    .await;
    for path in ["/server_info", "/get_server_info"] {
        let info = get_json(&endpoint, path).await;
        assert_eq!(info["max_total_num_tokens"], 2_048);
        assert_eq!(info["max_req_input_len"], 2_048);
        assert_eq!(info["context_length"], 4_096);
        assert_eq!(info["page_size"], 64);
    }
    assert_eq!(
        get_json(&endpoint, "/get_model_info").await["model_path"],
        "tiny"
    );
    let (_, refusal) = post(&endpoint, CHAT, &chat(&"a ".repeat(3_000), &json!({}))).await;
    assert!(
        refusal["message"]
            .as_str()
            .unwrap()
            .contains("maximum allowed length (2048 tokens)")
    );
}

#[tokio::test]
async fn an_adapter_answers_under_its_name_and_thinking_is_asked_for_in_every_shape() {
    for shape in Shape::ALL {
        let endpoint = of(shape).await;
        let asked = json!({ "model": "tuned", "thinking_token_budget": 2 });
        let (_, object) = post(&endpoint, CHAT, &chat(DOCUMENT, &asked)).await;
        assert_eq!(object["model"], "tuned", "{shape}");
        let text = object["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(
            text.starts_with("<think>\nI look</think>\n\nThe access code"),
            "{shape}: {text}"
        );
        let details = &object["usage"]["completion_tokens_details"]["reasoning_tokens"];
        assert!(shape != Shape::OpenAi || *details == 11, "{details}");
        let models = get_json(&endpoint, "/v1/models").await;
        assert!(models.to_string().contains("\"tuned\""), "{shape}");
    }
}
