//! `POST …/responses`: OpenAI's newer API. Its events carry whole responses under `response`.

use super::{Ask, Dialect, Fact, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct OpenAiResponses;

impl Dialect for OpenAiResponses {
    fn url(&self, base_url: &str, _ask: &Ask<'_>) -> String {
        join(base_url, "responses")
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        json!({
            "model": ask.model,
            "input": PROMPT,
            "max_output_tokens": ask.max_tokens,
            "temperature": 0,
            "stream": ask.stream,
            "store": false,
        })
    }

    fn unwrapped<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix("response.").unwrap_or(path)
    }

    fn part_number(&self) -> &'static str {
        "output_index"
    }

    fn is_answer(&self, path: &str) -> bool {
        if matches!(path, "delta" | "text" | "refusal" | "arguments") {
            return true;
        }
        let item = ["output[", "item.", "part."]
            .iter()
            .any(|start| path.starts_with(start));
        let leaf = path.rsplit('.').next().unwrap_or_default();
        item && matches!(
            leaf,
            "text" | "refusal" | "arguments" | "name" | "transcript"
        )
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        Some(match (path, value) {
            // An item of the output, or a piece of one.
            ("item", Told::Object) | ("delta", Told::Text(_)) => Fact::Choice,
            ("status", Told::Text(status)) if !matches!(status, b"in_progress" | b"queued") => {
                Fact::FinishReason
            }
            // Later than the status, and more telling.
            ("incomplete_details.reason", Told::Text(_)) => Fact::FinishReason,
            ("refusal", Told::Text(text)) if !text.is_empty() => Fact::Declined,
            ("model", Told::Text(_)) => Fact::Model,
            ("usage.input_tokens", Told::Number(tokens)) => Fact::PromptTokens(tokens),
            ("usage.input_tokens_details.cached_tokens", Told::Number(tokens)) => {
                Fact::CachedTokens(tokens)
            }
            ("usage.output_tokens", Told::Number(tokens)) => Fact::CompletionTokens(tokens),
            ("usage.output_tokens_details.reasoning_tokens", Told::Number(tokens)) => {
                Fact::ReasoningTokens(tokens)
            }
            (_, Told::Object) if is_output_item(path) => Fact::Choice,
            (_, Told::Text(text))
                if path.starts_with("output[")
                    && path.ends_with(".refusal")
                    && !text.is_empty() =>
            {
                Fact::Declined
            }
            _ => return None,
        })
    }
}

fn is_output_item(path: &str) -> bool {
    let rest = path
        .strip_prefix("output[")
        .and_then(|rest| rest.split_once(']'));
    rest.is_some_and(|(_, rest)| rest.is_empty())
}
