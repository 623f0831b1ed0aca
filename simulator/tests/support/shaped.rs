//! Endpoints of a shape, and what is asked of them.

use super::{Endpoint, send, start};
use serde_json::{Value, json};
use simulator::{Config, Shape, Speeds};

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const DOCUMENT: &str =
    "Section 1\n\nCode 0K7Q2-M9XVR-T4HBN-C8WJD-E5GFPS.\n\nWhat is the access code of section 1?";

pub(crate) fn config(shape: Shape) -> Config {
    Config {
        shape,
        model: "tiny".to_owned(),
        adapters: vec!["tuned".to_owned()],
        context_tokens: 4_096,
        prefill_tokens: 4_096,
        ..Config::default()
    }
}

pub(crate) async fn of(shape: Shape) -> Endpoint {
    start(config(shape)).await
}

pub(crate) fn chat(content: &str, more: &Value) -> String {
    let mut body = json!({ "model": "tiny", "messages": [{ "role": "user", "content": content }], "max_tokens": 64 });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    body.to_string()
}

pub(crate) async fn post(endpoint: &Endpoint, path: &str, body: &str) -> (u16, Value) {
    let (status, body) = send(endpoint.address, "POST", path, None, body).await;
    (status, serde_json::from_str(&body).unwrap())
}

pub(crate) async fn get(endpoint: &Endpoint, path: &str) -> (u16, String) {
    send(endpoint.address, "GET", path, None, "").await
}

pub(crate) async fn get_json(endpoint: &Endpoint, path: &str) -> Value {
    let (status, body) = get(endpoint, path).await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// An endpoint that takes its time to decode.
pub(crate) async fn slow(shape: Shape) -> Endpoint {
    let speeds = Speeds {
        decode: Some(2.0),
        ..Speeds::default()
    };
    start(Config {
        speeds,
        ..config(shape)
    })
    .await
}

pub(crate) async fn until(condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::task::yield_now().await;
        }
    };
    let limit = std::time::Duration::from_secs(30);
    assert!(
        tokio::time::timeout(limit, waiting).await.is_ok(),
        "it never came"
    );
}

/// A metric's samples, added up.
pub(crate) fn sum(page: &str, name: &str) -> f64 {
    let samples = page.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    });
    let values: Vec<f64> = samples
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(!values.is_empty(), "{name} is missing");
    values.iter().sum()
}

/// Requests that llama.cpp's page says are under way.
pub(crate) async fn running(endpoint: &Endpoint) -> u64 {
    let (_, page) = get(endpoint, "/metrics").await;
    sum(&page, "llamacpp:requests_processing") as u64
}
