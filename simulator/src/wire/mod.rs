//! HTTP as an SGLang server speaks it.

mod chat;
mod errors;
mod record;
mod request;

use crate::config::Config;
use crate::engine::Refusal;
use crate::front::Front;
use crate::token::tokenize;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use errors::ApiError;
use serde_json::{Value, json};
use std::sync::Arc;

/// A request body at most; far above a prompt of a million tokens.
const LARGEST_BODY: usize = 64 << 20;

pub(crate) fn router(front: Arc<Front>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::completions))
        .route("/v1/models", get(models))
        .route("/tokenize", post(tokens))
        .route("/health", get(|| async { "" }))
        .fallback(async || ApiError::no_such_path())
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(front)
}

async fn models(State(front): State<Arc<Front>>, headers: HeaderMap) -> Result<Response, ApiError> {
    tenant(front.config(), &headers)?;
    let config = front.config();
    let model = |name: &str, parent: Option<&str>| {
        json!({
            "id": name, "object": "model", "owned_by": "simulator", "root": name, "parent": parent,
            "max_model_len": config.context_tokens,
        })
    };
    let base = [model(&config.model, None)].into_iter();
    let adapters = config.adapters.iter();
    let adapters = adapters.map(|adapter| model(adapter, Some(&config.model)));
    let list: Vec<Value> = base.chain(adapters).collect();
    Ok(Json(json!({
        "object": "list",
        "data": list,
    }))
    .into_response())
}

async fn tokens(
    State(front): State<Arc<Front>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    tenant(front.config(), &headers)?;
    let window = front.config().context_tokens;
    // A million tokens take a while.
    let counted = tokio::task::spawn_blocking(move || count_tokens(&body, window));
    let counted = counted
        .await
        .unwrap_or_else(|_| Err(Refusal::Internal.into()))?;
    Ok(Json(counted).into_response())
}

fn count_tokens(body: &[u8], window: u32) -> Result<Value, ApiError> {
    let body: Value = serde_json::from_slice(body).map_err(|error| ApiError::bad_json(&error))?;
    let ids = |text: &str| -> Vec<u32> { tokenize(text).iter().map(|token| token.id()).collect() };
    let wrong = || ApiError::bad_request("`prompt` must be a string or a list of strings");
    let prompt = &body["prompt"];
    if let Some(texts) = prompt.as_array() {
        let lists = texts.iter().map(|text| text.as_str().map(ids));
        let lists: Vec<Vec<u32>> = lists.collect::<Option<_>>().ok_or_else(wrong)?;
        let counts: Vec<usize> = lists.iter().map(Vec::len).collect();
        return Ok(json!({ "count": counts, "tokens": lists, "max_model_len": window }));
    }
    let ids = ids(prompt.as_str().ok_or_else(wrong)?);
    Ok(json!({ "count": ids.len(), "tokens": ids, "max_model_len": window }))
}

/// Whose key a request carries.
fn tenant<'a>(config: &'a Config, headers: &HeaderMap) -> Result<&'a str, ApiError> {
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
        .ok_or_else(ApiError::unauthorised)
}
