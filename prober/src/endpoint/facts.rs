//! What the documents of a response say about themselves: choices, ends, usage, errors.

use super::outcome::Usage;

/// Numbers from here on are nonsense, not counts of tokens.
const SANE: u64 = 1_000_000_000_000;
/// So much of an error's message is looked at to tell what it means, in bytes.
const MESSAGE_BYTES: usize = 4 << 10;

/// What one document says, or all documents of a response so far.
#[derive(Default)]
pub(super) struct Facts {
    /// It has at least one choice.
    pub(super) choice: bool,
    /// Why a choice ended, made harmless.
    pub(super) finish_reason: Option<String>,
    /// The error it tells.
    pub(super) error: Option<ErrorFacts>,
    pub(super) usage: Option<Usage>,
    pub(super) model: Option<String>,
    pub(super) fingerprint: Option<String>,
}

/// What a document says while it is being read. Counts only once the document is complete.
#[derive(Default)]
pub(super) struct Draft {
    facts: Facts,
    /// Fields of the document itself that only mean an error if something else says so.
    loose: ErrorFacts,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    prompt: Option<u64>,
    completion: Option<u64>,
    cached: Option<u64>,
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
    pub(super) fn on_object(&mut self, path: &str) {
        if path == "error" {
            self.facts.error.get_or_insert_default();
        } else if path == "usage" {
            self.counts = Counts::default();
        } else if choice_part(path) == Some("") {
            self.facts.choice = true;
        }
    }

    pub(super) fn on_string(&mut self, path: &str, text: &[u8]) {
        match path {
            "model" => self.facts.model = name(text),
            "system_fingerprint" => self.facts.fingerprint = name(text),
            "object" if text == b"error" => drop(self.facts.error.get_or_insert_default()),
            "error" => self.facts.error.get_or_insert_default().add_words(text),
            "message" | "detail" | "type" => self.loose.add_words(text),
            "code" => {
                self.loose.add_words(text);
                self.loose_number("code", text);
            }
            "error.message" | "error.type" => {
                self.facts.error.get_or_insert_default().add_words(text)
            }
            "error.code" => {
                let error = self.facts.error.get_or_insert_default();
                error.add_words(text);
                // LiteLLM writes its status as a string.
                if let Some(number) = sane_number(text) {
                    error.add_number("code", number);
                }
            }
            _ if choice_part(path) == Some(".finish_reason") && !text.is_empty() => {
                self.facts.finish_reason = Some(finish_reason(text));
            }
            _ => {}
        }
    }

    pub(super) fn on_number(&mut self, path: &str, word: &[u8]) {
        let Some(number) = sane_number(word) else {
            return;
        };
        match path {
            "usage.prompt_tokens" => self.counts.prompt = Some(number),
            "usage.completion_tokens" => self.counts.completion = Some(number),
            "usage.prompt_tokens_details.cached_tokens" => self.counts.cached = Some(number),
            "code" => self.loose.add_number("code", number),
            _ => {
                if let Some(name) = path.strip_prefix("error.") {
                    self.facts
                        .error
                        .get_or_insert_default()
                        .add_number(name, number);
                }
            }
        }
    }

    fn loose_number(&mut self, name: &str, text: &[u8]) {
        if let Some(number) = sane_number(text) {
            self.loose.add_number(name, number);
        }
    }

    /// What the document says, now that it is complete. `told_as_error`: the status or the event's
    /// name says that it is an error, whatever its shape.
    pub(super) fn complete(mut self, told_as_error: bool) -> Facts {
        if told_as_error {
            self.facts.error.get_or_insert_default();
        }
        if let Some(error) = &mut self.facts.error {
            error.add_words(self.loose.words.as_bytes());
            error.status = error.status.or(self.loose.status);
        }
        self.facts.usage = self.counts.prompt.map(|prompt_tokens| Usage {
            prompt_tokens,
            completion_tokens: self.counts.completion.unwrap_or(0),
            cached_tokens: self.counts.cached,
        });
        self.facts
    }
}

impl Facts {
    /// Takes what a later, complete document says: the first error counts, and the last of the rest.
    pub(super) fn merge(&mut self, later: Self) {
        self.choice |= later.choice;
        self.finish_reason = later.finish_reason.or(self.finish_reason.take());
        self.error = self.error.take().or(later.error);
        self.usage = later.usage.or(self.usage);
        self.model = later.model.or(self.model.take());
        self.fingerprint = later.fingerprint.or(self.fingerprint.take());
    }
}

/// The part of a path after `choices[…]`.
fn choice_part(path: &str) -> Option<&str> {
    let (_, part) = path.strip_prefix("choices[")?.split_once(']')?;
    Some(part)
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
