//! `POST …/generate`: SGLang's own API, a raw prompt without a chat template. By default each event of
//! a stream repeats the answer from its beginning.

use super::{Ask, Dialect, Fact, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct SglangGenerate;

impl Dialect for SglangGenerate {
    fn url(&self, base_url: &str, _ask: &Ask<'_>) -> String {
        join(base_url, "generate")
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        json!({
            "text": PROMPT,
            "sampling_params": {"max_new_tokens": ask.max_tokens, "temperature": 0},
            "stream": ask.stream,
        })
    }

    fn is_answer(&self, path: &str) -> bool {
        matches!(path, "text" | "text[]")
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        Some(match (path, value) {
            ("text", Told::Text(_)) => Fact::Choice,
            // How a request ends that the scheduler threw out: in a stream, under status 200.
            ("meta_info.finish_reason.type", Told::Text(b"abort"))
            | ("meta_info.finish_reason.message", Told::Text(_))
            | ("meta_info.finish_reason.err_type", Told::Text(_)) => Fact::Error,
            ("meta_info.finish_reason.status_code", Told::Number(status)) => {
                Fact::ErrorStatus(status)
            }
            ("meta_info.finish_reason.type", Told::Text(_)) => Fact::FinishReason,
            ("meta_info.prompt_tokens", Told::Number(tokens)) => Fact::PromptTokens(tokens),
            ("meta_info.cached_tokens", Told::Number(tokens)) => Fact::CachedTokens(tokens),
            ("meta_info.completion_tokens", Told::Number(tokens)) => Fact::CompletionTokens(tokens),
            ("meta_info.reasoning_tokens", Told::Number(tokens)) => Fact::ReasoningTokens(tokens),
            ("meta_info.weight_version", Told::Text(_)) => Fact::Fingerprint,
            _ => return None,
        })
    }

    fn repeats(&self, path: &str) -> bool {
        path == "text"
    }
}
