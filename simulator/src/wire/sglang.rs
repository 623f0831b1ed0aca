//! SGLang: refusals with their fields at the top level, `/server_info`, metrics named `sglang:`.

use super::metrics::Exposition;
use super::problem::Problem;
use super::said::{Head, Part, Said};
use super::{Wire, metrics, now, state, tenant, tokenize, tokenizer};
use crate::config::Config;
use crate::engine::{Phase, Refusal, State, ratio};
use crate::front::Front;
use crate::kv::PAGE_TOKENS;
use axum::extract;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;

const VERSION: &str = "0.5.11";

pub(super) struct Sglang;

impl Wire for Sglang {
    fn paths(&self, router: Router<Arc<Front>>) -> Router<Arc<Front>> {
        router
            .route("/tokenize", tokenizer(tokenize::sglang))
            .route("/health", get(|| async { "" }))
            .route("/server_info", get(server_info))
            // Its name in older versions.
            .route("/get_server_info", get(server_info))
            .route("/get_model_info", get(model_info))
            .route(
                "/metrics",
                get(|extract::State(front): extract::State<Arc<Front>>| metrics(front, page)),
            )
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        vec![("server", "uvicorn".to_owned())]
    }

    fn refusal(&self, problem: &Problem, _: &Config) -> (StatusCode, Value) {
        let (status, kind, message) = worded(problem);
        let code = status.as_u16();
        let body = json!({ "object": "error", "message": message, "type": kind, "param": null, "code": code });
        (status, body)
    }

    fn models(&self, config: &Config) -> Value {
        let created = now();
        let card = |name: &str, parent: Option<&str>, window: Option<u32>| {
            json!({
                "id": name, "object": "model", "created": created, "owned_by": "sglang", "root": name,
                "parent": parent, "max_model_len": window,
            })
        };
        let mut cards = vec![card(&config.model, None, Some(config.context_tokens))];
        let adapters = config.adapters.iter();
        cards.extend(adapters.map(|adapter| card(adapter, Some(&config.model), None)));
        json!({ "object": "list", "data": cards })
    }

    fn whole(&self, head: &Head, said: &Said) -> Value {
        let message = json!({
            "role": "assistant", "content": said.text, "reasoning_content": null, "tool_calls": null,
        });
        let choice = json!({
            "index": 0, "message": message, "logprobs": null, "finish_reason": said.finish.as_str(), "matched_stop": null,
        });
        object(head, "chat.completion", json!([choice]), Some(usage(said)))
    }

    fn chunk(&self, head: &Head, part: Part<'_>) -> Value {
        let (delta, finish) = match part {
            Part::Opening => (json!({ "role": "assistant", "content": "" }), None),
            Part::Text(text) => (json!({ "content": text }), None),
            Part::End(said) => (json!({}), Some(said.finish.as_str())),
            Part::Usage(said) => {
                return object(head, "chat.completion.chunk", json!([]), Some(usage(said)));
            }
        };
        let choice = json!({
            "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish, "matched_stop": null,
        });
        object(head, "chat.completion.chunk", json!([choice]), None)
    }

    fn most(&self, asked: Option<usize>, _: usize, config: &Config) -> usize {
        asked.unwrap_or(config.max_completion_default as usize)
    }
}

fn object(head: &Head, kind: &str, choices: Value, usage: Option<Value>) -> Value {
    let mut object = json!({
        "id": head.identity.id, "object": kind, "created": head.identity.created, "model": head.model, "choices": choices,
    });
    if let Some(usage) = usage {
        object["usage"] = usage;
    }
    object
}

fn usage(said: &Said) -> Value {
    json!({
        "prompt_tokens": said.prompt, "completion_tokens": said.completion, "total_tokens": said.total(),
        "prompt_tokens_details": { "cached_tokens": said.cached },
    })
}

fn worded(problem: &Problem) -> (StatusCode, &'static str, String) {
    let bad_request = |message: String| (StatusCode::BAD_REQUEST, "BadRequestError", message);
    let not_found = |message: String| (StatusCode::NOT_FOUND, "NotFoundError", message);
    match problem {
        Problem::Json { line, column } => bad_request(format!(
            "the body is not the expected JSON (line {line}, column {column})"
        )),
        Problem::NoMessages => bad_request("`messages` must not be empty".to_owned()),
        Problem::NoText => bad_request("`prompt` must be a string or a list of strings".to_owned()),
        Problem::Unauthorised => (
            StatusCode::UNAUTHORIZED,
            "AuthenticationError",
            "Unauthorized".to_owned(),
        ),
        Problem::NoSuchPath { .. } => not_found("Not Found".to_owned()),
        Problem::ModelUnknown(model) => not_found(format!("The model `{model}` does not exist.")),
        Problem::Refused(Refusal::PromptOverWindow { prompt, window }) => bad_request(format!(
            "The input ({prompt} tokens) is longer than the model's context length ({window} tokens)."
        )),
        Problem::Refused(Refusal::TotalOverWindow {
            prompt,
            answer,
            window,
        }) => bad_request(format!(
            "Requested token count exceeds the model's maximum context length of {window} tokens. You requested a \
             total of {} tokens: {prompt} tokens from the input messages and {answer} tokens for the completion. \
             Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
            prompt + answer
        )),
        Problem::Refused(Refusal::OverCapacity { prompt, capacity }) => bad_request(format!(
            "Input length ({prompt} tokens) exceeds the maximum allowed length ({capacity} tokens). Use a shorter \
             input or enable --allow-auto-truncate."
        )),
        Problem::Refused(Refusal::Internal) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalServerError",
            "the engine failed to serve the request".to_owned(),
        ),
    }
}

async fn server_info(
    extract::State(front): extract::State<Arc<Front>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let config = front.config();
    tenant(config, &headers)?;
    let state = state(Arc::clone(&front)).await;
    let capacity = state.prefill.all * PAGE_TOKENS;
    // The group that admits prompts is the one whose limits count.
    let body = json!({
        "model_path": config.model, "served_model_name": config.model, "context_length": config.context_tokens,
        "disaggregation_mode": "prefill", "page_size": PAGE_TOKENS, "allow_auto_truncate": false,
        "enable_hierarchical_cache": config.host_capacity() > 0, "kv_canary": "none",
        "speculative_algorithm": config.speculates().then_some("NGRAM"),
        "enable_lora": !config.adapters.is_empty(), "lora_paths": config.adapters,
        "max_total_tokens": config.prefill_tokens, "status": "ready",
        "max_total_num_tokens": capacity, "max_req_input_len": capacity.min(config.context_tokens as usize),
        "internal_states": [{
            "memory_usage": { "token_capacity": capacity },
            "last_gen_throughput": 0.0,
        }],
        "version": VERSION,
    });
    Ok(Json(body).into_response())
}

async fn model_info(
    extract::State(front): extract::State<Arc<Front>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let config = front.config();
    tenant(config, &headers)?;
    let body = json!({
        "model_path": config.model, "tokenizer_path": config.model, "is_generation": true,
        "preferred_sampling_params": null, "weight_version": "default",
    });
    Ok(Json(body).into_response())
}

fn page(config: &Config, state: &State) -> String {
    let counts = &state.counts;
    let mut page = Exposition::new(&[("model_name", &config.model)]);
    let count = |phase| state.within(phase) as f64;
    page.gauge(
        "sglang:num_running_reqs",
        "The number of running requests.",
        count(Phase::Decode),
    );
    page.gauge(
        "sglang:num_queue_reqs",
        "The number of requests in the waiting queue.",
        state.waiting as f64,
    );
    page.gauge(
        "sglang:num_prefill_prealloc_queue_reqs",
        "The number of requests in the prefill prealloc queue.",
        count(Phase::Prefill),
    );
    page.gauge(
        "sglang:num_prefill_inflight_queue_reqs",
        "The number of requests in the prefill inflight queue.",
        count(Phase::Transfer),
    );
    page.gauge(
        "sglang:num_decode_transfer_queue_reqs",
        "The number of requests in the decode transfer queue.",
        count(Phase::Transfer),
    );
    let groups = [("prefill", state.prefill), ("decode", state.decode)];
    let labels = groups.map(|(group, _)| [("engine_type", group)]);
    let by_group = |value: fn(crate::engine::Pages) -> f64| {
        [0, 1].map(|group| (&labels[group][..], value(groups[group].1)))
    };
    page.family(
        "sglang:num_used_tokens",
        "gauge",
        "The number of used tokens.",
        &by_group(|pages| (pages.used() * PAGE_TOKENS) as f64),
    );
    page.family(
        "sglang:max_total_num_tokens",
        "gauge",
        "Maximum total number of tokens in the KV cache pool.",
        &by_group(|pages| (pages.all * PAGE_TOKENS) as f64),
    );
    page.family(
        "sglang:token_usage",
        "gauge",
        "The token usage.",
        &by_group(crate::engine::Pages::usage),
    );
    page.gauge(
        "sglang:cache_hit_rate",
        "The prefix cache hit rate.",
        ratio(counts.cached(), counts.prompt_tokens),
    );
    page.counter(
        "sglang:prompt_tokens_total",
        "Number of prefill tokens processed.",
        counts.prompt_tokens,
    );
    page.counter(
        "sglang:generation_tokens_total",
        "Number of generation tokens processed.",
        counts.given_tokens,
    );
    page.family(
        "sglang:cached_tokens_total",
        "counter",
        "Number of cached prompt tokens.",
        &[
            (&[("cache_source", "device")], counts.from_device as f64),
            (&[("cache_source", "host")], counts.from_host as f64),
            (&[("cache_source", "storage_file")], counts.from_disk as f64),
        ],
    );
    page.counter(
        "sglang:num_requests_total",
        "Number of requests processed.",
        counts.requests,
    );
    page.counter(
        "sglang:num_aborted_requests_total",
        "Number of requests aborted.",
        counts.aborted,
    );
    page.counter(
        "sglang:num_retracted_requests_total",
        "Number of retracted requests.",
        counts.retractions,
    );
    page.counter(
        "sglang:num_transfer_failed_reqs_total",
        "The number of transfer failed requests.",
        counts.failed_transfers,
    );
    if config.speculates() {
        let drafts = counts.drafts.max(1);
        page.gauge(
            "sglang:spec_accept_length",
            "The average acceptance length of speculative decoding.",
            1.0 + ratio(counts.accepted, drafts),
        );
        page.gauge(
            "sglang:spec_accept_rate",
            "The average acceptance rate of speculative decoding.",
            ratio(counts.accepted, counts.drafted),
        );
    }
    page.into_text()
}
