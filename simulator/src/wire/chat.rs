//! `POST /v1/chat/completions`, as one JSON object or as server-sent events.

use super::errors::ApiError;
use super::record::Record;
use super::request::ChatRequest;
use super::tenant;
use crate::engine::{ClientIds, Submission};
use crate::front::{Connected, Front, Identity, Reply};
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
    State(front): State<Arc<Front>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let tenant = tenant(front.config(), &headers)?.to_owned();
    let (request, prompt) = read(body).await?;
    let Some(adapter) = front.config().adapter(&request.model) else {
        return Err(ApiError::model_unknown(&request.model));
    };
    if !request.has_messages() {
        return Err(ApiError::bad_request("`messages` must not be empty"));
    }
    let mut record = Record::new(tenant.clone(), prompt.len());
    let submission = Submission {
        prompt: prompt.into(),
        most: request.most(front.config().max_completion_default),
        tenant,
        salt: request.salt().to_owned(),
        adapter: adapter.map(str::to_owned),
        thinking: request.thinking(),
    };
    let reply = front
        .serve(submission, client_ids(&headers), identity())
        .await
        .inspect_err(|&refusal| record.refused(refusal))?;
    let head = Head {
        identity: reply.identity.clone(),
        model: request.model.clone(),
    };
    if request.streams() {
        let wants_usage = request.wants_usage();
        Ok(streamed(head, reply, record, wants_usage))
    } else {
        Ok(whole(&head, reply, record).await)
    }
}

/// What the client calls its request: `x-request-id`, and the trace id of `traceparent` (W3C Trace Context).
fn client_ids(headers: &HeaderMap) -> ClientIds {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let trace = text("traceparent").and_then(|value| value.split('-').nth(1));
    ClientIds {
        request: text("x-request-id").map(str::to_owned),
        trace: trace.map(str::to_owned),
    }
}

/// What a new reply is known by.
fn identity() -> Identity {
    let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Identity {
        id: format!("chatcmpl-{number:016x}"),
        created: now.unwrap_or_default().as_secs(),
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
    identity: Identity,
    model: String,
}

impl Head {
    fn object(&self, kind: &str, choices: Value, usage: Option<Value>) -> Value {
        let mut object = json!({
            "id": self.identity.id, "object": kind, "created": self.identity.created, "model": self.model, "choices": choices,
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

fn usage(reply: &Reply) -> Value {
    let (prompt, completion) = (reply.prompt_tokens(), reply.given_tokens());
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "prompt_tokens_details": { "cached_tokens": reply.cached_tokens() },
    })
}

async fn whole(head: &Head, mut reply: Connected, mut record: Record) -> Response {
    let mut answer = Vec::new();
    while let Some(token) = reply.next().await {
        answer.push(token);
        record.progressed(&reply);
    }
    record.finished(&reply);
    let message = json!({ "role": "assistant", "content": text_of(&answer) });
    let finish = reply.finish().as_str();
    let choice =
        json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": finish });
    Json(head.object("chat.completion", json!([choice]), Some(usage(&reply)))).into_response()
}

/// A stream under way: events that are ready, then the reply that makes more.
struct Streaming {
    head: Head,
    ready: VecDeque<String>,
    reply: Option<Connected>,
    record: Record,
    wants_usage: bool,
}

fn streamed(head: Head, reply: Connected, record: Record, wants_usage: bool) -> Response {
    let first = head.chunk(json!({ "role": "assistant", "content": "" }), None);
    let streaming = Streaming {
        ready: VecDeque::from([event(&first)]),
        head,
        reply: Some(reply),
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
        let reply = self.reply.as_mut()?;
        if let Some(token) = reply.next().await {
            self.record.progressed(reply);
            return Some(event(
                &self
                    .head
                    .chunk(json!({ "content": text_of(&[token]) }), None),
            ));
        }
        self.record.finished(reply);
        let last = self.head.chunk(json!({}), Some(reply.finish().as_str()));
        if self.wants_usage {
            let usage = self
                .head
                .object("chat.completion.chunk", json!([]), Some(usage(reply)));
            self.ready.push_back(event(&usage));
        }
        self.ready.push_back("data: [DONE]\n\n".to_owned());
        // The answer is complete: its pages can go to others.
        self.reply = None;
        Some(event(&last))
    }
}

fn event(object: &Value) -> String {
    format!("data: {object}\n\n")
}
