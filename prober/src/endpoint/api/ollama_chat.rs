//! `POST …/api/chat`: Ollama's own API. A stream is one JSON document a line. A prompt over the model's
//! `num_ctx` is cut without a word; the length that it tells shows it.

use super::{Ask, Dialect, Fact, Framing, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct OllamaChat;

impl Dialect for OllamaChat {
    fn url(&self, base_url: &str, _ask: &Ask<'_>) -> String {
        join(base_url, "api/chat")
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        json!({
            "model": ask.model,
            "messages": [{"role": "user", "content": PROMPT}],
            "options": {"num_predict": ask.max_tokens, "temperature": 0},
            "stream": ask.stream,
        })
    }

    fn framing(&self) -> Framing {
        Framing::Documents
    }

    fn is_answer(&self, path: &str) -> bool {
        let Some(inside) = path.strip_prefix("message.") else {
            return false;
        };
        matches!(inside, "content" | "thinking") || inside.starts_with("tool_calls[")
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        Some(match (path, value) {
            ("message", Told::Object) => Fact::Choice,
            ("done", Told::True) => Fact::End,
            ("done_reason", Told::Text(_)) => Fact::FinishReason,
            ("prompt_eval_count", Told::Number(tokens)) => Fact::PromptTokens(tokens),
            ("eval_count", Told::Number(tokens)) => Fact::CompletionTokens(tokens),
            ("model", Told::Text(_)) => Fact::Model,
            _ => return None,
        })
    }
}
