#![allow(clippy::unwrap_used)]

use super::*;
use crate::endpoint::Api;
use std::collections::BTreeMap;

/// The text of each place, by its shown name; `*` marks answers.
#[derive(Default)]
struct Texts(BTreeMap<String, String>);

impl Sink for Texts {
    fn piece(&mut self, place: &Place, bytes: &[u8]) {
        let mark = if place.is_answer() { "*" } else { "" };
        let text = self.0.entry(format!("{mark}{place}")).or_default();
        text.push_str(&String::from_utf8_lossy(bytes));
    }
}

fn walk(documents: &[&str]) -> BTreeMap<String, String> {
    let mut texts = Texts::default();
    let mut walker = Walker::new(Api::OpenAiChat, true);
    for document in documents {
        let _ = walker.walk(document.as_bytes(), &mut texts);
    }
    texts.0
}

#[test]
fn deltas_of_one_choice_form_one_text_wherever_its_index_stands() {
    let texts = walk(&[
        r#"{"choices":[{"index":0,"delta":{"content":"AB-"}},{"delta":{"content":"xy"},"index":1}]}"#,
        r#"{"choices":[{"delta":{"content":"z"},"index":1}]}"#,
        r#"{"choices":[{"delta":{"content":"CD"},"index":0}]}"#,
    ]);
    assert_eq!(texts["*choices[0].delta.content"], "AB-CD");
    assert_eq!(texts["*choices[1].delta.content"], "xyz");
}

#[test]
fn tokens_of_logprobs_form_one_text_and_the_alternatives_one_for_each_rank() {
    let texts = walk(&[r#"{"choices":[{"index":0,"logprobs":{"content":[
            {"token":"AB","logprob":-0.5,"top_logprobs":[{"token":"AB"},{"token":"xx"}]},
            {"token":"CD","logprob":-1,"top_logprobs":[{"token":"CD"},{"token":"yy"}]}]}}]}"#]);
    assert_eq!(texts["choices[0].logprobs.content[].token"], "ABCD");
    assert_eq!(
        texts["choices[0].logprobs.content[].top_logprobs[1].token"],
        "xxyy"
    );
    assert_eq!(texts["choices[0].logprobs.content[].logprob"], "-0.5 -1 ");
}

#[test]
fn tool_calls_stay_apart_and_content_parts_follow_each_other() {
    let texts = walk(&[
        r#"{"choices":[{"message":{"content":[{"type":"text","text":"one "},{"type":"text","text":"two"}],
            "tool_calls":[{"function":{"name":"f","arguments":"{\"a\":"}},{"function":{"name":"g","arguments":"{}"}}]}}]}"#,
    ]);
    assert_eq!(texts["*choices[0].message.content[].text"], "one two");
    assert_eq!(
        texts["*choices[0].message.tool_calls[0].function.arguments"],
        r#"{"a":"#
    );
    assert_eq!(
        texts["*choices[0].message.tool_calls[1].function.arguments"],
        "{}"
    );
}

#[test]
fn nothing_is_lost_that_a_strict_parser_would_lose() {
    let texts = walk(&[
        r#"{"id":"a","id":"b","created":1234567890123456789012345678901234567890,"x":"\ud800!"}"#,
    ]);
    assert_eq!(texts["id"], "ab", "duplicate keys");
    assert_eq!(
        texts["created"], "1234567890123456789012345678901234567890 ",
        "long numbers"
    );
    assert_eq!(texts["?1"], "\u{fffd}!", "lone surrogates");
    assert_eq!(
        walk(&[r#"{"choices":[{"text":"breaks of"#])["*choices[0].text"],
        "breaks of"
    );
    assert_eq!(
        walk(&[r#"[{"error":{"message":"m"}},"s"]"#])["error.message"],
        "m",
        "a list of documents"
    );
}

#[test]
fn unknown_names_are_shown_to_the_sink_and_numbered_in_paths() {
    let texts = walk(&[
        r#"{"jane.doe@example.com":{"code":"s3"},"other":"x"}"#,
        r#"{"other":"y","jane.doe@example.com":{"code":"cret"}}"#,
    ]);
    assert_eq!(texts["?1.code"], "s3cret");
    assert_eq!(texts["?2"], "xy");
    assert!(texts["JSON keys"].contains("jane.doe@example.com\n"));
    assert!(texts.keys().all(|place| !place.contains("jane")));
}

#[test]
fn the_number_of_places_is_bounded_and_the_rest_still_reaches_the_sink() {
    let many: Vec<String> = (0..5_000)
        .map(|n| format!(r#"{{"choices":[{{"index":{n},"text":"t{n}"}}]}}"#))
        .collect();
    let documents: Vec<&str> = many.iter().map(String::as_str).collect();
    let texts = walk(&documents);
    assert!(texts.len() <= MAX_PATHS + 3, "{}", texts.len());
    assert!(texts["*…"].contains("t4999\n"));
    let names: String = (0..5_000).map(|n| format!(r#""k{n}":"v{n}","#)).collect();
    let texts = walk(&[&format!("{{{names}\"end\":\"e\"}}")]);
    assert!(texts.len() <= MAX_UNKNOWN_NAMES + 3, "{}", texts.len());
    assert!(texts["?"].contains("v4999"));
}

#[test]
fn deep_nesting_ends_the_walk_and_not_the_stack() {
    let mut texts = Texts::default();
    for open in ["[", "{\"a\":"] {
        let deep = open.repeat(500_000);
        let result = Walker::new(Api::OpenAiChat, true).walk(deep.as_bytes(), &mut texts);
        assert!(matches!(result, Err((Flaw::TooDeep, _))));
    }
}

#[test]
fn only_a_successful_response_holds_an_answer() {
    let mut texts = Texts::default();
    let mut walker = Walker::new(Api::OpenAiChat, false);
    assert!(
        walker
            .walk(br#"{"choices":[{"text":"t"}]}"#, &mut texts)
            .is_ok()
    );
    assert!(!walker.answer_began);
    assert_eq!(texts.0["choices[0].text"], "t");
}
