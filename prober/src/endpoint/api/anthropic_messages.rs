//! `POST …/messages`: Anthropic's API, and that of gateways in its likeness. The length of the prompt
//! that it tells is what came from no cache; the rest is told beside it.

use super::{Ask, CredentialHeader, Dialect, Fact, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct AnthropicMessages;

impl Dialect for AnthropicMessages {
    fn url(&self, base_url: &str, _ask: &Ask<'_>) -> String {
        join(base_url, "messages")
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        json!({
            "model": ask.model,
            "messages": [{"role": "user", "content": PROMPT}],
            "max_tokens": ask.max_tokens,
            "temperature": 0,
            "stream": ask.stream,
        })
    }

    fn credential(&self) -> CredentialHeader<'_> {
        CredentialHeader::Named("x-api-key")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    /// The first event of a stream holds the message so far.
    fn unwrapped<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix("message.").unwrap_or(path)
    }

    /// A block may begin with text that its deltas continue.
    fn joined<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix("content_block.")
            .or_else(|| path.strip_prefix("delta."))
            .unwrap_or(path)
    }

    fn is_answer(&self, path: &str) -> bool {
        let block = ["content[", "content_block.", "delta."]
            .iter()
            .any(|start| path.starts_with(start));
        let leaf = path.rsplit('.').next().unwrap_or_default();
        block && matches!(leaf, "text" | "thinking" | "partial_json" | "name")
            || path.starts_with("content[") && path.contains(".input.")
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        Some(match (path, value) {
            ("role", Told::Text(b"assistant")) => Fact::Choice,
            ("type", Told::Text(b"message_stop")) => Fact::End,
            ("stop_reason" | "delta.stop_reason", Told::Text(_)) => Fact::FinishReason,
            ("model", Told::Text(_)) => Fact::Model,
            ("usage.input_tokens", Told::Number(tokens)) => Fact::PromptTokens(tokens),
            ("usage.cache_read_input_tokens", Told::Number(tokens)) => Fact::CachedApart(tokens),
            ("usage.cache_creation_input_tokens", Told::Number(tokens)) => {
                Fact::WrittenApart(tokens)
            }
            ("usage.output_tokens", Told::Number(tokens)) => Fact::CompletionTokens(tokens),
            ("usage.output_tokens_details.thinking_tokens", Told::Number(tokens)) => {
                Fact::ReasoningTokens(tokens)
            }
            _ => return None,
        })
    }
}
