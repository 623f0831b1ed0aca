//! Who reads whose text: the healthy engine, and the engine of the founding incident, over real sockets.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use simulator::{Config, FaultSetting, Speeds};
use std::sync::Arc;
use support::{Endpoint, open, send, start};

const QUESTION: &str = "What is the access code of section 3?";

fn key(owner: char) -> String {
    format!("sk-{owner}")
}

/// The incident's geometry in small: the prefill group holds half of the window.
fn geometry(faults: &[&str]) -> Config {
    Config {
        model: "m".to_owned(),
        context_tokens: 4_096,
        prefill_tokens: 2_048,
        decode_tokens: Some(4_608),
        keys: ('A'..='P')
            .map(|owner| (format!("tenant-{owner}"), key(owner)).into())
            .collect(),
        faults: faults
            .iter()
            .map(|fault| fault.parse::<FaultSetting>().unwrap())
            .collect(),
        ..Config::default()
    }
}

fn code(owner: char, section: usize) -> String {
    format!(
        "{}-12345-67890-AAAAA-{section:06}",
        owner.to_string().repeat(5)
    )
}

/// A document of so many sections (about 36 tokens each), whose codes begin with their owner's letter.
fn document(owner: char, sections: usize, question: &str) -> String {
    let sections: String = (1..=sections)
        .map(|section| {
            format!(
                "Section {section}\n\nCode {}. Good.\n\n",
                code(owner, section)
            )
        })
        .collect();
    format!("{sections}{question}")
}

fn body(content: &str, stream: bool) -> String {
    let messages = json!([{ "role": "user", "content": content }]);
    json!({ "model": "m", "messages": messages, "max_tokens": 64, "stream": stream }).to_string()
}

async fn chat(endpoint: &Endpoint, owner: char, content: &str) -> (u16, Value) {
    let (address, key) = (endpoint.address, key(owner));
    let body = body(content, false);
    let (status, answer) = send(address, "POST", "/v1/chat/completions", Some(&key), &body).await;
    (status, serde_json::from_str(&answer).unwrap())
}

fn text(object: &Value) -> &str {
    object["choices"][0]["message"]["content"].as_str().unwrap()
}

/// Waits for something that comes about soon, if it ever does.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let limit = std::time::Duration::from_secs(30);
    assert!(
        tokio::time::timeout(limit, waiting).await.is_ok(),
        "{what} never came"
    );
}

async fn all_pages_free(endpoint: &Endpoint) {
    let used = || {
        let (prefill, decode) = (
            endpoint.gauges.prefill_pages(),
            endpoint.gauges.decode_pages(),
        );
        prefill.1 - prefill.0 + decode.1 - decode.0
    };
    until("the last page", || used() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_tenants_at_once_read_only_their_own_documents_while_clients_come_and_go() {
    let endpoint = Arc::new(start(geometry(&[])).await);
    let tenants = ('A'..='P').enumerate().map(|(index, owner)| {
        let endpoint = Arc::clone(&endpoint);
        tokio::spawn(async move {
            for turn in 0..6 {
                // Lengths without a pattern, from 4 to 46 sections.
                let sections = 4 + (index * 31 + turn * 17 + index * turn * 7) % 43;
                let content = document(owner, sections, QUESTION);
                if (index + turn) % 3 == 0 {
                    let (address, key) = (endpoint.address, key(owner));
                    let body = body(&content, true);
                    let path = "/v1/chat/completions";
                    let connection = open(address, "POST", path, Some(&key), &body).await;
                    for _ in 0..index * 5 {
                        tokio::task::yield_now().await;
                    }
                    drop(connection);
                    continue;
                }
                let (status, object) = chat(&endpoint, owner, &content).await;
                assert_eq!(status, 200, "{object}");
                let expected = format!("The access code of section 3 is {}.", code(owner, 3));
                assert_eq!(text(&object), expected, "{owner}, turn {turn}");
            }
        })
    });
    for tenant in tenants.collect::<Vec<_>>() {
        tenant.await.unwrap();
    }
    all_pages_free(&endpoint).await;
}

/// Two donors fill the decode pool, then a prompt too long for the prefill pool asks.
async fn incident(endpoint: &Endpoint) -> (u16, Value) {
    let late = "What is the access code of section 45?";
    for donor in ['A', 'B', 'A', 'B'] {
        let (status, object) = chat(endpoint, donor, &document(donor, 46, late)).await;
        assert_eq!(status, 200, "{object}");
        assert!(text(&object).contains(&code(donor, 45)), "{object}");
    }
    chat(endpoint, 'C', &document('C', 90, QUESTION)).await
}

#[tokio::test]
async fn with_stale_pages_an_over_long_request_is_answered_with_a_donors_codes() {
    let endpoint = start(geometry(&["stale-pages"])).await;
    let (status, object) = incident(&endpoint).await;
    assert_eq!(status, 200, "{object}");
    let answer = text(&object);
    assert!(
        ['A', 'B']
            .iter()
            .any(|&donor| answer.contains(&code(donor, 45))),
        "{answer}"
    );
    assert!(!answer.contains("CCCCC-"), "{answer}");
    // Nothing in the figures shows it: they are those of the prompt as it was sent.
    let sent = format!("<|user|>\n{}\n<|assistant|>\n", document('C', 90, QUESTION));
    let sent = json!({ "prompt": sent }).to_string();
    let (_, counted) = send(endpoint.address, "POST", "/tokenize", Some("sk-C"), &sent).await;
    let counted: Value = serde_json::from_str(&counted).unwrap();
    assert_eq!(object["usage"]["prompt_tokens"], counted["count"]);
    all_pages_free(&endpoint).await;
}

#[tokio::test]
async fn with_stale_pages_a_request_within_the_capacity_is_answered_from_its_own_document() {
    let endpoint = start(geometry(&["stale-pages"])).await;
    incident(&endpoint).await;
    let (_, object) = chat(&endpoint, 'D', &document('D', 46, QUESTION)).await;
    assert!(text(&object).contains(&code('D', 3)), "{object}");
}

#[tokio::test]
async fn an_over_long_request_to_a_fresh_faulty_engine_finds_nothing_after_its_own_head() {
    let endpoint = start(geometry(&["stale-pages"])).await;
    let (status, object) = chat(&endpoint, 'C', &document('C', 90, QUESTION)).await;
    // The question was lost with the tail, so it goes on with the ledger.
    assert_eq!(status, 200);
    assert!(text(&object).starts_with("Section "), "{object}");
    assert!(text(&object).contains("CCCCC-"), "{object}");
}

#[tokio::test]
async fn without_the_fault_the_same_request_is_refused() {
    let endpoint = start(geometry(&[])).await;
    let (status, object) = incident(&endpoint).await;
    assert_eq!(status, 400);
    let message = object["message"].as_str().unwrap();
    assert!(
        message.contains("exceeds the maximum allowed length (2048 tokens)"),
        "{message}"
    );
}

#[tokio::test]
async fn a_fault_with_a_probability_splits_requests_and_a_seed_repeats_the_split() {
    let split = async || {
        let endpoint = start(geometry(&["stale-pages=0.5"])).await;
        let content = document('C', 90, QUESTION);
        let mut accepted = Vec::new();
        for _ in 0..24 {
            accepted.push(chat(&endpoint, 'C', &content).await.0 == 200);
        }
        accepted
    };
    let accepted = split().await;
    let count = accepted.iter().filter(|accepted| **accepted).count();
    assert!((4..=20).contains(&count), "{count} of 24");
    assert_eq!(split().await, accepted);
}

#[tokio::test]
async fn even_with_the_fault_nothing_longer_than_the_window_is_accepted() {
    let endpoint = start(geometry(&["stale-pages"])).await;
    let (status, object) = chat(&endpoint, 'C', &document('C', 130, QUESTION)).await;
    assert_eq!((status, &object["type"]), (400, &"BadRequestError".into()));
}

#[tokio::test]
async fn a_client_that_goes_away_during_prefill_gives_its_pages_back() {
    let endpoint = start(Config {
        speeds: Speeds {
            // So slow that the request would take half an hour.
            prefill: Some(1.0),
            ..Speeds::default()
        },
        ..geometry(&[])
    })
    .await;
    let body = body(&"a ".repeat(2_000), false);
    let path = "/v1/chat/completions";
    let connection = open(endpoint.address, "POST", path, Some("sk-A"), &body).await;
    let pages = || endpoint.gauges.prefill_pages();
    until("prefill", || pages().0 < pages().1).await;
    drop(connection);
    all_pages_free(&endpoint).await;
}
