//! `POST …/run/MODEL`: the own API of Cloudflare Workers AI. The answer stands under `result`, as
//! `response` or in the shape of a chat completion, by model; a stream has the same without `result`.

use super::openai_chat;
use super::{Ask, Dialect, Fact, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct WorkersAi;

impl Dialect for WorkersAi {
    /// `base_url` goes up to and with `…/accounts/ACCOUNT/ai`.
    fn url(&self, base_url: &str, ask: &Ask<'_>) -> String {
        join(base_url, &format!("run/{}", ask.model))
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        json!({
            "messages": [{"role": "user", "content": PROMPT}],
            "max_tokens": ask.max_tokens,
            "temperature": 0,
            "stream": ask.stream,
        })
    }

    fn unwrapped<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix("result.").unwrap_or(path)
    }

    fn is_answer(&self, path: &str) -> bool {
        path == "response"
            || path.starts_with("response.")
            || path.starts_with("tool_calls[")
            || openai_chat::is_answer(path)
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        match (path, value) {
            ("response", Told::Text(_) | Told::Object) => Some(Fact::Choice),
            ("finish_reason", Told::Text(_)) => Some(Fact::FinishReason),
            ("errors[0]", Told::Object) => Some(Fact::Error),
            // The whole answer came; there may be no reason for its end. Behind the AI Gateway, a state
            // stands in place of `success`.
            ("success", Told::True) | ("state", Told::Text(b"Completed")) => Some(Fact::End),
            _ => openai_chat::fact(path, value),
        }
    }
}
