//! `POST …/chat/completions`: OpenAI's, and that of vLLM, SGLang, llama.cpp, LiteLLM, TensorRT-LLM,
//! Dynamo and most gateways.

use super::{Ask, Dialect, Fact, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct OpenAiChat;

impl Dialect for OpenAiChat {
    fn url(&self, base_url: &str, _ask: &Ask<'_>) -> String {
        join(base_url, "chat/completions")
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        let mut body = json!({
            "model": ask.model,
            "messages": [{"role": "user", "content": PROMPT}],
            "max_tokens": ask.max_tokens,
            "temperature": 0,
            "stream": ask.stream,
        });
        ask_for_usage(ask, &mut body);
        body
    }

    fn is_answer(&self, path: &str) -> bool {
        is_answer(path)
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        fact(path, value)
    }
}

/// A stream tells its usage only when asked.
pub(super) fn ask_for_usage(ask: &Ask<'_>, body: &mut Value) {
    if ask.stream {
        body["stream_options"] = json!({"include_usage": true});
    }
}

/// Whether the text at a path is the model's own words.
pub(super) fn is_answer(path: &str) -> bool {
    let Some(inside) = choice_part(path).and_then(|part| part.strip_prefix('.')) else {
        return false;
    };
    if inside == "text" {
        return true;
    }
    let spoken = inside
        .strip_prefix("delta.")
        .or_else(|| inside.strip_prefix("message."));
    let leaf = spoken.and_then(|path| path.rsplit('.').next());
    leaf.is_some_and(|leaf| SPOKEN.contains(&leaf.trim_end_matches("[]")))
}

/// Leaves of a message that the model wrote. Reasoning has a name for every taste: `reasoning_content`
/// (DeepSeek, SGLang), `reasoning` (OpenRouter, vLLM), `thinking`, details of either.
const SPOKEN: &[&str] = &[
    "content",
    "text",
    "reasoning",
    "reasoning_content",
    "reasoning_text",
    "thinking",
    "refusal",
    "arguments",
    "name",
    "transcript",
    "summary",
];

/// What a value tells in this API and in its kin.
pub(super) fn fact(path: &str, value: Told<'_>) -> Option<Fact> {
    Some(match (path, value) {
        ("model", Told::Text(_)) => Fact::Model,
        ("system_fingerprint", Told::Text(_)) => Fact::Fingerprint,
        ("usage.prompt_tokens", Told::Number(tokens)) => Fact::PromptTokens(tokens),
        ("usage.completion_tokens", Told::Number(tokens)) => Fact::CompletionTokens(tokens),
        ("usage.prompt_tokens_details.cached_tokens", Told::Number(tokens)) => {
            Fact::CachedTokens(tokens)
        }
        ("usage.completion_tokens_details.reasoning_tokens", Told::Number(tokens)) => {
            Fact::ReasoningTokens(tokens)
        }
        _ => match (choice_part(path)?, value) {
            ("", Told::Object) => Fact::Choice,
            (".finish_reason", Told::Text(reason)) if !reason.is_empty() => Fact::FinishReason,
            (".message.refusal" | ".delta.refusal", Told::Text(text)) if !text.is_empty() => {
                Fact::Declined
            }
            _ => return None,
        },
    })
}

/// The part of a path after `choices[…]`.
fn choice_part(path: &str) -> Option<&str> {
    let (_, part) = path.strip_prefix("choices[")?.split_once(']')?;
    Some(part)
}
