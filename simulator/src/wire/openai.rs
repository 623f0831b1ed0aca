//! OpenAI's API, as its reference has it: no metrics, no tokens, nothing of the server behind.

use super::problem::Problem;
use super::said::{Head, Part, Said};
use super::{Wire, now};
use crate::config::Config;
use crate::engine::Refusal;
use crate::front::Front;
use axum::Router;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const FINGERPRINT: &str = "fp_simulated0";

static RESPONSES: AtomicU64 = AtomicU64::new(0);

pub(super) struct OpenAi;

impl Wire for OpenAi {
    fn paths(&self, router: Router<Arc<Front>>) -> Router<Arc<Front>> {
        router
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let number = RESPONSES.fetch_add(1, Ordering::Relaxed);
        vec![
            ("x-request-id", format!("req_{number:032x}")),
            ("openai-version", "2020-10-01".to_owned()),
        ]
    }

    fn refusal(&self, problem: &Problem, _: &Config) -> (StatusCode, Value) {
        let Worded {
            status,
            kind,
            param,
            code,
            message,
        } = worded(problem);
        let error = json!({ "message": message, "type": kind, "param": param, "code": code });
        (status, json!({ "error": error }))
    }

    fn models(&self, config: &Config) -> Value {
        let created = now();
        let names = [&config.model].into_iter().chain(&config.adapters);
        let cards = names.map(|name| {
            json!({ "id": name, "object": "model", "created": created, "owned_by": "system" })
        });
        json!({ "object": "list", "data": cards.collect::<Vec<_>>() })
    }

    fn whole(&self, head: &Head, said: &Said) -> Value {
        let message = json!({
            "role": "assistant", "content": said.text, "refusal": null, "annotations": [],
        });
        let choice = json!({
            "index": 0, "message": message, "logprobs": null, "finish_reason": said.finish.as_str(),
        });
        let mut object = object(head, "chat.completion", json!([choice]));
        object["usage"] = usage(said);
        object
    }

    fn chunk(&self, head: &Head, part: Part<'_>) -> Value {
        let kind = "chat.completion.chunk";
        let (delta, finish) = match part {
            Part::Opening => (
                json!({ "role": "assistant", "content": "", "refusal": null }),
                None,
            ),
            Part::Text(text) => (json!({ "content": text }), None),
            Part::End(said) => (json!({}), Some(said.finish.as_str())),
            Part::Usage(said) => {
                let mut object = object(head, kind, json!([]));
                object["usage"] = usage(said);
                return object;
            }
        };
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        let mut object = object(head, kind, json!([choice]));
        if head.wants_usage {
            object["usage"] = Value::Null;
        }
        object
    }
}

fn object(head: &Head, kind: &str, choices: Value) -> Value {
    json!({
        "id": head.identity.id, "object": kind, "created": head.identity.created, "model": head.model,
        "choices": choices, "service_tier": "default", "system_fingerprint": FINGERPRINT,
    })
}

fn usage(said: &Said) -> Value {
    json!({
        "prompt_tokens": said.prompt, "completion_tokens": said.completion, "total_tokens": said.total(),
        "prompt_tokens_details": { "cached_tokens": said.cached, "audio_tokens": 0 },
        "completion_tokens_details": {
            "reasoning_tokens": said.reasoning, "audio_tokens": 0, "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}

struct Worded {
    status: StatusCode,
    kind: &'static str,
    param: Option<&'static str>,
    code: Option<&'static str>,
    message: String,
}

fn worded(problem: &Problem) -> Worded {
    let invalid = |status, param, code, message| Worded {
        status,
        kind: "invalid_request_error",
        param,
        code,
        message,
    };
    let too_long = |message| {
        invalid(
            StatusCode::BAD_REQUEST,
            Some("messages"),
            Some("context_length_exceeded"),
            message,
        )
    };
    match problem {
        Problem::Json { .. } => invalid(
            StatusCode::BAD_REQUEST,
            None,
            None,
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP \
             library correctly. The OpenAI API expects a JSON payload.)"
                .to_owned(),
        ),
        Problem::NoMessages | Problem::NoText => invalid(
            StatusCode::BAD_REQUEST,
            Some("messages"),
            Some("empty_array"),
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array \
             instead."
                .to_owned(),
        ),
        Problem::Unauthorised => invalid(
            StatusCode::UNAUTHORIZED,
            None,
            Some("invalid_api_key"),
            "Incorrect API key provided.".to_owned(),
        ),
        Problem::NoSuchPath { method, path } => invalid(
            StatusCode::NOT_FOUND,
            None,
            None,
            format!("Invalid URL ({method} {path})"),
        ),
        Problem::ModelUnknown(model) => invalid(
            StatusCode::NOT_FOUND,
            None,
            Some("model_not_found"),
            format!("The model `{model}` does not exist or you do not have access to it."),
        ),
        Problem::Refused(Refusal::PromptOverWindow {
            prompt,
            window: most,
        })
        | Problem::Refused(Refusal::OverCapacity {
            prompt,
            capacity: most,
        }) => too_long(format!(
            "This model's maximum context length is {most} tokens. However, your messages resulted in {prompt} \
             tokens. Please reduce the length of the messages."
        )),
        Problem::Refused(Refusal::TotalOverWindow {
            prompt,
            answer,
            window,
        }) => too_long(format!(
            "This model's maximum context length is {window} tokens. However, you requested {} tokens ({prompt} in \
             the messages, {answer} in the completion). Please reduce the length of the messages or completion.",
            prompt + answer
        )),
        Problem::Refused(Refusal::Internal) => Worded {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            kind: "server_error",
            param: None,
            code: None,
            message: "The server had an error while processing your request. Sorry about that!"
                .to_owned(),
        },
    }
}
