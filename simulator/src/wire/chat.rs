//! `POST /v1/chat/completions`, as one JSON object or as server-sent events.

use super::problem::Problem;
use super::record::Record;
use super::request::ChatRequest;
use super::said::{Head, Part, Said, Times};
use super::{Wire, now, tenant, wire};
use crate::config::Config;
use crate::engine::{ClientIds, Refusal, Submission};
use crate::front::{Connected, Front, Identity};
use crate::token::{Token, text_of, tokenize};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

static REQUESTS: AtomicU64 = AtomicU64::new(0);

pub(super) async fn completions(
    State(front): State<Arc<Front>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let config = front.config();
    let tenant = tenant(config, &headers)?.to_owned();
    let (request, prompt) = read(body).await?;
    let wire = wire(config);
    let (model, adapter) = model(wire, config, &request.model)?;
    if !request.has_messages() {
        return Err(Problem::NoMessages);
    }
    let mut record = Record::new(tenant.clone(), prompt.len());
    let submission = Submission {
        most: wire.most(request.most(), prompt.len(), config),
        prompt: prompt.into(),
        tenant,
        salt: request.salt().to_owned(),
        adapter,
        thinking: request.thinking(),
    };
    let asked = Instant::now();
    let reply = front
        .serve(submission, client_ids(&headers), identity())
        .await
        .inspect_err(|&refusal| record.refused(refusal))?;
    let answering = Answering {
        wire,
        head: Head {
            identity: reply.identity.clone(),
            model,
            wants_usage: request.wants_usage(),
        },
        reply,
        record,
        times: Times {
            asked,
            first: Instant::now(),
        },
    };
    if request.streams() {
        Ok(streamed(answering))
    } else {
        Ok(answering.whole().await)
    }
}

/// What answers, as it is called in the answer, and its adapter if it has one.
fn model(
    wire: &dyn Wire,
    config: &Config,
    asked: &str,
) -> Result<(String, Option<String>), Problem> {
    match config.adapter(asked) {
        Some(adapter) => Ok((asked.to_owned(), adapter.map(str::to_owned))),
        None if wire.takes_any_model() => Ok((config.model.clone(), None)),
        None => Err(Problem::model_unknown(asked)),
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
    Identity {
        id: format!("chatcmpl-{number:016x}"),
        created: now(),
    }
}

/// Parses and tokenises on a thread of its own: a million tokens take a while.
async fn read(body: Bytes) -> Result<(ChatRequest, Vec<Token>), Problem> {
    let parsed = tokio::task::spawn_blocking(move || {
        let request: ChatRequest =
            serde_json::from_slice(&body).map_err(|error| Problem::json(&error))?;
        let tokens = tokenize(&request.prompt());
        Ok((request, tokens))
    });
    parsed
        .await
        .unwrap_or_else(|_| Err(Refusal::Internal.into()))
}

/// A reply on its way out.
struct Answering {
    wire: &'static dyn Wire,
    head: Head,
    reply: Connected,
    record: Record,
    times: Times,
}

impl Answering {
    async fn next(&mut self) -> Option<Token> {
        let token = self.reply.next().await?;
        self.record.progressed(&self.reply);
        Some(token)
    }

    fn said(&mut self) -> Said {
        self.record.finished(&self.reply);
        Said::new(&self.reply, self.times)
    }

    async fn whole(mut self) -> Response {
        while self.next().await.is_some() {}
        let said = self.said();
        Json(self.wire.whole(&self.head, &said)).into_response()
    }

    fn event(&self, part: Part<'_>) -> String {
        event(&self.wire.chunk(&self.head, part))
    }
}

/// A stream under way: what is ready to go out, then the reply that makes more.
struct Streaming {
    opening: Option<String>,
    ready: VecDeque<String>,
    answering: Option<Answering>,
}

fn streamed(answering: Answering) -> Response {
    let kind = answering.wire.stream_type();
    let streaming = Streaming {
        opening: Some(answering.event(Part::Opening)),
        ready: VecDeque::new(),
        answering: Some(answering),
    };
    let events = stream::unfold(streaming, |mut streaming| async move {
        let event = streaming.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(event)), streaming))
    });
    (
        [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, "no-cache"),
        ],
        Body::from_stream(events),
    )
        .into_response()
}

impl Streaming {
    async fn next(&mut self) -> Option<String> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        let answering = self.answering.as_mut()?;
        let joins = answering.wire.joins_events();
        if !joins && let Some(opening) = self.opening.take() {
            return Some(opening);
        }
        let mut out = self.opening.take().unwrap_or_default();
        if let Some(token) = answering.next().await {
            out.push_str(&answering.event(Part::Text(&text_of(&[token]))));
            return Some(out);
        }
        let said = answering.said();
        out.push_str(&answering.event(Part::End(&said)));
        if answering.head.wants_usage {
            let usage = answering.event(Part::Usage(&said));
            if joins {
                out.push_str(&usage);
            } else {
                self.ready.push_back(usage);
            }
        }
        self.ready.push_back("data: [DONE]\n\n".to_owned());
        // The answer is complete: its pages can go to others.
        self.answering = None;
        Some(out)
    }
}

fn event(object: &Value) -> String {
    format!("data: {object}\n\n")
}
