//! What stands between clients and the engine: kept answers, names of requests, connections that are used
//! again. Each fault on a schedule that meets it, and the healthy engine on the same.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use simulator::{Config, FaultSetting, Speeds};
use support::{Endpoint, open_with, receive, send, start};

const PATH: &str = "/v1/chat/completions";

fn config(fault: Option<&str>) -> Config {
    let faults = fault.map(|fault| fault.parse::<FaultSetting>().unwrap());
    Config {
        model: "m".to_owned(),
        context_tokens: 4_096,
        prefill_tokens: 4_096,
        keys: ["A", "B"]
            .map(|tenant| (tenant.to_owned(), format!("sk-{tenant}")).into())
            .to_vec(),
        faults: faults.into_iter().collect(),
        // An answer takes long enough for two of them to be under way at once.
        speeds: Speeds {
            decode: Some(400.0),
            ..Speeds::default()
        },
        ..Config::default()
    }
}

fn code(owner: &str, section: usize) -> String {
    format!("{}-12345-67890-00000-{section:06}", owner.repeat(5))
}

fn body(owner: &str, stream: bool) -> String {
    let sections = (1..=5).map(|section| {
        format!(
            "Section {section}\n\nCode {}. Good.\n\n",
            code(owner, section)
        )
    });
    let content = format!("{}List the access codes.", sections.collect::<String>());
    let messages = json!([{ "role": "user", "content": content }]);
    json!({ "model": "m", "messages": messages, "max_tokens": 200, "stream": stream }).to_string()
}

/// Both tenants ask at once, with the same lines in their heads; what each is answered.
async fn both(fault: Option<&str>, more: &str) -> [String; 2] {
    let endpoint = start(config(fault)).await;
    let ask = async |owner: &str| {
        let key = format!("sk-{owner}");
        open_with(
            endpoint.address,
            "POST",
            PATH,
            Some(&key),
            more,
            &body(owner, false),
        )
        .await
    };
    let (one, other) = (ask("A").await, ask("B").await);
    let (one, other) = tokio::join!(receive(one), receive(other));
    [one.1, other.1]
}

fn holds_strangers(answers: &[String; 2]) -> bool {
    answers[0].contains("BB") || answers[1].contains("AA")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_call_their_requests_decides_nothing() {
    let request = "x-request-id: same\r\n";
    let trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
    for (fault, more) in [("request-id-reused", request), ("trace-id-collides", trace)] {
        let healthy = both(None, more).await;
        assert!(healthy[0].contains(&code("A", 1)) && healthy[1].contains(&code("B", 1)));
        assert!(!holds_strangers(&healthy), "{healthy:?}");
        let faulty = both(Some(fault), more).await;
        assert!(holds_strangers(&faulty), "{fault}: {faulty:?}");
        let without = both(Some(fault), "").await;
        assert!(!holds_strangers(&without), "{without:?}");
    }
}

async fn ask(endpoint: &Endpoint, tenant: &str, body: &str) -> Value {
    let key = format!("sk-{tenant}");
    let (status, answer) = send(endpoint.address, "POST", PATH, Some(&key), body).await;
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_answer_is_its_own_tenants() {
    let keeping = Config {
        response_cache: true,
        ..config(None)
    };
    for (config, is_shared) in [
        (keeping, false),
        (config(Some("response-cache-without-tenant")), true),
    ] {
        let endpoint = start(config).await;
        let first = ask(&endpoint, "A", &body("A", false)).await;
        let again = ask(&endpoint, "A", &body("A", false)).await;
        assert_eq!(first, again, "the same reply, its id included");
        let other = ask(&endpoint, "B", &body("A", false)).await;
        assert_eq!(first["id"] == other["id"], is_shared);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nearly_equal_request_gets_a_strangers_kept_answer_only_with_the_fault() {
    for (fault, is_shared) in [(None, false), (Some("semantic-cache-without-tenant"), true)] {
        let endpoint = start(Config {
            semantic_cache: true,
            ..config(fault)
        })
        .await;
        ask(&endpoint, "A", &body("A", false)).await;
        let other = ask(&endpoint, "B", &body("B", false)).await.to_string();
        assert_eq!(other.contains(&code("A", 1)), is_shared, "{other}");
    }
}

/// Whether somebody is answered with a stranger's code after a client has gone away.
async fn is_behind(fault: Option<&str>) -> bool {
    let endpoint = start(config(fault)).await;
    let gone = open_with(
        endpoint.address,
        "POST",
        PATH,
        Some("sk-A"),
        "",
        &body("A", true),
    )
    .await;
    let mut beginning = [0; 16];
    gone.readable().await.unwrap();
    let _ = gone.try_read(&mut beginning);
    drop(gone);
    // When the server notices is its own affair.
    for _ in 0..20 {
        let answer = ask(&endpoint, "B", &body("B", false)).await.to_string();
        if answer.contains("AA") {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_with_an_unread_reply_is_not_used_again() {
    assert!(!is_behind(None).await);
    assert!(is_behind(Some("connection-off-by-one")).await);
}
