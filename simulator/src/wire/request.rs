//! A chat request as it is sent.

use crate::engine::Thinking;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(super) struct ChatRequest {
    pub(super) model: String,
    messages: Vec<Message>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    // Clients send `null` for what they do not set.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    cache_salt: Option<String>,
    /// vLLM's and Dynamo's name of the field.
    thinking_token_budget: Option<u32>,
    chat_template_kwargs: Option<TemplateArguments>,
}

#[derive(Deserialize)]
struct TemplateArguments {
    enable_thinking: Option<bool>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    /// `null` in an assistant's message that only calls tools.
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of a message; only parts of text have a text.
#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

/// A conversation's prompt, if it is one.
pub(super) fn prompt_of(messages: &Value) -> Option<String> {
    let messages = Vec::<Message>::deserialize(messages).ok()?;
    Some(template(&messages))
}

/// Marks each turn, and ends where the assistant goes on.
fn template(messages: &[Message]) -> String {
    let mut prompt = String::new();
    for Message { role, content } in messages {
        prompt.push_str("<|");
        prompt.push_str(role);
        prompt.push_str("|>\n");
        match content {
            Some(Content::Text(text)) => prompt.push_str(text),
            Some(Content::Parts(parts)) => parts
                .iter()
                .filter_map(|part| part.text.as_deref())
                .for_each(|text| prompt.push_str(text)),
            None => {}
        }
        prompt.push('\n');
    }
    prompt.push_str("<|assistant|>\n");
    prompt
}

impl ChatRequest {
    /// The conversation in the model's template, ready to be continued by the assistant.
    pub(super) fn prompt(&self) -> String {
        template(&self.messages)
    }

    /// What keeps its prefixes apart from others', if anything.
    pub(super) fn salt(&self) -> &str {
        self.cache_salt.as_deref().unwrap_or_default()
    }

    /// The longest answer wanted, in tokens, if it says.
    pub(super) fn most(&self) -> Option<usize> {
        let most = self.max_completion_tokens.or(self.max_tokens);
        most.map(|most| most as usize)
    }

    /// Thinking is asked for by a budget, or by the template's switch alone.
    pub(super) fn thinking(&self) -> Option<Thinking> {
        let arguments = self.chat_template_kwargs.as_ref();
        let switch = arguments.and_then(|arguments| arguments.enable_thinking);
        let budget = self.thinking_token_budget.map(|budget| budget as usize);
        let thinks = switch.unwrap_or(budget.is_some());
        thinks.then_some(Thinking { budget })
    }

    pub(super) fn streams(&self) -> bool {
        self.stream.unwrap_or(false)
    }

    /// Whether a stream ends with a chunk of usage.
    pub(super) fn wants_usage(&self) -> bool {
        let options = self.stream_options.as_ref();
        options
            .and_then(|options| options.include_usage)
            .unwrap_or(false)
    }

    pub(super) fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request(body: &str) -> ChatRequest {
        serde_json::from_str(body).unwrap()
    }

    #[test]
    fn the_template_marks_each_turn_and_ends_where_the_assistant_goes_on() {
        let request = request(
            r#"{"model":"m","messages":[
                {"role":"system","content":"Be brief."},
                {"role":"assistant","content":null},
                {"role":"user","content":[{"type":"text","text":"Hel"},{"type":"image_url"},{"type":"text","text":"lo"}]}]}"#,
        );
        assert_eq!(
            request.prompt(),
            "<|system|>\nBe brief.\n<|assistant|>\n\n<|user|>\nHello\n<|assistant|>\n"
        );
    }

    #[test]
    fn thinking_is_asked_for_by_a_budget_or_by_the_switch() {
        let with =
            |more: &str| request(&format!(r#"{{"model":"m","messages":[]{more}}}"#)).thinking();
        assert_eq!(with(""), None);
        let budget = Some(Thinking { budget: Some(9) });
        assert_eq!(with(r#","thinking_token_budget":9"#), budget);
        let on = r#","chat_template_kwargs":{"enable_thinking":true}"#;
        assert_eq!(with(on), Some(Thinking { budget: None }));
        let off = r#","thinking_token_budget":9,"chat_template_kwargs":{"enable_thinking":false}"#;
        assert_eq!(with(off), None);
    }

    #[test]
    fn what_is_not_set_may_be_absent_or_null() {
        for body in [
            r#"{"model":"m","messages":[]}"#,
            r#"{"model":"m","messages":[],"stream":null,"stream_options":null,"max_tokens":null}"#,
        ] {
            let request = request(body);
            assert!(!request.streams() && !request.wants_usage() && !request.has_messages());
            assert_eq!(request.most(), None);
        }
        let limits = r#"{"model":"m","messages":[],"max_tokens":7,"max_completion_tokens":5}"#;
        assert_eq!(request(limits).most(), Some(5));
    }
}
