//! llama.cpp's server, as recorded: `timings` with every answer, any model name, slots, metrics named
//! `llamacpp:`.

use super::metrics::Exposition;
use super::problem::Problem;
use super::said::{Head, Part, Said};
use super::{Wire, metrics, now, state, tenant, tokenize, tokenizer};
use crate::config::Config;
use crate::engine::{Phase, Refusal, State, ratio};
use crate::front::Front;
use axum::extract;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const BUILD: &str = "b1-simulated";
/// Slots that are shown when fewer requests are under way; the engine has no such limit.
const SLOTS: usize = 4;
const TEMPLATE: &str = "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}\n\
                        {% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}";

pub(super) struct LlamaCpp;

impl Wire for LlamaCpp {
    fn paths(&self, router: Router<Arc<Front>>) -> Router<Arc<Front>> {
        let health = || get(|| async { Json(json!({ "status": "ok" })) });
        router
            .route("/tokenize", tokenizer(tokenize::llamacpp))
            .route("/health", health())
            .route("/v1/health", health())
            .route("/props", get(props))
            .route("/slots", get(slots))
            .route("/lora-adapters", get(adapters))
            .route(
                "/metrics",
                get(|extract::State(front): extract::State<Arc<Front>>| metrics(front, page)),
            )
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        vec![("server", "llama.cpp".to_owned())]
    }

    fn refusal(&self, problem: &Problem, _: &Config) -> (StatusCode, Value) {
        let too_long = |prompt: usize, context: usize| {
            let message = format!(
                "request ({prompt} tokens) exceeds the available context size ({context} tokens), try increasing it"
            );
            let error = json!({
                "code": 400, "message": message, "type": "exceed_context_size_error",
                "n_prompt_tokens": prompt, "n_ctx": context,
            });
            (StatusCode::BAD_REQUEST, json!({ "error": error }))
        };
        let plain = |status: StatusCode, kind: &str, message: &str| {
            let error = json!({ "code": status.as_u16(), "message": message, "type": kind });
            (status, json!({ "error": error }))
        };
        match *problem {
            Problem::Refused(Refusal::PromptOverWindow { prompt, window }) => {
                too_long(prompt, window)
            }
            Problem::Refused(Refusal::TotalOverWindow { prompt, window, .. }) => {
                too_long(prompt, window)
            }
            Problem::Refused(Refusal::OverCapacity { prompt, capacity }) => {
                too_long(prompt, capacity)
            }
            Problem::Refused(Refusal::Internal) => plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "server_error",
                "failed to decode the batch",
            ),
            Problem::Json { .. } | Problem::NoMessages => plain(
                StatusCode::BAD_REQUEST,
                "invalid_request_error",
                "Expected 'messages' to be an array",
            ),
            Problem::NoText => plain(
                StatusCode::BAD_REQUEST,
                "invalid_request_error",
                "\"content\" must be a string",
            ),
            Problem::Unauthorised => plain(
                StatusCode::UNAUTHORIZED,
                "authentication_error",
                "Invalid API Key",
            ),
            Problem::NoSuchPath { .. } | Problem::ModelUnknown(_) => {
                plain(StatusCode::NOT_FOUND, "not_found_error", "File Not Found")
            }
        }
    }

    fn models(&self, config: &Config) -> Value {
        let name = &config.model;
        let names: Vec<&String> = [name].into_iter().chain(&config.adapters).collect();
        // There are no weights: what describes them is empty.
        json!({
            "models": [{
                "name": name, "model": name, "modified_at": "", "size": "", "digest": "", "type": "model",
                "description": "", "tags": [""], "capabilities": ["completion"], "parameters": "",
                "details": {
                    "parent_model": "", "format": "gguf", "family": "", "families": [""], "parameter_size": "",
                    "quantization_level": "",
                },
            }],
            "object": "list",
            "data": [{
                "id": name, "aliases": names, "tags": [], "object": "model", "created": now(), "owned_by": "llamacpp",
                "meta": {
                    "vocab_type": 2, "n_vocab": 0, "n_ctx": config.context_tokens,
                    "n_ctx_train": config.context_tokens, "n_embd": 0, "n_params": 0, "size": 0, "ftype": "",
                },
            }],
        })
    }

    fn whole(&self, head: &Head, said: &Said) -> Value {
        let message = json!({ "role": "assistant", "content": said.text });
        let choice =
            json!({ "index": 0, "message": message, "finish_reason": said.finish.as_str() });
        let mut object = object(head, "chat.completion", json!([choice]));
        object["usage"] = usage(said);
        object["timings"] = timings(said);
        object
    }

    fn chunk(&self, head: &Head, part: Part<'_>) -> Value {
        let choice = |delta: Value, finish: Option<&str>| {
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
            object(head, "chat.completion.chunk", json!([choice]))
        };
        match part {
            Part::Opening => choice(json!({ "role": "assistant", "content": null }), None),
            Part::Text(text) => choice(json!({ "content": text }), None),
            Part::End(said) => {
                let mut end = choice(json!({}), Some(said.finish.as_str()));
                if !head.wants_usage {
                    end["timings"] = timings(said);
                }
                end
            }
            Part::Usage(said) => {
                let mut object = object(head, "chat.completion.chunk", json!([]));
                object["usage"] = usage(said);
                object["timings"] = timings(said);
                object
            }
        }
    }

    /// However much is asked for, the answer ends where the context does.
    fn most(&self, asked: Option<usize>, prompt: usize, config: &Config) -> usize {
        let room = (config.context_tokens as usize).saturating_sub(prompt);
        room.min(asked.unwrap_or(config.max_completion_default as usize))
    }

    fn takes_any_model(&self) -> bool {
        true
    }

    fn joins_events(&self) -> bool {
        true
    }
}

fn object(head: &Head, kind: &str, choices: Value) -> Value {
    json!({
        "choices": choices, "created": head.identity.created, "id": head.identity.id, "model": head.model,
        "system_fingerprint": BUILD, "object": kind,
    })
}

fn usage(said: &Said) -> Value {
    json!({
        "completion_tokens": said.completion, "prompt_tokens": said.prompt, "total_tokens": said.total(),
        "prompt_tokens_details": { "cached_tokens": said.cached },
    })
}

fn timings(said: &Said) -> Value {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    // What takes no time has no rate; JSON has no infinity either.
    let per = |one: f64, other: f64| if other > 0.0 { one / other } else { 0.0 };
    let computed = said.prompt.saturating_sub(said.cached);
    let (prompt, predicted) = (millis(said.prompt_time()), millis(said.answer_time()));
    json!({
        "cache_n": said.cached, "prompt_n": computed, "prompt_ms": prompt,
        "prompt_per_token_ms": per(prompt, computed as f64), "prompt_per_second": per(computed as f64 * 1e3, prompt),
        "predicted_n": said.completion, "predicted_ms": predicted,
        "predicted_per_token_ms": per(predicted, said.completion as f64),
        "predicted_per_second": per(said.completion as f64 * 1e3, predicted),
    })
}

/// How tokens are chosen: always the likeliest.
fn parameters(config: &Config, most: i64) -> Value {
    json!({
        "seed": config.seed, "temperature": 0.0, "top_k": 1, "top_p": 1.0, "min_p": 0.0, "max_tokens": most,
        "n_predict": most, "n_keep": 0, "n_discard": 0, "ignore_eos": false, "stream": false, "n_probs": 0,
        "chat_format": "Content-only", "reasoning_format": "none", "samplers": ["top_k"],
        "speculative.types": if config.speculates() { "ngram" } else { "none" }, "lora": [],
    })
}

async fn props(
    extract::State(front): extract::State<Arc<Front>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let config = front.config();
    tenant(config, &headers)?;
    let body = json!({
        "default_generation_settings": { "params": parameters(config, -1), "n_ctx": config.context_tokens },
        "total_slots": SLOTS, "model_alias": config.model, "model_ftype": "", "model_path": config.model,
        "modalities": { "vision": false, "video": false, "audio": false }, "endpoint_slots": true,
        "endpoint_props": true, "endpoint_metrics": true, "ui": false, "ui_settings": {}, "chat_template": TEMPLATE,
        "bos_token": "", "eos_token": "", "build_info": BUILD, "is_sleeping": false, "cors_proxy_enabled": false,
    });
    Ok(Json(body).into_response())
}

async fn slots(
    extract::State(front): extract::State<Arc<Front>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let config = front.config();
    tenant(config, &headers)?;
    let state = state(Arc::clone(&front)).await;
    let speculative = config.speculates();
    let busy = state.admitted.iter().enumerate().map(|(slot, admitted)| {
        json!({
            "id": slot, "n_ctx": config.context_tokens, "speculative": speculative, "is_processing": true,
            "id_task": admitted.id.0, "n_prompt_tokens": admitted.prompt,
            "n_prompt_tokens_processed": admitted.computed.saturating_sub(admitted.cached),
            "n_prompt_tokens_cache": admitted.cached, "params": parameters(config, admitted.most as i64),
            "next_token": [{
                "has_next_token": true, "has_new_line": false, "n_decoded": admitted.given,
                "n_remain": admitted.most.saturating_sub(admitted.given),
            }],
        })
    });
    let idle = (state.admitted.len()..SLOTS).map(|slot| {
        json!({
            "id": slot, "n_ctx": config.context_tokens, "speculative": speculative, "is_processing": false, "id_task": -1,
        })
    });
    Ok(Json(busy.chain(idle).collect::<Vec<_>>()).into_response())
}

async fn adapters(
    extract::State(front): extract::State<Arc<Front>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let config = front.config();
    tenant(config, &headers)?;
    let adapters = config.adapters.iter().enumerate();
    let listed = adapters.map(|(id, adapter)| json!({ "id": id, "path": adapter, "scale": 1.0 }));
    Ok(Json(listed.collect::<Vec<_>>()).into_response())
}

fn page(_: &Config, state: &State) -> String {
    let (counts, busy) = (&state.counts, &state.busy);
    let seconds = |time: Duration| time.as_secs_f64();
    let per_second = |count: u64, time: f64| if time > 0.0 { count as f64 / time } else { 0.0 };
    let (prefill, decode) = (seconds(busy.prefill), seconds(busy.decode));
    let processing = state.admitted.len() - state.within(Phase::Retracted);
    let deferred = state.waiting + state.within(Phase::Retracted);
    let mut page = Exposition::terse();
    let mut metric = |name: &str, kind: &str, help: &str, value: f64| {
        page.family(&format!("llamacpp:{name}"), kind, help, &[(&[], value)]);
    };
    metric(
        "prompt_tokens_total",
        "counter",
        "Number of prompt tokens processed.",
        counts.computed_tokens as f64,
    );
    metric(
        "prompt_seconds_total",
        "counter",
        "Prompt process time",
        prefill,
    );
    metric(
        "tokens_predicted_total",
        "counter",
        "Number of generation tokens processed.",
        counts.given_tokens as f64,
    );
    metric(
        "tokens_predicted_seconds_total",
        "counter",
        "Predict process time",
        decode,
    );
    metric(
        "n_decode_total",
        "counter",
        "Total number of llama_decode() calls",
        counts.steps as f64,
    );
    metric(
        "n_tokens_max",
        "counter",
        "Largest observed n_tokens.",
        counts.longest as f64,
    );
    metric(
        "prompt_tokens_seconds",
        "gauge",
        "Average prompt throughput in tokens/s.",
        per_second(counts.computed_tokens, prefill),
    );
    metric(
        "predicted_tokens_seconds",
        "gauge",
        "Average generation throughput in tokens/s.",
        per_second(counts.given_tokens, decode),
    );
    metric(
        "requests_processing",
        "gauge",
        "Number of requests processing.",
        processing as f64,
    );
    metric(
        "requests_deferred",
        "gauge",
        "Number of requests deferred.",
        deferred as f64,
    );
    metric(
        "n_busy_slots_per_decode",
        "gauge",
        "Average number of busy slots per llama_decode() call",
        ratio(counts.rows, counts.steps),
    );
    page.into_text()
}
