//! Refusals of prompts that are too long, as the known servers word them.
//!
//! Sources: transcripts of llama.cpp, llama-cpp-python, vLLM 0.32 and LiteLLM 1.89; the sources of
//! SGLang, TGI and TensorRT-LLM; public reports for OpenAI, Anthropic, Gemini and others. A request
//! for too many *output* tokens is worded differently and is not meant.

use super::facts::ErrorFacts;

/// Codes and types that mean nothing else.
const CODES: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "contextwindowexceedederror",
];

/// Phrases, in lower case; all of one row must stand in the message.
const PHRASES: &[&[&str]] = &[
    // SGLang: the model's limit, prompt and answer together, and the pool's limit.
    &["longer than the model's context length"],
    &["maximum context length"],
    &["exceeds the maximum allowed length"],
    // vLLM has "maximum context length" too.
    &["the model's context length is only"],
    &["is longer than the maximum model length"],
    // llama.cpp
    &["exceeds the available context size"],
    // TGI
    &["`inputs` tokens + `max_new_tokens` must be"],
    &["`inputs` must have less than"],
    // TensorRT-LLM
    &["exceeds maximum input length"],
    // Ollama
    &["exceeded max context length"],
    // OpenAI, Anthropic
    &["exceeds the context window"],
    &["prompt is too long"],
    &["prompt too long"],
    &["exceed context limit"],
    // Gateways and others
    &["exceeds the maximum allowed input length"],
    &["but the configured context size is"],
    &["input token count", "exceeds the maximum number of tokens"],
    &["prompt token count", "exceeds the limit of"],
    &["exceeded model token limit"],
    &["context window exceeds limit"],
    &["input is too long for requested model"],
    &["must be less than max_seq_len"],
];

/// What stands before the limit.
const BEFORE_LIMIT: &[&str] = &[
    "context length (",
    "maximum context length of ",
    "maximum context length is ",
    "maximum allowed length (",
    "maximum allowed input length of ",
    "context length is only ",
    "maximum model length of ",
    "available context size (",
    "`max_new_tokens` must be <= ",
    "maximum input length (",
    "configured context size is ",
    "maximum number of tokens allowed (",
    "exceeds the limit of ",
    "max_seq_len (",
    "must have less than ",
    "model token limit: ",
    " tokens > ",
    // "exceed context limit: 199000 + 8192 > 200000"
    " > ",
];

/// What stands before the length of the prompt. vLLM's "at least N" is a bound, not a length.
const BEFORE_LENGTH: &[&str] = &[
    "request (",
    "the input (",
    "you passed ",
    "your messages resulted in ",
    "prompt (length ",
    // Before "input length", which stands in "maximum input length" as well.
    "prompt length (",
    "input length (",
    "input length ",
    "prompt is too long: ",
    "prompt has ",
    "input token count (",
    "prompt token count of ",
    "length of prompt_tokens (",
    "exceed context limit: ",
    " given: ",
];

/// What stands after the length of the prompt, where a number stands before it.
const AFTER_LENGTH: &[&str] = &[" tokens from the input messages", " in the messages"];

/// What a refusal names, in tokens.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) limit: Option<u64>,
    pub(super) prompt_tokens: Option<u64>,
}

/// What an error names, if it says that the prompt is too long.
pub(super) fn recognise(error: &ErrorFacts) -> Option<Named> {
    let words = error.words.as_str();
    let is_code = CODES.iter().any(|code| words.contains(code));
    let is_phrase = PHRASES
        .iter()
        .any(|row| row.iter().all(|phrase| words.contains(phrase)));
    if !is_code && !is_phrase {
        return None;
    }
    let after = |marks: &[&str]| {
        marks
            .iter()
            .find_map(|mark| words.split(mark).skip(1).find_map(leading_number))
    };
    let before = |marks: &[&str]| {
        marks.iter().find_map(|mark| {
            words
                .split_once(mark)
                .and_then(|(head, _)| trailing_number(head))
        })
    };
    Some(Named {
        limit: error.n_ctx.or_else(|| after(BEFORE_LIMIT)),
        prompt_tokens: error
            .n_prompt_tokens
            .or_else(|| after(BEFORE_LENGTH))
            .or_else(|| before(AFTER_LENGTH)),
    })
}

/// The number a text begins with, from 1 to 10¹²; `1,048,576` counts as one.
fn leading_number(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != ',')
        .unwrap_or(text.len());
    sane(&text[..end])
}

fn trailing_number(text: &str) -> Option<u64> {
    let start = text
        .rfind(|c: char| !c.is_ascii_digit() && c != ',')
        .map_or(0, |at| at + 1);
    text.get(start..).and_then(sane)
}

fn sane(digits: &str) -> Option<u64> {
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    digits
        .parse()
        .ok()
        .filter(|number| (1..1_000_000_000_000).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(message: &str) -> Option<(Option<u64>, Option<u64>)> {
        let error = ErrorFacts {
            words: message.to_lowercase(),
            ..ErrorFacts::default()
        };
        recognise(&error).map(|named| (named.limit, named.prompt_tokens))
    }

    #[test]
    fn every_known_wording_is_recognised_with_the_numbers_it_names() {
        for (message, limit, length) in [
            (
                "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
                Some(40_960),
                Some(61_709),
            ),
            (
                "Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256878 tokens: 31216 tokens from the input messages and 225662 tokens for the completion. Please reduce",
                Some(256_000),
                Some(31_216),
            ),
            (
                "Input length (700000 tokens) exceeds the maximum allowed length (681274 tokens). Use a shorter input or enable --allow-auto-truncate.",
                Some(681_274),
                Some(700_000),
            ),
            (
                "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens, which exceeds this limit",
                Some(4_096),
                None,
            ),
            (
                "You passed 5000 input tokens and requested 64 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 4032 tokens.",
                Some(4_096),
                Some(5_000),
            ),
            (
                "The decoder prompt (length 9000) is longer than the maximum model length of 8192",
                Some(8_192),
                Some(9_000),
            ),
            (
                "request (10831 tokens) exceeds the available context size (8192 tokens), try increasing it",
                Some(8_192),
                Some(10_831),
            ),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 10855 tokens (10831 in the messages, 24 in the completion).",
                Some(8_192),
                Some(10_831),
            ),
            (
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 142537 tokens. Please",
                Some(128_000),
                Some(142_537),
            ),
            (
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
                Some(4_096),
                Some(5_000),
            ),
            (
                "prompt is too long: 203284 tokens > 200000 maximum",
                Some(200_000),
                Some(203_284),
            ),
            (
                "Prompt length (9000) exceeds maximum input length (8192)",
                Some(8_192),
                Some(9_000),
            ),
            (
                "Prompt has 9,000 tokens, but the configured context size is 8,192",
                Some(8_192),
                Some(9_000),
            ),
            (
                "The input token count (1500000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
                Some(1_500_000),
            ),
            (
                "prompt token count of 9000 exceeds the limit of 8192",
                Some(8_192),
                Some(9_000),
            ),
            (
                "length of prompt_tokens (9000) must be less than max_seq_len (8192)",
                Some(8_192),
                Some(9_000),
            ),
            (
                "Your input exceeds the context window of this model.",
                None,
                None,
            ),
            (
                "prompt too long; exceeded max context length by 12 tokens",
                None,
                None,
            ),
            ("context_length_exceeded", None, None),
        ] {
            assert_eq!(named(message), Some((limit, length)), "{message}");
        }
    }

    #[test]
    fn other_refusals_are_not_mistaken_for_it() {
        for message in [
            "max_tokens=100000 cannot be greater than max_model_len=4096. Please request fewer output tokens.",
            "'max_tokens' or 'max_completion_tokens' is too large: 262144. This model supports at most 256000 completion tokens.",
            "The model `nope` does not exist.",
            "request entity too large",
            "",
        ] {
            assert_eq!(named(message), None, "{message}");
        }
    }

    #[test]
    fn absurd_numbers_are_not_believed() {
        assert_eq!(
            named("maximum context length is 99999999999999999999999 tokens"),
            Some((None, None))
        );
        assert_eq!(
            named("maximum context length is 0 tokens"),
            Some((None, None))
        );
    }
}
