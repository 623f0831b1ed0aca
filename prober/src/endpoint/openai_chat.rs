//! The wire format `POST …/chat/completions`: how a request is written, and which names its answers
//! are known to have.

use serde_json::json;

/// The request body before and after the prompt's text.
pub(super) fn body_around(model: &str, max_tokens: u32, stream: bool) -> (String, String) {
    let model = json!(model);
    let head = format!(r#"{{"model":{model},"messages":[{{"role":"user","content":""#);
    let options = if stream {
        r#","stream_options":{"include_usage":true}"#
    } else {
        ""
    };
    let tail =
        format!(r#""}}],"max_tokens":{max_tokens},"temperature":0,"stream":{stream}{options}}}"#);
    (head, tail)
}

/// The request's URL.
pub(super) fn url(base_url: &str) -> String {
    format!("{}/chat/completions", base_url.trim_end_matches('/'))
}

/// Whether the text at a path is the model's own words.
pub(super) fn is_answer(path: &str) -> bool {
    let Some(choice) = path.strip_prefix("choices[") else {
        return false;
    };
    let Some((_, inside)) = choice.split_once("].") else {
        return false;
    };
    if inside == "text" {
        return true;
    }
    let spoken = inside
        .strip_prefix("delta.")
        .or_else(|| inside.strip_prefix("message."));
    let leaf = spoken.and_then(|path| path.rsplit('.').next());
    leaf.is_some_and(|leaf| SPOKEN.contains(&leaf.trim_end_matches("[]")))
}

/// Leaves of a message that the model wrote.
const SPOKEN: &[&str] = &[
    "content",
    "text",
    "reasoning",
    "reasoning_content",
    "reasoning_text",
    "thinking",
    "refusal",
    "arguments",
    "name",
    "transcript",
    "summary",
];

/// Whether arrays of this name are lists of things that stay apart by their position. The elements
/// of other inner arrays (tokens, content parts) follow each other as one text.
pub(super) fn is_list_of_things(name: &str) -> bool {
    matches!(name, "choices" | "tool_calls" | "top_logprobs")
}

/// Names that the known servers use. Only these may stand in a path: any other name is text of the
/// response, and that must not reach a log or a table.
pub(super) fn is_known_name(name: &str) -> bool {
    KNOWN.contains(&name)
}

const KNOWN: &[&str] = &[
    "annotations",
    "arguments",
    "audio",
    "bytes",
    "cache",
    "cache_n",
    "cached_tokens",
    "choices",
    "code",
    "completion_tokens",
    "completion_tokens_details",
    "content",
    "content_filter_results",
    "created",
    "created_cache_tokens",
    "data",
    "delta",
    "detail",
    "details",
    "ec_transfer_params",
    "error",
    "error_type",
    "errors",
    "finish_reason",
    "function",
    "function_call",
    "id",
    "index",
    "input",
    "kv_transfer_params",
    "logprob",
    "logprobs",
    "matched_stop",
    "message",
    "messages",
    "meta",
    "metadata",
    "metrics",
    "model",
    "msg",
    "multimodal_tokens",
    "n_ctx",
    "n_prompt_tokens",
    "name",
    "object",
    "output",
    "param",
    "predicted_ms",
    "predicted_n",
    "predicted_per_second",
    "predicted_per_token_ms",
    "processed",
    "prompt",
    "prompt_logprobs",
    "prompt_ms",
    "prompt_n",
    "prompt_per_second",
    "prompt_per_token_ms",
    "prompt_progress",
    "prompt_text",
    "prompt_token_ids",
    "prompt_tokens",
    "prompt_tokens_details",
    "provider",
    "provider_specific_fields",
    "reasoning",
    "reasoning_content",
    "reasoning_tokens",
    "refusal",
    "request_id",
    "role",
    "routed_experts",
    "service_tier",
    "stop_reason",
    "system_fingerprint",
    "text",
    "thinking",
    "time_ms",
    "timings",
    "token",
    "token_ids",
    "tokens",
    "tool_calls",
    "top_logprobs",
    "total",
    "total_tokens",
    "type",
    "usage",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_streaming_request_asks_for_usage_and_a_plain_one_does_not() {
        let whole = |stream| {
            let (head, tail) = body_around("a \"quoted\" model", 64, stream);
            format!("{head}PROMPT{tail}")
        };
        assert_eq!(
            whole(true),
            r#"{"model":"a \"quoted\" model","messages":[{"role":"user","content":"PROMPT"}],"max_tokens":64,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}"#
        );
        assert_eq!(
            whole(false),
            r#"{"model":"a \"quoted\" model","messages":[{"role":"user","content":"PROMPT"}],"max_tokens":64,"temperature":0,"stream":false}"#
        );
    }

    #[test]
    fn the_url_is_the_same_with_and_without_a_slash_at_the_end() {
        assert_eq!(url("http://h/v1"), "http://h/v1/chat/completions");
        assert_eq!(url("http://h/v1/"), "http://h/v1/chat/completions");
    }

    #[test]
    fn only_what_the_model_wrote_counts_as_answer() {
        for path in [
            "choices[0].delta.content",
            "choices[1].message.reasoning_content",
            "choices[0].message.content[].text",
            "choices[0].delta.tool_calls[0].function.arguments",
            "choices[0].message.refusal",
            "choices[0].text",
        ] {
            assert!(is_answer(path), "{path}");
        }
        for path in [
            "choices[0].delta.role",
            "choices[0].logprobs.content[].token",
            "choices[0].finish_reason",
            "error.message",
            "message.content",
            "prompt_text",
            "model",
        ] {
            assert!(!is_answer(path), "{path}");
        }
    }
}
