use super::*;

fn ask(stream: bool) -> Ask<'static> {
    Ask {
        model: "a \"quoted\" model",
        max_tokens: 64,
        stream,
    }
}

#[test]
fn every_body_has_the_prompt_in_it_once() {
    for api in Api::ALL {
        for stream in [true, false] {
            let body = api.dialect().body(&ask(stream)).to_string();
            let mark = Value::from(PROMPT).to_string();
            assert_eq!(body.matches(&mark).count(), 1, "{}", api.as_str());
            assert!(body.contains("64"), "{}: {body}", api.as_str());
        }
    }
}

#[test]
fn a_streaming_chat_request_asks_for_usage_and_a_plain_one_does_not() {
    let body = |stream| Api::OpenAiChat.dialect().body(&ask(stream));
    assert_eq!(
        body(true),
        serde_json::json!({
            "model": "a \"quoted\" model",
            "messages": [{"role": "user", "content": PROMPT}],
            "max_tokens": 64,
            "temperature": 0,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
    assert_eq!(body(false).get("stream_options"), None);
}

#[test]
fn the_url_is_the_same_with_and_without_a_slash_at_the_end() {
    for api in Api::ALL {
        let url = |base| api.dialect().url(base, &ask(true));
        assert_eq!(url("http://h/v1"), url("http://h/v1/"));
    }
    let chat = Api::OpenAiChat.dialect();
    assert_eq!(
        chat.url("http://h/v1", &ask(true)),
        "http://h/v1/chat/completions"
    );
}

#[test]
fn only_what_the_model_wrote_counts_as_answer() {
    let is_answer = openai_chat::is_answer;
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
