//! `POST /tokenize`, whichever way the text is handed in.

use super::problem::Problem;
use super::request::prompt_of;
use super::tenant;
use crate::engine::Refusal;
use crate::front::Front;
use crate::token::{Token, text_of, tokenize};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::Arc;

/// Makes an answer of a request's body, for a window of so many tokens.
pub(super) type Count = fn(&Value, u32) -> Result<Value, Problem>;

/// Serves the path in one shape.
pub(super) async fn serve(
    count: Count,
    State(front): State<Arc<Front>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    tenant(front.config(), &headers)?;
    let window = front.config().context_tokens;
    // A million tokens take a while.
    let counted = tokio::task::spawn_blocking(move || {
        let body = serde_json::from_slice(&body).map_err(|error| Problem::json(&error))?;
        count(&body, window)
    });
    let counted = counted
        .await
        .unwrap_or_else(|_| Err(Refusal::Internal.into()))?;
    Ok(Json(counted).into_response())
}

/// SGLang: a text, or several at once.
pub(super) fn sglang(body: &Value, window: u32) -> Result<Value, Problem> {
    let prompt = &body["prompt"];
    if let Some(texts) = prompt.as_array() {
        let lists = texts.iter().map(|text| text.as_str().map(ids));
        let lists: Vec<Vec<u32>> = lists.collect::<Option<_>>().ok_or(Problem::NoText)?;
        let counts: Vec<usize> = lists.iter().map(Vec::len).collect();
        return Ok(json!({ "count": counts, "tokens": lists, "max_model_len": window }));
    }
    let ids = ids(prompt.as_str().ok_or(Problem::NoText)?);
    Ok(json!({ "count": ids.len(), "tokens": ids, "max_model_len": window }))
}

/// vLLM: a text, or a conversation in the chat template; the texts of the tokens on request.
pub(super) fn vllm(body: &Value, window: u32) -> Result<Value, Problem> {
    let tokens = match body["prompt"].as_str() {
        Some(prompt) => tokenize(prompt),
        None => tokenize(&prompt_of(&body["messages"]).ok_or(Problem::NoText)?),
    };
    let wants_texts = body["return_token_strs"] == true;
    let texts: Option<Vec<String>> =
        wants_texts.then(|| tokens.iter().map(|token| text_of(&[*token])).collect());
    Ok(json!({
        "count": tokens.len(), "max_model_len": window, "tokens": numbers(&tokens), "token_strs": texts,
    }))
}

/// llama.cpp: a text as `content`; with the pieces on request.
pub(super) fn llamacpp(body: &Value, _: u32) -> Result<Value, Problem> {
    let tokens = tokenize(body["content"].as_str().ok_or(Problem::NoText)?);
    if body["with_pieces"] == true {
        let pieces = tokens
            .iter()
            .map(|token| json!({ "id": token.id(), "piece": text_of(&[*token]) }));
        return Ok(json!({ "tokens": pieces.collect::<Vec<_>>() }));
    }
    Ok(json!({ "tokens": numbers(&tokens) }))
}

fn ids(text: &str) -> Vec<u32> {
    numbers(&tokenize(text))
}

fn numbers(tokens: &[Token]) -> Vec<u32> {
    tokens.iter().map(Token::id).collect()
}
