//! `POST /v1/chat/completions`, as one JSON object or as server-sent events.

use super::errors::ApiError;
use super::record::Record;
use super::request::ChatRequest;
use super::tenant;
use crate::engine::{Engine, Generation};
use crate::token::{Token, text_of, tokenize};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

static REQUESTS: AtomicU64 = AtomicU64::new(0);

pub(super) async fn completions(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let tenant = tenant(&engine, &headers)?.to_owned();
    let (request, prompt) = read(body).await?;
    if request.model != engine.config.model {
        return Err(ApiError::model_unknown(&request.model));
    }
    if !request.has_messages() {
        return Err(ApiError::bad_request("`messages` must not be empty"));
    }
    let mut record = Record::new(tenant.clone(), prompt.len());
    let most = request.most(engine.config.max_completion_default);
    let generation = engine
        .serve(&tenant, request.salt(), prompt, most)
        .await
        .inspect_err(|&refusal| record.refused(refusal))?;
    let head = Head::new(&engine);
    if request.streams() {
        let wants_usage = request.wants_usage();
        Ok(streamed(head, generation, record, wants_usage))
    } else {
        Ok(whole(&head, generation, record).await)
    }
}

/// Parses and tokenises on a thread of its own: a million tokens take a while.
async fn read(body: Bytes) -> Result<(ChatRequest, Vec<Token>), ApiError> {
    let parsed = tokio::task::spawn_blocking(move || {
        let request: ChatRequest =
            serde_json::from_slice(&body).map_err(|error| ApiError::bad_json(&error))?;
        let tokens = tokenize(&request.prompt());
        Ok((request, tokens))
    });
    parsed
        .await
        .unwrap_or_else(|_| Err(crate::engine::Refusal::Internal.into()))
}

/// What all objects of one response share.
struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    fn new(engine: &Engine) -> Self {
        let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            id: format!("chatcmpl-{number:016x}"),
            created: now.as_secs(),
            model: engine.config.model.clone(),
        }
    }

    fn object(&self, kind: &str, choices: Value, usage: Option<Value>) -> Value {
        let mut object = json!({
            "id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices,
        });
        if let Some(usage) = usage {
            object["usage"] = usage;
        }
        object
    }

    fn chunk(&self, delta: Value, finish: Option<&str>) -> Value {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        self.object("chat.completion.chunk", json!([choice]), None)
    }
}

fn usage(generation: &Generation) -> Value {
    let (prompt, completion) = (generation.prompt_tokens(), generation.given_tokens());
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": generation.cached_tokens() },
    })
}

async fn whole(head: &Head, mut generation: Generation, mut record: Record) -> Response {
    let mut answer = Vec::new();
    while let Some(token) = generation.next().await {
        answer.push(token);
        record.progressed(&generation);
    }
    record.finished(&generation);
    let message = json!({ "role": "assistant", "content": text_of(&answer) });
    let finish = generation.finish().as_str();
    let choice =
        json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": finish });
    Json(head.object("chat.completion", json!([choice]), Some(usage(&generation)))).into_response()
}

/// A stream under way: events that are ready, then the generation that makes more.
struct Streaming {
    head: Head,
    ready: VecDeque<String>,
    generation: Option<Generation>,
    record: Record,
    wants_usage: bool,
}

fn streamed(head: Head, generation: Generation, record: Record, wants_usage: bool) -> Response {
    let first = head.chunk(json!({ "role": "assistant", "content": "" }), None);
    let streaming = Streaming {
        ready: VecDeque::from([event(&first)]),
        head,
        generation: Some(generation),
        record,
        wants_usage,
    };
    let events = stream::unfold(streaming, |mut streaming| async move {
        let event = streaming.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(event)), streaming))
    });
    (
        [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
        ],
        Body::from_stream(events),
    )
        .into_response()
}

impl Streaming {
    async fn next(&mut self) -> Option<String> {
        if let Some(event) = self.ready.pop_front() {
            return Some(event);
        }
        let generation = self.generation.as_mut()?;
        if let Some(token) = generation.next().await {
            self.record.progressed(generation);
            return Some(event(
                &self
                    .head
                    .chunk(json!({ "content": text_of(&[token]) }), None),
            ));
        }
        self.record.finished(generation);
        let last = self
            .head
            .chunk(json!({}), Some(generation.finish().as_str()));
        if self.wants_usage {
            let usage =
                self.head
                    .object("chat.completion.chunk", json!([]), Some(usage(generation)));
            self.ready.push_back(event(&usage));
        }
        self.ready.push_back("data: [DONE]\n\n".to_owned());
        // The answer is complete: its pages can go to others.
        self.generation = None;
        Some(event(&last))
    }
}

fn event(object: &Value) -> String {
    format!("data: {object}\n\n")
}
