//! What leaves, and servers that answer or go away before all of it has.

use crate::support::*;
use prober::endpoint::{
    Api, Connection, CutOff, Extras, HeaderText, Limits, Outcome, Target, TenantClient, Unsent,
};
use secrecy::SecretString;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::test]
async fn a_request_has_its_exact_length_and_credential_and_its_answer_reaches_the_sink() {
    let (told, request) = told_once();
    let base_url = serve(move |mut stream| {
        let told = told.take();
        async move {
            let request = read_request(&mut stream).await;
            told.send(request).unwrap();
            stream
                .write_all(format!("{STREAM_HEAD}{ANSWER}").as_bytes())
                .await
                .unwrap();
        }
    })
    .await;
    let (exchange, sink) = exchange(&base_url, Limits::default(), Text(3 * MIB)).await;
    let (head, body) = request.await.unwrap();
    assert!(head.starts_with("post /v1/chat/completions http/1.1\r\n"));
    assert!(head.contains("authorization: bearer sk-tenant-a\r\n"));
    assert!(head.contains("accept-encoding: identity\r\n"));
    assert!(!head.contains("transfer-encoding"));
    assert_eq!(content_length(&head), body.len());
    assert_eq!(exchange.request_bytes, body.len() as u64);
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        body["messages"][0]["content"].as_str().unwrap().len(),
        3 * MIB
    );
    assert_eq!(exchange.outcome, Outcome::Answered);
    assert_eq!(sink.text("choices[0].delta.content"), "hi");
    assert_eq!(exchange.response_bytes, ANSWER.len() as u64);
    assert!(exchange.ttft.unwrap() <= exchange.duration);
}

#[tokio::test]
async fn each_api_sends_its_credential_and_what_the_tenant_adds_with_the_round_in_it() {
    let extras = Extras {
        headers: vec![
            (
                "x-session-affinity".to_owned(),
                HeaderText::Plain("r-{round}".to_owned()),
            ),
            (
                "x-team".to_owned(),
                HeaderText::Secret(SecretString::from("team-secret")),
            ),
        ],
        fields: serde_json::from_str(r#"{"cache_salt": "acme-{round}"}"#).unwrap(),
        omit: vec!["temperature".to_owned()],
    };
    for api in Api::ALL {
        let (told, request) = told_once();
        let base_url = serve(move |mut stream| {
            let told = told.take();
            async move {
                let request = read_request(&mut stream).await;
                told.send(request).unwrap();
                let _ = stream.write_all(STREAM_HEAD.as_bytes()).await;
            }
        })
        .await;
        let target = Target {
            base_url,
            api: api.clone(),
            model: "m".to_owned(),
            stream: true,
            limits: impatient(),
        };
        let credential = Some(SecretString::from("sk-tenant-a"));
        let client = TenantClient::new(credential, &Connection::default(), &target.limits).unwrap();
        exchange_as(&client, &target, &extras, Text(64)).await;
        let (head, body) = request.await.unwrap();
        let credential = match api {
            Api::AnthropicMessages => "x-api-key: sk-tenant-a\r\n",
            _ => "authorization: bearer sk-tenant-a\r\n",
        };
        assert!(head.contains(credential), "{}: {head}", api.as_str());
        assert!(head.contains("x-session-affinity: r-17\r\n"));
        assert!(head.contains("x-team: team-secret\r\n"));
        let text = String::from_utf8(body).unwrap();
        let body: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(body["cache_salt"], "acme-17", "{}", api.as_str());
        assert_eq!(body.get("temperature"), None);
        assert!(text.contains("line 0000000003\\n"), "the prompt: {text}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let visits = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&visits);
    let elsewhere = serve(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        async {}
    })
    .await;
    for status in [302, 307] {
        let response = format!(
            "HTTP/1.1 {status} Elsewhere\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n"
        );
        assert_eq!(outcome_of(response).await, Outcome::Refused(status));
    }
    assert_eq!(visits.load(Ordering::Relaxed), 0, "nobody went there");
}

#[tokio::test]
async fn an_early_refusal_is_heard_while_the_request_is_still_being_sent() {
    let body = r#"{"error":{"message":"bad key","type":"authentication_error"}}"#;
    let response = Arc::new(format!(
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ));
    let base_url = serve(move |mut stream| {
        let response = Arc::clone(&response);
        async move {
            read_head(&mut stream).await;
            stream.write_all(response.as_bytes()).await.unwrap();
            // Reads nothing more and says nothing more.
            pending::<()>().await;
        }
    })
    .await;
    let (exchange, sink) = exchange(&base_url, impatient(), Text(16 * MIB)).await;
    assert_eq!(exchange.outcome, Outcome::Unauthorised);
    assert_eq!(sink.text("error.message"), "bad key");
    assert!(
        exchange.request_bytes < 16 * MIB as u64,
        "the rest was not sent"
    );
}

#[tokio::test]
async fn a_refusal_followed_by_a_reset_is_the_refusal_or_a_cut() {
    let base_url = serve(|mut stream| async move {
        read_head(&mut stream).await;
        let response =
            b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        // Closing with unread data makes the kernel reset the connection, which may overtake this.
        let _ = stream.write_all(response).await;
    })
    .await;
    let (exchange, _) = exchange(&base_url, impatient(), Text(16 * MIB)).await;
    let expected = [
        Outcome::Unauthorised,
        Outcome::CutOff(CutOff::BeforeResponse),
    ];
    assert!(
        expected.contains(&exchange.outcome),
        "{:?}",
        exchange.outcome
    );
}

#[tokio::test]
async fn a_prompt_that_changes_is_never_sent_whole() {
    let (told, lengths) = told_once();
    let base_url = serve(move |mut stream| {
        let told = told.take();
        async move {
            let (head, body) = read_request(&mut stream).await;
            told.send((content_length(&head), body.len())).unwrap();
        }
    })
    .await;
    let (exchange, _) = exchange(&base_url, Limits::default(), Fickle::default()).await;
    assert_eq!(exchange.outcome, Outcome::Unsent(Unsent::PromptChanged));
    let (promised, received) = lengths.await.unwrap();
    assert!(received < promised);
}

#[tokio::test]
async fn dropping_the_exchange_closes_the_connection() {
    let (told, is_closed) = told_once();
    let (streaming, is_streaming) = told_once();
    let base_url = serve(move |mut stream| {
        let (streaming, told) = (streaming.take(), told.take());
        async move {
            read_request(&mut stream).await;
            stream
                .write_all(format!("{STREAM_HEAD}{DELTA}").as_bytes())
                .await
                .unwrap();
            streaming.send(()).unwrap();
            let mut rest = Vec::new();
            let ended = stream.read_to_end(&mut rest).await;
            told.send(ended.is_err() || rest.is_empty()).unwrap();
        }
    })
    .await;
    let going = exchange(&base_url, Limits::default(), Text(64));
    tokio::select! {
        _ = going => panic!("the server never ends"),
        streaming = is_streaming => streaming.unwrap(),
    }
    assert!(is_closed.await.unwrap());
}
