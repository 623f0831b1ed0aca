//! `POST …/completion`: llama.cpp's own API, a raw prompt without a chat template. The last event of a
//! stream, and a plain answer, echo the prompt.

use super::{Ask, Dialect, Fact, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct LlamaCppCompletion;

impl Dialect for LlamaCppCompletion {
    fn url(&self, base_url: &str, _ask: &Ask<'_>) -> String {
        join(base_url, "completion")
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        json!({
            "prompt": PROMPT,
            "n_predict": ask.max_tokens,
            "temperature": 0,
            "stream": ask.stream,
            "cache_prompt": true,
        })
    }

    fn is_answer(&self, path: &str) -> bool {
        matches!(path, "content" | "reasoning_content")
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        Some(match (path, value) {
            ("content", Told::Text(_)) => Fact::Choice,
            ("stop", Told::True) => Fact::End,
            ("stop_type", Told::Text(reason)) if reason != b"none" => Fact::FinishReason,
            ("truncated", Told::True) => Fact::Truncated,
            ("tokens_evaluated", Told::Number(tokens)) => Fact::PromptTokens(tokens),
            ("tokens_predicted", Told::Number(tokens)) => Fact::CompletionTokens(tokens),
            ("timings.cache_n", Told::Number(tokens)) => Fact::CachedTokens(tokens),
            ("model", Told::Text(_)) => Fact::Model,
            _ => return None,
        })
    }
}
