//! vLLM 0.32, as recorded: fields that are null where nothing was asked for, metrics named `vllm:`.

mod page;

use super::problem::Problem;
use super::said::{Head, Part, Said};
use super::{Wire, metrics, now, tokenize, tokenizer};
use crate::config::Config;
use crate::engine::Refusal;
use crate::front::Front;
use crate::kv::PAGE_TOKENS;
use axum::extract;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use page::page;
use serde_json::{Value, json};
use std::sync::Arc;

const VERSION: &str = "0.32.0";
const FINGERPRINT: &str = "vllm-0.32.0-simulated";

pub(super) struct Vllm;

impl Wire for Vllm {
    fn paths(&self, router: Router<Arc<Front>>) -> Router<Arc<Front>> {
        router
            .route("/tokenize", tokenizer(tokenize::vllm))
            .route("/health", get(|| async { "" }))
            .route(
                "/version",
                get(|| async { Json(json!({ "version": VERSION })) }),
            )
            .route(
                "/metrics",
                get(|extract::State(front): extract::State<Arc<Front>>| metrics(front, page)),
            )
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        vec![
            ("server", "uvicorn".to_owned()),
            ("vary", "Origin".to_owned()),
        ]
    }

    fn refusal(&self, problem: &Problem, config: &Config) -> (StatusCode, Value) {
        if *problem == Problem::Unauthorised {
            return (StatusCode::UNAUTHORIZED, json!({ "error": "Unauthorized" }));
        }
        let (status, kind, param, message) = worded(problem, config);
        let code = status.as_u16();
        let error = json!({ "message": message, "type": kind, "param": param, "code": code });
        (status, json!({ "error": error }))
    }

    fn models(&self, config: &Config) -> Value {
        let created = now();
        let card = |name: &str, parent: Option<&str>, window: Option<u32>| {
            let permission = json!({
                "id": format!("modelperm-{name}"), "object": "model_permission", "created": created,
                "allow_create_engine": false, "allow_sampling": true, "allow_logprobs": true,
                "allow_search_indices": false, "allow_view": true, "allow_fine_tuning": false,
                "organization": "*", "group": null, "is_blocking": false,
            });
            json!({
                "id": name, "object": "model", "created": created, "owned_by": "vllm", "root": name,
                "parent": parent, "max_model_len": window, "permission": [permission],
            })
        };
        let mut cards = vec![card(&config.model, None, Some(config.context_tokens))];
        let adapters = config.adapters.iter();
        cards.extend(adapters.map(|adapter| card(adapter, Some(&config.model), None)));
        json!({ "object": "list", "data": cards })
    }

    fn whole(&self, head: &Head, said: &Said) -> Value {
        let message = json!({
            "role": "assistant", "content": said.text, "refusal": null, "annotations": null, "audio": null,
            "function_call": null, "reasoning": null,
        });
        let choice = json!({
            "index": 0, "message": message, "logprobs": null, "finish_reason": said.finish.as_str(),
            "stop_reason": null, "token_ids": null, "routed_experts": null,
        });
        let mut usage = usage(said);
        usage["prompt_tokens_details"]["multimodal_tokens"] = Value::Null;
        usage["completion_tokens_details"] = Value::Null;
        json!({
            "id": head.identity.id, "object": "chat.completion", "created": head.identity.created,
            "model": head.model, "choices": [choice], "service_tier": null, "system_fingerprint": FINGERPRINT,
            "usage": usage, "prompt_logprobs": null, "prompt_token_ids": null, "prompt_text": null,
            "kv_transfer_params": null, "ec_transfer_params": null, "metrics": null,
        })
    }

    fn chunk(&self, head: &Head, part: Part<'_>) -> Value {
        let mut object = json!({
            "id": head.identity.id, "object": "chat.completion.chunk", "created": head.identity.created,
            "model": head.model,
        });
        let mut choice = json!({ "index": 0, "logprobs": null, "finish_reason": null });
        match part {
            Part::Opening => {
                choice["delta"] = json!({ "role": "assistant", "content": "" });
                object["prompt_token_ids"] = Value::Null;
                object["prompt_text"] = Value::Null;
            }
            Part::Text(text) => {
                choice["delta"] = json!({ "content": text });
                choice["token_ids"] = Value::Null;
            }
            Part::End(said) => {
                choice["delta"] = json!({ "content": "" });
                choice["finish_reason"] = said.finish.as_str().into();
                choice["stop_reason"] = Value::Null;
                choice["token_ids"] = Value::Null;
            }
            Part::Usage(said) => {
                object["choices"] = json!([]);
                object["usage"] = usage(said);
                object["system_fingerprint"] = FINGERPRINT.into();
                return object;
            }
        }
        object["choices"] = json!([choice]);
        object
    }

    fn stream_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }
}

fn usage(said: &Said) -> Value {
    let whole_pages = said.prompt / PAGE_TOKENS * PAGE_TOKENS;
    json!({
        "prompt_tokens": said.prompt, "total_tokens": said.total(), "completion_tokens": said.completion,
        "prompt_tokens_details": {
            "cached_tokens": said.cached, "created_cache_tokens": whole_pages.saturating_sub(said.cached),
        },
    })
}

fn worded(
    problem: &Problem,
    config: &Config,
) -> (StatusCode, &'static str, Option<&'static str>, String) {
    let bad = |param, message| (StatusCode::BAD_REQUEST, "BadRequestError", param, message);
    let invalid = |message| (StatusCode::BAD_REQUEST, "Bad Request", None, message);
    match problem {
        Problem::Json { line, column } => invalid(format!(
            "1 validation error:\n  {{'type': 'json_invalid', 'loc': 'body', 'msg': 'JSON decode error (line {line}, \
             column {column})'}}"
        )),
        Problem::NoText => invalid(
            "1 validation error:\n  {'type': 'missing', 'loc': 'body.prompt', 'msg': 'Field required'}".to_owned(),
        ),
        Problem::NoMessages => bad(
            None,
            "Cannot apply chat template to an empty conversation. Provide at least one message.".to_owned(),
        ),
        Problem::Unauthorised => (
            StatusCode::UNAUTHORIZED,
            "Unauthorized",
            None,
            "Unauthorized".to_owned(),
        ),
        Problem::NoSuchPath { .. } => {
            (StatusCode::NOT_FOUND, "Not Found", None, "Not Found".to_owned())
        }
        Problem::ModelUnknown(model) => {
            let known = [&config.model].into_iter().chain(&config.adapters);
            let known: Vec<&str> = known.map(String::as_str).collect();
            let message = format!(
                "The model `{model}` does not exist. Valid aliases: {}.",
                known.join(", ")
            );
            (StatusCode::NOT_FOUND, "NotFoundError", Some("model"), message)
        }
        // It counts no further than it must: the number is a bound, not the length.
        Problem::Refused(Refusal::PromptOverWindow { window, .. }) => {
            let least = window + 1;
            bad(
                Some("input_tokens"),
                format!(
                    "This model's maximum context length is {window} tokens. However, your prompt contains at least \
                     {least} input tokens, which exceeds this limit even without any output tokens. Please reduce \
                     the length of the input prompt. (parameter=input_tokens, value={least})"
                ),
            )
        }
        Problem::Refused(Refusal::TotalOverWindow { answer, window, .. }) if answer > window => bad(
            Some("max_tokens"),
            format!(
                "max_tokens={answer} cannot be greater than max_model_len={window}. Please request fewer output \
                 tokens. (parameter=max_tokens, value={answer})"
            ),
        ),
        Problem::Refused(Refusal::TotalOverWindow { answer, window, .. }) => {
            let least = window - answer + 1;
            bad(
                Some("input_tokens"),
                format!(
                    "This model's maximum context length is {window} tokens. However, you requested {answer} output \
                     tokens and your prompt contains at least {least} input tokens, for a total of at least {} \
                     tokens. Please reduce the length of the input prompt or the number of requested output tokens. \
                     (parameter=input_tokens, value={least})",
                    window + 1
                ),
            )
        }
        Problem::Refused(Refusal::OverCapacity { prompt, capacity }) => bad(
            None,
            format!(
                "The decoder prompt (length {prompt}) is longer than the maximum model length of {capacity}. Make \
                 sure that `max_model_len` is no smaller than the number of text tokens."
            ),
        ),
        Problem::Refused(Refusal::Internal) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalServerError",
            None,
            "EngineCore encountered an issue.".to_owned(),
        ),
    }
}
