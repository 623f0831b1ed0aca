//! What the documents of a response say about themselves: choices, ends, usage, errors.

use super::api::{Api, Fact, Told};
use super::digest::Digest;
use super::outcome::Usage;

/// Numbers from here on are nonsense, not counts of tokens.
const SANE: u64 = 1_000_000_000_000;
/// So much of an error's message is looked at to tell what it means, in bytes.
const MESSAGE_BYTES: usize = 4 << 10;

/// What one document says, or all documents of a response so far.
#[derive(Default)]
pub(super) struct Facts {
    /// It has an answer, or a part of one.
    pub(super) choice: bool,
    /// It says that the answer is complete.
    pub(super) ended: bool,
    /// Why an answer ended, made harmless.
    pub(super) finish_reason: Option<String>,
    /// The model declined.
    pub(super) declined: bool,
    /// It says that the prompt was cut.
    pub(super) truncated: bool,
    /// The error it tells.
    pub(super) error: Option<ErrorFacts>,
    pub(super) counts: Counts,
    pub(super) model: Option<String>,
    pub(super) fingerprint: Option<String>,
    /// What the response is called.
    pub(super) id: Option<Digest>,
}

/// What a document says while it is being read. Counts only once the document is complete.
pub(super) struct Draft {
    api: Api,
    facts: Facts,
    /// Fields of the document itself that only mean an error if something else says so.
    loose: ErrorFacts,
}

/// What was counted, in tokens.
#[derive(Default)]
pub(super) struct Counts {
    prompt: Option<u64>,
    cached: Option<u64>,
    cached_apart: Option<u64>,
    written_apart: Option<u64>,
    completion: Option<u64>,
    reasoning: Option<u64>,
}

impl Counts {
    fn merge(&mut self, later: &Self) {
        self.prompt = later.prompt.or(self.prompt);
        self.cached = later.cached.or(self.cached);
        self.cached_apart = later.cached_apart.or(self.cached_apart);
        self.written_apart = later.written_apart.or(self.written_apart);
        self.completion = later.completion.or(self.completion);
        self.reasoning = later.reasoning.or(self.reasoning);
    }
}

/// An error as the endpoint tells it. Holds text of the response while the response is read; it is
/// looked at, never handed on.
#[derive(Default)]
pub(super) struct ErrorFacts {
    /// Message, type and code, in lower case.
    pub(super) words: String,
    /// The HTTP status it names.
    pub(super) status: Option<u16>,
    /// llama.cpp: the context size.
    pub(super) n_ctx: Option<u64>,
    /// llama.cpp: the length of the prompt.
    pub(super) n_prompt_tokens: Option<u64>,
}

impl ErrorFacts {
    fn add_words(&mut self, text: &[u8]) {
        let room = MESSAGE_BYTES.saturating_sub(self.words.len());
        let text = String::from_utf8_lossy(&text[..text.len().min(room)]);
        self.words.push_str(&text.to_lowercase());
        self.words.push('\n');
    }

    fn add_number(&mut self, name: &str, number: u64) {
        match name {
            "code" | "status" => {
                self.status = u16::try_from(number)
                    .ok()
                    .filter(|code| (400..600).contains(code))
            }
            "n_ctx" => self.n_ctx = Some(number),
            "n_prompt_tokens" => self.n_prompt_tokens = Some(number),
            _ => {}
        }
    }
}

impl Draft {
    pub(super) fn new(api: Api) -> Self {
        Self {
            api,
            facts: Facts::default(),
            loose: ErrorFacts::default(),
        }
    }

    pub(super) fn on_object(&mut self, path: &str) {
        let api = self.api.clone();
        let path = api.dialect().unwrapped(path);
        if path == "error" {
            self.error();
        }
        self.learn(path, Told::Object);
    }

    pub(super) fn on_true(&mut self, path: &str) {
        let api = self.api.clone();
        self.learn(api.dialect().unwrapped(path), Told::True);
    }

    pub(super) fn on_string(&mut self, path: &str, text: &[u8]) {
        let api = self.api.clone();
        let path = api.dialect().unwrapped(path);
        self.learn(path, Told::Text(text));
        match path {
            "id" | "response.id" | "message.id" | "meta_info.id" if !text.is_empty() => {
                self.facts.id.get_or_insert_with(|| Digest::of(text));
            }
            "object" | "type" if text == b"error" => drop(self.error()),
            "error" => self.error().add_words(text),
            "message" | "detail" | "type" | "msg" | "error_type" => self.loose.add_words(text),
            "code" => {
                self.loose.add_words(text);
                if let Some(number) = sane_number(text) {
                    self.loose.add_number("code", number);
                }
            }
            "error.message" | "error.type" => self.error().add_words(text),
            "error.code" => {
                let error = self.error();
                error.add_words(text);
                // LiteLLM writes its status as a string.
                if let Some(number) = sane_number(text) {
                    error.add_number("code", number);
                }
            }
            _ if is_in_list_of_errors(path) => self.loose.add_words(text),
            _ => {}
        }
    }

    pub(super) fn on_number(&mut self, path: &str, word: &[u8]) {
        let Some(number) = sane_number(word) else {
            return;
        };
        let api = self.api.clone();
        let path = api.dialect().unwrapped(path);
        self.learn(path, Told::Number(number));
        match path {
            "code" | "status" => self.loose.add_number("code", number),
            _ => {
                if let Some(name) = path.strip_prefix("error.") {
                    self.error().add_number(name, number);
                }
            }
        }
    }

    fn error(&mut self) -> &mut ErrorFacts {
        self.facts.error.get_or_insert_default()
    }

    fn learn(&mut self, path: &str, value: Told<'_>) {
        let Some(fact) = self.api.dialect().fact(path, value) else {
            return;
        };
        let text = match value {
            Told::Text(text) => text,
            _ => b"",
        };
        let facts = &mut self.facts;
        let counts = &mut facts.counts;
        match fact {
            Fact::Choice => facts.choice = true,
            Fact::FinishReason => facts.finish_reason = Some(finish_reason(text)),
            Fact::End => facts.ended = true,
            Fact::PromptTokens(tokens) => counts.prompt = Some(tokens),
            Fact::CachedTokens(tokens) => counts.cached = Some(tokens),
            Fact::CachedApart(tokens) => counts.cached_apart = Some(tokens),
            Fact::WrittenApart(tokens) => counts.written_apart = Some(tokens),
            Fact::CompletionTokens(tokens) => counts.completion = Some(tokens),
            Fact::ReasoningTokens(tokens) => counts.reasoning = Some(tokens),
            Fact::Model => facts.model = name(text),
            Fact::Fingerprint => facts.fingerprint = name(text),
            Fact::Truncated => facts.truncated = true,
            Fact::Declined => facts.declined = true,
            Fact::Error => self.error().add_words(text),
            Fact::ErrorStatus(status) => self.error().add_number("status", status),
        }
    }

    /// What the document says, now that it is complete. `told_as_error`: the status or the event's
    /// name says that it is an error, whatever its shape.
    pub(super) fn complete(mut self, told_as_error: bool) -> Facts {
        if told_as_error {
            self.error();
        }
        if let Some(error) = &mut self.facts.error {
            error.add_words(self.loose.words.as_bytes());
            error.status = error.status.or(self.loose.status);
        }
        self.facts
    }
}

/// Cloudflare's `errors[0].message`, FastAPI's `detail[].msg`.
fn is_in_list_of_errors(path: &str) -> bool {
    let is_list = path.starts_with("errors[") || path.starts_with("detail[");
    is_list && (path.ends_with(".message") || path.ends_with(".msg"))
}

impl Facts {
    /// Takes what a later, complete document says: the first error counts, and the last of the rest.
    pub(super) fn merge(&mut self, later: Self) {
        self.choice |= later.choice;
        self.ended |= later.ended;
        self.declined |= later.declined;
        self.truncated |= later.truncated;
        self.finish_reason = later.finish_reason.or(self.finish_reason.take());
        self.error = self.error.take().or(later.error);
        self.id = self.id.or(later.id);
        self.counts.merge(&later.counts);
        self.model = later.model.or(self.model.take());
        self.fingerprint = later.fingerprint.or(self.fingerprint.take());
    }

    /// What was counted, if the length of the prompt was told.
    pub(super) fn usage(&self) -> Option<Usage> {
        let counts = &self.counts;
        let apart = counts.cached_apart.unwrap_or(0) + counts.written_apart.unwrap_or(0);
        Some(Usage {
            prompt_tokens: counts.prompt? + apart,
            completion_tokens: counts.completion.unwrap_or(0),
            cached_tokens: counts.cached.or(counts.cached_apart),
            reasoning_tokens: counts.reasoning,
        })
    }
}

fn sane_number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word)
        .ok()?
        .parse()
        .ok()
        .filter(|&number| number < SANE)
}

fn finish_reason(text: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let harmless = text.len() <= 32 && text.iter().all(is_plain);
    if harmless {
        String::from_utf8_lossy(text).into_owned()
    } else {
        "other".to_owned()
    }
}

/// A name of a model or build, if it looks like one.
fn name(text: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:/@+-".contains(byte);
    let harmless = (1..=64).contains(&text.len()) && text.iter().all(is_plain);
    harmless.then(|| String::from_utf8_lossy(text).into_owned())
}
