//! A chat request as it is sent.

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct ChatRequest {
    pub(super) model: String,
    messages: Vec<Message>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    pub(super) stream: bool,
    #[serde(default)]
    stream_options: StreamOptions,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl ChatRequest {
    /// The conversation in the model's template, ready to be continued by the assistant.
    pub(super) fn prompt(&self) -> String {
        let mut prompt = String::new();
        for Message { role, content } in &self.messages {
            prompt.push_str("<|");
            prompt.push_str(role);
            prompt.push_str("|>\n");
            match content {
                Content::Text(text) => prompt.push_str(text),
                Content::Parts(parts) => parts.iter().for_each(|part| prompt.push_str(&part.text)),
            }
            prompt.push('\n');
        }
        prompt.push_str("<|assistant|>\n");
        prompt
    }

    /// The longest answer wanted, in tokens.
    pub(super) fn most(&self, default: u32) -> usize {
        self.max_completion_tokens
            .or(self.max_tokens)
            .unwrap_or(default) as usize
    }

    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.include_usage
    }

    pub(super) fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }
}
