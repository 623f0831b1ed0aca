//! HTTP as the server speaks it whose shape the endpoint has: one shape a file, and what they share here.

mod chat;
mod llamacpp;
mod metrics;
mod openai;
mod problem;
mod record;
mod request;
mod said;
mod sglang;
mod tokenize;
mod vllm;

use crate::config::Config;
use crate::engine;
use crate::front::Front;
use crate::shape::Shape;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use problem::Problem;
use said::{Head, Part, Said};
use serde_json::Value;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A request body at most; far above a prompt of a million tokens.
const LARGEST_BODY: usize = 64 << 20;

/// What differs between servers.
trait Wire: Sync {
    /// Its paths beside `/v1/models` and `/v1/chat/completions`.
    fn paths(&self, router: Router<Arc<Front>>) -> Router<Arc<Front>>;

    /// What stands in the head of every response.
    fn headers(&self) -> Vec<(&'static str, String)>;

    /// Status and body of a refusal.
    fn refusal(&self, problem: &Problem, config: &Config) -> (StatusCode, Value);

    /// The body of `/v1/models`.
    fn models(&self, config: &Config) -> Value;

    /// The body of an answer in one piece.
    fn whole(&self, head: &Head, said: &Said) -> Value;

    /// An event of a stream.
    fn chunk(&self, head: &Head, part: Part<'_>) -> Value;

    /// The longest answer to a prompt, of what was asked for.
    fn most(&self, asked: Option<usize>, prompt: usize, config: &Config) -> usize {
        let room = (config.context_tokens as usize).saturating_sub(prompt);
        asked.unwrap_or_else(|| room.min(config.max_completion_default as usize))
    }

    /// Whether `model` means nothing.
    fn takes_any_model(&self) -> bool {
        false
    }

    /// Whether events that belong together go out at once.
    fn joins_events(&self) -> bool {
        false
    }

    /// The type of a stream's body.
    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }
}

fn wire(config: &Config) -> &'static dyn Wire {
    match config.shape {
        Shape::Sglang => &sglang::Sglang,
        Shape::Vllm => &vllm::Vllm,
        Shape::LlamaCpp => &llamacpp::LlamaCpp,
        Shape::OpenAi => &openai::OpenAi,
    }
}

pub(crate) fn router(front: Arc<Front>) -> Router {
    let shared = Router::new()
        .route("/v1/chat/completions", post(chat::completions))
        .route("/v1/models", get(models));
    wire(front.config())
        .paths(shared)
        .fallback(no_such_path)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(Arc::clone(&front), rendered))
        .with_state(front)
}

/// Says problems, and what stands in every head, as the shape has it.
async fn rendered(State(front): State<Arc<Front>>, request: Request, next: Next) -> Response {
    let wire = wire(front.config());
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let (status, body) = wire.refusal(&problem, front.config());
        response = (status, Json(body)).into_response();
    }
    for (name, value) in wire.headers() {
        if let Ok(value) = HeaderValue::try_from(value) {
            let name = HeaderName::from_static(name);
            response.headers_mut().insert(name, value);
        }
    }
    response
}

async fn no_such_path(request: Request) -> Problem {
    Problem::NoSuchPath {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
    }
}

async fn models(State(front): State<Arc<Front>>, headers: HeaderMap) -> Result<Response, Problem> {
    let config = front.config();
    tenant(config, &headers)?;
    Ok(Json(wire(config).models(config)).into_response())
}

/// What the engine is at. It answers between two steps, which may take a while.
async fn state(front: Arc<Front>) -> engine::State {
    let state = tokio::task::spawn_blocking(move || front.engine.state());
    state.await.unwrap_or_default()
}

/// A page of metrics of what the engine is at.
async fn metrics(front: Arc<Front>, page: fn(&Config, &engine::State) -> String) -> Response {
    let page = page(front.config(), &state(Arc::clone(&front)).await);
    let plain = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, plain)], page).into_response()
}

/// `/tokenize` as a shape counts.
fn tokenizer(count: tokenize::Count) -> axum::routing::MethodRouter<Arc<Front>> {
    post(
        move |state: State<Arc<Front>>, headers: HeaderMap, body: Bytes| {
            tokenize::serve(count, state, headers, body)
        },
    )
}

/// Whose key a request carries.
fn tenant<'a>(config: &'a Config, headers: &HeaderMap) -> Result<&'a str, Problem> {
    let keys = &config.keys;
    if keys.is_empty() {
        return Ok("anybody");
    }
    let value = headers
        .get(header::AUTHORIZATION)
        .map(|value| value.as_bytes());
    let key = value
        .and_then(|value| value.strip_prefix(b"Bearer "))
        .unwrap_or_default();
    let known = keys.iter().find(|candidate| candidate.is(key));
    known
        .map(|candidate| candidate.tenant.as_str())
        .ok_or(Problem::Unauthorised)
}

/// Seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
