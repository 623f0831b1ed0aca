//! Real bytes of real servers (`tests/data/transcripts/`, recorded with their HTTP heads and chunks).

use super::*;
use std::path::Path;

struct Transcript {
    status: u16,
    headers: Vec<(String, String)>,
    /// The pieces the server wrote.
    chunks: Vec<Vec<u8>>,
}

fn load(name: &str) -> Transcript {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/transcripts")
        .join(format!("{name}.resp"));
    let bytes = std::fs::read(path).unwrap();
    let split = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap();
    let head = std::str::from_utf8(&bytes[..split]).unwrap();
    let body = &bytes[split + 4..];
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let is_chunked = headers
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let chunks = if is_chunked {
        dechunked(body)
    } else {
        vec![body.to_vec()]
    };
    Transcript {
        status,
        headers,
        chunks,
    }
}

fn dechunked(mut body: &[u8]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        body = &body[end + 2..];
        // A client that hung up left the last chunk unfinished.
        let taken = size.min(body.len());
        chunks.push(body[..taken].to_vec());
        body = body.get(size + 2..).unwrap_or_default();
    }
    chunks
}

impl Transcript {
    fn read<'c>(&self, chunks: impl IntoIterator<Item = &'c [u8]>) -> Read {
        self.read_as(Api::OpenAiChat, chunks)
    }

    fn read_as<'c>(&self, api: Api, chunks: impl IntoIterator<Item = &'c [u8]>) -> Read {
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        Given {
            status: self.status,
            asked: Asked { api, stream: true },
            ..Given::default()
        }
        .read_with(&headers, chunks)
    }

    fn read_as_written(&self) -> Read {
        self.read(self.chunks.iter().map(Vec::as_slice))
    }
}

const ALL: [&str; 19] = [
    "litellm-1.89.7__chat_stream",
    "litellm-1.89.7__err_noauth",
    "litellm-1.89.7__err_overlong",
    "litellm-1.89.7__err_unknown_model",
    "llama-cpp-python-0.3.36__chat_stream",
    "llama-cpp-python-0.3.36__err_overlong",
    "llama-cpp-python-0.3.36__err_overlong_stream",
    "llama-server-571d0d5__chat_nonstream_cold",
    "llama-server-571d0d5__chat_prompt_progress_stream",
    "llama-server-571d0d5__chat_stream_usage",
    "llama-server-571d0d5__err_overlong_chat",
    "llama-server-571d0d5__err_overlong_stream",
    "sglang-router-0.3.2__chat_stream",
    "vllm-0.32.0-cpu__chat_logprobs",
    "vllm-0.32.0-cpu__chat_stream_client_abort",
    "vllm-0.32.0-cpu__chat_stream_usage",
    "vllm-0.32.0-cpu__err_max_tokens_too_big",
    "vllm-0.32.0-cpu__err_overlong_chat",
    "vllm-0.32.0-cpu__err_unknown_model",
];

fn outcome_of(name: &str) -> Outcome {
    load(name).read_as_written().outcome
}

#[test]
fn answers_are_answers() {
    for (name, path, text, prompt_tokens, cached_tokens) in [
        (
            "llama-server-571d0d5__chat_nonstream_cold",
            "choices[0].message.content",
            "The access code of Orion is 4821730965.",
            Some(426),
            Some(0),
        ),
        (
            "llama-server-571d0d5__chat_stream_usage",
            "choices[0].delta.content",
            "The access code of Orion is",
            Some(426),
            None,
        ),
        (
            "llama-server-571d0d5__chat_prompt_progress_stream",
            "choices[0].delta.content",
            "The access code",
            None,
            None,
        ),
        (
            "llama-cpp-python-0.3.36__chat_stream",
            "choices[0].delta.content",
            "The access code of Orion is",
            None,
            None,
        ),
        (
            "litellm-1.89.7__chat_stream",
            "choices[0].delta.content",
            "The access code of Orion is",
            None,
            None,
        ),
        (
            "vllm-0.32.0-cpu__chat_stream_usage",
            "choices[0].delta.content",
            "cal                   ",
            Some(675),
            Some(640),
        ),
        (
            "vllm-0.32.0-cpu__chat_logprobs",
            "choices[0].message.content",
            "cal                   ",
            Some(675),
            Some(640),
        ),
        (
            "sglang-router-0.3.2__chat_stream",
            "choices[0].delta.content",
            "from decode",
            None,
            None,
        ),
    ] {
        let read = load(name).read_as_written();
        assert_eq!(read.outcome, Outcome::Answered, "{name}");
        assert!(
            read.text(path).starts_with(text),
            "{name}: {}",
            read.text(path)
        );
        let usage = read.usage.unwrap_or(Usage {
            prompt_tokens: 0,
            completion_tokens: 0,
            cached_tokens: None,
            reasoning_tokens: None,
        });
        if let Some(prompt_tokens) = prompt_tokens {
            assert_eq!(usage.prompt_tokens, prompt_tokens, "{name}");
        }
        if cached_tokens.is_some() {
            assert_eq!(usage.cached_tokens, cached_tokens, "{name}");
        }
    }
}

#[test]
fn refusals_of_long_prompts_are_recognised_with_the_numbers_they_name() {
    for (name, limit, prompt_tokens) in [
        (
            "llama-server-571d0d5__err_overlong_chat",
            8_192,
            Some(10_831),
        ),
        (
            "llama-server-571d0d5__err_overlong_stream",
            8_192,
            Some(10_831),
        ),
        ("llama-cpp-python-0.3.36__err_overlong", 8_192, Some(10_831)),
        ("litellm-1.89.7__err_overlong", 8_192, Some(10_831)),
        ("vllm-0.32.0-cpu__err_overlong_chat", 4_096, None),
    ] {
        assert_eq!(
            outcome_of(name),
            Outcome::RejectedTooLong {
                limit: Some(limit),
                prompt_tokens
            },
            "{name}"
        );
    }
}

#[test]
fn other_ends_are_what_they_are() {
    for (name, expected) in [
        (
            "llama-cpp-python-0.3.36__err_overlong_stream",
            Outcome::Malformed("empty stream"),
        ),
        (
            "vllm-0.32.0-cpu__err_max_tokens_too_big",
            Outcome::Refused(400),
        ),
        ("vllm-0.32.0-cpu__err_unknown_model", Outcome::ModelUnknown),
        ("litellm-1.89.7__err_unknown_model", Outcome::ModelUnknown),
        ("litellm-1.89.7__err_noauth", Outcome::ServerError(500)),
        (
            "vllm-0.32.0-cpu__chat_stream_client_abort",
            Outcome::CutOff(crate::endpoint::CutOff::NoEnd),
        ),
    ] {
        assert_eq!(outcome_of(name), expected, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn however_a_transcript_is_cut_it_reads_the_same(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
    ) {
        for name in ALL {
            let transcript = load(name);
            let body = transcript.chunks.concat();
            let expected = transcript.read_as_written();
            let chunks = split(&body, &cuts);
            prop_assert_eq!(&expected, &transcript.read(chunks.iter().map(Vec::as_slice)), "{}", name);
        }
    }
}

#[test]
fn a_transcript_read_byte_by_byte_reads_the_same() {
    for name in ALL {
        let transcript = load(name);
        let body = transcript.chunks.concat();
        assert_eq!(
            transcript.read_as_written(),
            transcript.read(body.chunks(1)),
            "{name}"
        );
    }
}

#[test]
fn raw_completions_of_llama_cpp_and_vllm_are_answers_of_their_apis() {
    for (name, api, path, text, tokens) in [
        (
            "llama-server-571d0d5__completion_native_stream",
            Api::LlamaCppCompletion,
            "content",
            "482",
            (26, 6),
        ),
        (
            "llama-server-571d0d5__completion_oai",
            Api::OpenAiCompletions,
            "choices[0].text",
            "4",
            (206, 12),
        ),
        (
            "vllm-0.32.0-cpu__completion",
            Api::OpenAiCompletions,
            "choices[0].text",
            " samec",
            (11, 8),
        ),
    ] {
        let transcript = load(name);
        let read = transcript.read_as(api, transcript.chunks.iter().map(Vec::as_slice));
        assert_eq!(read.outcome, Outcome::Answered, "{name}");
        assert!(
            read.text(path).contains(text),
            "{name}: {}",
            read.text(path)
        );
        let usage = read.usage.unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens),
            tokens,
            "{name}"
        );
        assert!(read.finish_reason.is_some(), "{name}");
    }
}

/// One llama.cpp server speaks five of the APIs.
#[test]
fn llama_cpp_answers_and_refuses_in_each_api_it_speaks() {
    for (name, api, path, tokens, cached) in [
        ("native_plain", Api::LlamaCppCompletion, "content", 26, true),
        (
            "responses_plain",
            Api::OpenAiResponses,
            "output[0].content[].text",
            56,
            true,
        ),
        ("responses_stream", Api::OpenAiResponses, "delta", 56, true),
        (
            "messages_plain",
            Api::AnthropicMessages,
            "content[0].text",
            56,
            true,
        ),
        ("messages_stream", Api::AnthropicMessages, "text", 56, true),
    ] {
        let transcript = load(&format!("llama-server-571d0d5__{name}"));
        let read = transcript.read_as(api, transcript.chunks.iter().map(Vec::as_slice));
        assert_eq!(read.outcome, Outcome::Answered, "{name}");
        let usage = read.usage.unwrap();
        assert_eq!(usage.prompt_tokens, tokens, "{name}");
        assert_eq!(usage.cached_tokens.is_some(), cached, "{name}");
        assert!(
            usage.completion_tokens > 0 && read.finish_reason.is_some(),
            "{name}"
        );
        assert!(
            !read.text(path).is_empty(),
            "{name}: {:?}",
            read.texts.keys()
        );
    }
    for (name, api, length) in [
        ("native", Api::LlamaCppCompletion, 9_001),
        ("completions", Api::OpenAiCompletions, 9_001),
        ("responses", Api::OpenAiResponses, 9_031),
        ("messages", Api::AnthropicMessages, 9_031),
    ] {
        let transcript = load(&format!("llama-server-571d0d5__err_overlong_{name}"));
        let read = transcript.read_as(api, transcript.chunks.iter().map(Vec::as_slice));
        let expected = Outcome::RejectedTooLong {
            limit: Some(8_192),
            prompt_tokens: Some(length),
        };
        assert_eq!(read.outcome, expected, "{name}");
    }
}
