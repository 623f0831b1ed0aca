//! Wire formats: how a request is written, and what the parts of an answer mean. One file each, behind
//! [`Dialect`]. What a dialect does not know of an answer is scanned all the same.

mod anthropic_messages;
mod llamacpp_completion;
mod names;
mod ollama_chat;
mod openai_chat;
mod openai_completions;
mod openai_responses;
mod sglang_generate;
mod template;
mod tgi_generate;
mod workers_ai;

pub(super) use names::{is_known_name, is_list_of_things};
pub use template::{Paths, Template, TemplateError};

use serde_json::Value;
use std::sync::Arc;

/// A wire format.
#[derive(Clone, Debug, PartialEq)]
pub enum Api {
    /// `POST …/chat/completions`.
    OpenAiChat,
    /// `POST …/completions`.
    OpenAiCompletions,
    /// `POST …/responses`.
    OpenAiResponses,
    /// `POST …/messages`, as Anthropic has it.
    AnthropicMessages,
    /// `POST …/run/MODEL`, Cloudflare's own.
    WorkersAi,
    /// `POST …/generate`, SGLang's own.
    SglangGenerate,
    /// `POST …/completion`, llama.cpp's own.
    LlamaCppCompletion,
    /// `POST …/api/chat`, Ollama's own.
    OllamaChat,
    /// `POST …/generate` and `…/generate_stream`, of Hugging Face's TGI.
    TgiGenerate,
    /// What the configuration says, for everything else.
    Template(Arc<Template>),
}

impl Api {
    /// The name of the wire format that the configuration describes.
    pub const TEMPLATE: &'static str = "template";

    /// Every wire format that needs no description.
    pub const ALL: [Self; 9] = [
        Self::OpenAiChat,
        Self::OpenAiCompletions,
        Self::OpenAiResponses,
        Self::AnthropicMessages,
        Self::WorkersAi,
        Self::SglangGenerate,
        Self::LlamaCppCompletion,
        Self::OllamaChat,
        Self::TgiGenerate,
    ];

    /// The name in configuration, tables and output.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::WorkersAi => "workers-ai",
            Self::SglangGenerate => "sglang-generate",
            Self::LlamaCppCompletion => "llamacpp-completion",
            Self::OllamaChat => "ollama-chat",
            Self::TgiGenerate => "tgi-generate",
            Self::Template(_) => Self::TEMPLATE,
        }
    }

    pub(super) fn dialect(&self) -> &dyn Dialect {
        match self {
            Self::OpenAiChat => &openai_chat::OpenAiChat,
            Self::OpenAiCompletions => &openai_completions::OpenAiCompletions,
            Self::OpenAiResponses => &openai_responses::OpenAiResponses,
            Self::AnthropicMessages => &anthropic_messages::AnthropicMessages,
            Self::WorkersAi => &workers_ai::WorkersAi,
            Self::SglangGenerate => &sglang_generate::SglangGenerate,
            Self::LlamaCppCompletion => &llamacpp_completion::LlamaCppCompletion,
            Self::OllamaChat => &ollama_chat::OllamaChat,
            Self::TgiGenerate => &tgi_generate::TgiGenerate,
            Self::Template(template) => template.as_ref(),
        }
    }
}

/// What a request asks for, beside the prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    pub(super) model: &'a str,
    pub(super) max_tokens: u32,
    pub(super) stream: bool,
}

/// Stands for the prompt in the body of a request. No model's name holds it: names have no control
/// characters.
pub(super) const PROMPT: &str = "\u{1}prompt\u{1}";

/// How a wire format writes requests and reads answers.
pub(super) trait Dialect: Sync {
    /// The request's URL.
    fn url(&self, base_url: &str, ask: &Ask<'_>) -> String;

    /// The request's body, with [`PROMPT`] as one string in it.
    fn body(&self, ask: &Ask<'_>) -> Value;

    /// The header that carries the credential.
    fn credential(&self) -> CredentialHeader<'_> {
        CredentialHeader::Bearer
    }

    /// Headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// How the answer to a streaming request is framed.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// A path without what some events wrap around the object that a plain answer is.
    fn unwrapped<'p>(&self, path: &'p str) -> &'p str {
        path
    }

    /// The name under which an event says which part of the answer it continues.
    fn part_number(&self) -> &'static str {
        "index"
    }

    /// A path without what tells apart pieces of one text.
    fn joined<'p>(&self, path: &'p str) -> &'p str {
        path
    }

    /// Whether the text at an unwrapped path is the model's own words.
    fn is_answer(&self, path: &str) -> bool;

    /// What a value at an unwrapped path tells.
    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact>;

    /// Whether a name of the answer may stand in a path, beside those that all known servers use.
    fn knows(&self, _name: &str) -> bool {
        false
    }

    /// Whether a complete answer says why it ended, or that it did.
    fn tells_its_end(&self) -> bool {
        true
    }

    /// Whether each event of a stream may repeat the text at a path from its beginning.
    fn repeats(&self, _path: &str) -> bool {
        false
    }
}

/// The header that carries a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CredentialHeader<'a> {
    /// `authorization: Bearer …`.
    Bearer,
    /// The bare credential in a header of this name.
    Named(&'a str),
}

/// How the answer to a streaming request is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// An event stream.
    Events,
    /// One JSON document after the other.
    Documents,
}

/// A value in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told<'a> {
    /// An object begins.
    Object,
    /// A string, unescaped.
    Text(&'a [u8]),
    /// A whole number that counts something.
    Number(u64),
    /// `true`.
    True,
}

/// What a value in an answer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// This is an answer.
    Choice,
    /// Why the model stopped stands here.
    FinishReason,
    /// The answer is complete.
    End,
    /// Length of the prompt.
    PromptTokens(u64),
    /// Of the prompt, so much came from a cache.
    CachedTokens(u64),
    /// So much came from a cache and is not in the length of the prompt.
    CachedApart(u64),
    /// So much was written to a cache and is not in the length of the prompt.
    WrittenApart(u64),
    /// Length of the answer.
    CompletionTokens(u64),
    /// Of the answer, so much was reasoning.
    ReasoningTokens(u64),
    /// The model's name stands here.
    Model,
    /// The build's name stands here.
    Fingerprint,
    /// The prompt was cut.
    Truncated,
    /// The model declined, in these words.
    Declined,
    /// This document tells an error; its words, or a part of them, stand here.
    Error,
    /// The HTTP status that an error names.
    ErrorStatus(u64),
}

/// `base` and `path` with one slash between them.
fn join(base: &str, path: &str) -> String {
    format!("{}/{path}", base.trim_end_matches('/'))
}

#[cfg(test)]
mod tests;
