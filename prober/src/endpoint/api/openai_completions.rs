//! `POST …/completions`: a raw prompt without a chat template, as the same servers have it.

use super::openai_chat;
use super::{Ask, Dialect, Fact, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct OpenAiCompletions;

impl Dialect for OpenAiCompletions {
    fn url(&self, base_url: &str, _ask: &Ask<'_>) -> String {
        join(base_url, "completions")
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        let mut body = json!({
            "model": ask.model,
            "prompt": PROMPT,
            "max_tokens": ask.max_tokens,
            "temperature": 0,
            "stream": ask.stream,
        });
        openai_chat::ask_for_usage(ask, &mut body);
        body
    }

    fn is_answer(&self, path: &str) -> bool {
        openai_chat::is_answer(path)
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        openai_chat::fact(path, value)
    }
}
