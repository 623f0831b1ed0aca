//! Responses of the wrong shape.

use crate::support::*;
use prober::endpoint::{CutOff, Outcome};

#[tokio::test]
async fn a_stream_that_ends_early_is_cut_off() {
    let chunked = |end: &str| {
        let length = DELTA.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        format!("{head}{length:x}\r\n{DELTA}\r\n{end}")
    };
    for end in ["", "ff\r\ndata: {\"cho", "zz\r\n"] {
        assert_eq!(
            outcome_of(chunked(end)).await,
            Outcome::CutOff(CutOff::MidBody),
            "{end}"
        );
    }
    assert_eq!(
        outcome_of(chunked("0\r\n\r\n")).await,
        Outcome::CutOff(CutOff::NoEnd)
    );
    assert_eq!(
        outcome_of(format!("{STREAM_HEAD}{DELTA}")).await,
        Outcome::CutOff(CutOff::NoEnd)
    );
    for response in ["", "HTTP/1.1 200"] {
        assert_eq!(
            outcome_of(response).await,
            Outcome::CutOff(CutOff::BeforeResponse),
            "{response}"
        );
    }
}

#[tokio::test]
async fn a_body_shorter_than_its_content_length_is_cut_off_and_a_longer_one_is_not_read_on() {
    let json = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let response = |length: usize| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{json}"
        )
    };
    assert_eq!(outcome_of(response(json.len())).await, Outcome::Answered);
    assert_eq!(
        outcome_of(response(json.len() + 10)).await,
        Outcome::CutOff(CutOff::MidBody)
    );
    assert_eq!(
        outcome_of(response(json.len() - 10)).await,
        Outcome::Malformed("the body is not JSON")
    );
}

#[tokio::test]
async fn malformed_streams_are_no_answers() {
    for (stream, reason) in [
        (
            "data: {\"choices\":[{\"delta\":\n\ndata: [DONE]\n\n",
            "an event is not JSON",
        ),
        ("data: hello\n\ndata: [DONE]\n\n", "no choices"),
        ("data: {}\n\n", "no choices"),
        ("data: {\"choices\":[]}\n\ndata: [DONE]\n\n", "no choices"),
        (
            "data: {\"choices\":\"none\"}\n\ndata: [DONE]\n\n",
            "no choices",
        ),
        ("nonsense", "empty stream"),
        ("", "empty stream"),
    ] {
        let outcome = outcome_of(format!("{STREAM_HEAD}{stream}")).await;
        assert_eq!(outcome, Outcome::Malformed(reason), "{stream}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_reach_the_sink_as_they_are() {
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xff\xc3\"}}]}\n\n";
    let base_url = serve_bytes([STREAM_HEAD.as_bytes(), event, ANSWER.as_bytes()].concat()).await;
    let (exchange, sink) = exchange(&base_url, impatient(), Text(64)).await;
    assert_eq!(exchange.outcome, Outcome::Answered);
    assert_eq!(sink.0["choices[0].delta.content"], b"a\xff\xc3hi");
}

#[tokio::test]
async fn what_is_not_http_is_malformed() {
    for response in [
        "SSH-2.0-OpenSSH_9.7\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
    ] {
        assert_eq!(
            outcome_of(response).await,
            Outcome::Malformed("the head is not HTTP"),
            "{response}"
        );
    }
}

#[tokio::test]
async fn headers_and_trailers_reach_the_sink() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-note: in the head\r\ntransfer-encoding: chunked";
    let base_url = serve_bytes(format!(
        "{head}\r\ntrailer: x-end\r\n\r\n{:x}\r\n{ANSWER}\r\n0\r\nx-end: in the trailer\r\n\r\n",
        ANSWER.len()
    ))
    .await;
    let (exchange, sink) = exchange(&base_url, impatient(), Text(64)).await;
    assert_eq!(exchange.outcome, Outcome::Answered);
    assert_eq!(sink.text("header x-note"), "in the head\n");
    assert_eq!(sink.text("trailer x-end"), "in the trailer\n");
}

#[tokio::test]
async fn no_text_of_a_response_and_no_credential_is_in_an_exchange_or_a_place() {
    let secret = "sk-tenant-a SECRET";
    let error = format!(
        r#"{{"error":{{"message":"{secret}","code":"{secret}","type":"{secret}"}},"model":"{secret}","{secret}":1}}"#
    );
    let choice = format!(
        r#"data: {{"choices":[{{"delta":{{"content":"{secret}"}},"finish_reason":"{secret}"}}],"system_fingerprint":"{secret}"}}"#
    );
    for response in [
        format!("{STREAM_HEAD}data: {error}\n\n"),
        format!("{STREAM_HEAD}{choice}\n\n"),
        format!("{STREAM_HEAD}{choice}\n\ndata: {error}\n\n"),
        format!(
            "HTTP/1.1 400 SECRET\r\nx-secret: {secret}\r\ncontent-length: {}\r\n\r\n{error}",
            error.len()
        ),
        format!("HTTP/1.1 200 OK\r\n\r\n{secret}"),
        format!("{secret}\r\n\r\n"),
    ] {
        let base_url = serve_bytes(response.clone()).await;
        let (exchange, sink) = exchange(&base_url, impatient(), Text(64)).await;
        let shown = format!(
            "{exchange:?} {} {}",
            exchange.outcome,
            exchange.outcome.as_str()
        );
        assert!(
            !shown.contains("SECRET") && !shown.contains("sk-tenant"),
            "{shown}"
        );
        assert!(
            sink.0.keys().all(|place| !place.contains("SECRET")),
            "{response}"
        );
    }
}
