//! `POST …/generate` and `…/generate_stream`: the own API of Hugging Face's Text Generation Inference, a
//! raw prompt without a chat template. The last event of a stream repeats the whole answer.

use super::{Ask, Dialect, Fact, PROMPT, Told, join};
use serde_json::{Value, json};

pub(super) struct TgiGenerate;

impl Dialect for TgiGenerate {
    fn url(&self, base_url: &str, ask: &Ask<'_>) -> String {
        let path = if ask.stream {
            "generate_stream"
        } else {
            "generate"
        };
        join(base_url, path)
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        json!({
            "inputs": PROMPT,
            "parameters": {"max_new_tokens": ask.max_tokens, "do_sample": false, "details": true},
        })
    }

    fn is_answer(&self, path: &str) -> bool {
        matches!(path, "generated_text" | "token.text")
            || path.starts_with("details.best_of_sequences[") && path.ends_with(".generated_text")
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        Some(match (path, value) {
            ("generated_text", Told::Text(_)) | ("token", Told::Object) => Fact::Choice,
            ("details.finish_reason", Told::Text(_)) => Fact::FinishReason,
            ("details.input_length", Told::Number(tokens)) => Fact::PromptTokens(tokens),
            ("details.generated_tokens", Told::Number(tokens)) => Fact::CompletionTokens(tokens),
            _ => return None,
        })
    }
}
