#![allow(clippy::unwrap_used)]

use super::*;
use crate::fault::FaultSetting;
use crate::token::{Token, text_of, tokenize};
use proptest::prelude::*;
use std::sync::Arc;

const WINDOW: u32 = 4_096;
const CAPACITY: u32 = 2_048;

fn engine(faults: &[&str]) -> Arc<Engine> {
    let engine = Engine::start(Config {
        context_tokens: WINDOW,
        prefill_tokens: CAPACITY,
        decode_tokens: Some(WINDOW + 512),
        faults: faults
            .iter()
            .map(|fault| fault.parse::<FaultSetting>().unwrap())
            .collect(),
        seed: 7,
        ..Config::default()
    });
    Arc::new(engine.unwrap())
}

/// A document of about `tokens` tokens in numbered sections whose codes name `owner`, with its question.
fn document(owner: char, tokens: usize, question: &str) -> Vec<Token> {
    let mut text = format!("File of {owner}.");
    let mut section = 1;
    while tokenize(&text).len() + 60 < tokens {
        text.push_str(&format!(
            "\n\nSection {section}\n\nCode {}. Good.",
            code(owner, section)
        ));
        section += 1;
    }
    text.push_str(&format!("\n\n{question}"));
    tokenize(&text)
}

fn code(owner: char, section: usize) -> String {
    format!("{owner}{owner}{owner}{owner}{owner}-12345-67890-AAAAA-{section:06}")
}

async fn ask(engine: &Arc<Engine>, prompt: Vec<Token>) -> Result<String, Refusal> {
    let submission = Submission {
        prompt: prompt.into(),
        most: 96,
        tenant: "tenant".to_owned(),
        salt: String::new(),
        adapter: None,
        thinking: None,
    };
    let mut generation = engine.submit(submission, ClientIds::default())?;
    generation.begun().await?;
    let mut answer = Vec::new();
    while let Some(token) = generation.next().await {
        answer.push(token);
    }
    Ok(text_of(&answer))
}

fn pages(engine: &Engine) -> [Pages; 2] {
    let state = engine.state();
    [state.prefill, state.decode]
}

const QUESTION: &str = "What is the access code of section 3?";

#[tokio::test]
async fn a_healthy_engine_answers_from_the_own_document_and_frees_every_page() {
    let engine = engine(&[]);
    let answer = ask(&engine, document('A', 1_000, QUESTION)).await.unwrap();
    assert_eq!(
        answer,
        format!("The access code of section 3 is {}.", code('A', 3))
    );
    for Pages { free, all } in pages(&engine) {
        assert_eq!(free, all);
    }
}

#[tokio::test]
async fn an_over_long_prompt_is_refused_by_the_limit_it_breaks() {
    let engine = engine(&[]);
    let (window, capacity) = (WINDOW as usize, CAPACITY as usize);
    let prompt = |tokens| vec![tokenize("a")[0]; tokens];
    assert_eq!(
        ask(&engine, prompt(5_000)).await,
        Err(Refusal::PromptOverWindow {
            prompt: 5_000,
            window
        })
    );
    assert_eq!(
        ask(&engine, prompt(4_050)).await,
        Err(Refusal::TotalOverWindow {
            prompt: 4_050,
            answer: 96,
            window
        })
    );
    assert_eq!(
        ask(&engine, prompt(2_049)).await,
        Err(Refusal::OverCapacity {
            prompt: 2_049,
            capacity
        })
    );
    assert!(ask(&engine, prompt(2_048)).await.is_ok());
}

#[tokio::test]
async fn with_stale_pages_the_answer_to_an_over_long_prompt_comes_from_a_stranger_s_document() {
    let engine = engine(&["stale-pages"]);
    // Asks for a section near its end, which stands in the same stale pages as the question.
    let late = "What is the access code of section 50?";
    ask(&engine, document('A', 2_000, late)).await.unwrap();
    ask(&engine, document('B', 2_000, late)).await.unwrap();
    let answer = ask(&engine, document('C', 3_900, QUESTION)).await.unwrap();
    assert!(
        answer.contains("AAAAA-1") || answer.contains("BBBBB-1"),
        "{answer}"
    );
    assert!(!answer.contains("CCCCC-1"), "{answer}");
    // Within the capacity the same engine is right.
    let answer = ask(&engine, document('D', 2_000, QUESTION)).await.unwrap();
    assert!(answer.contains("DDDDD-1"), "{answer}");
}

#[tokio::test]
async fn a_fault_with_a_probability_strikes_some_requests_only() {
    let engine = engine(&["stale-pages=0.5"]);
    let mut accepted = 0;
    for _ in 0..40 {
        accepted += usize::from(ask(&engine, document('A', 3_000, QUESTION)).await.is_ok());
    }
    assert!((8..=32).contains(&accepted), "{accepted} of 40");
}

#[tokio::test]
async fn a_request_dropped_at_any_point_frees_its_pages() {
    let engine = engine(&[]);
    for polls in 0..12 {
        let serving = ask(&engine, document('A', 1_500, QUESTION));
        let mut serving = Box::pin(serving);
        for _ in 0..polls {
            if futures_util::poll!(serving.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    // What was dropped is aborted before this is served.
    ask(&engine, document('B', 1_500, QUESTION)).await.unwrap();
    for Pages { free, all } in pages(&engine) {
        assert_eq!(free, all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn in_a_healthy_engine_nobody_reads_another_s_document_whatever_runs_at_once(
        lengths in proptest::collection::vec((100usize..2_000, any::<bool>()), 2..24),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let engine = engine(&[]);
            let requests: Vec<_> = lengths.iter().enumerate().map(|(index, &(tokens, abandon))| {
                let owner = char::from(b'A' + index as u8);
                let engine = Arc::clone(&engine);
                tokio::spawn(async move {
                    let mut serving = Box::pin(ask(&engine, document(owner, tokens, "List the access codes.")));
                    if abandon {
                        // A client that goes away in the middle.
                        let _ = futures_util::poll!(serving.as_mut());
                        return None;
                    }
                    Some((owner, serving.await.unwrap()))
                })
            }).collect();
            for request in requests {
                if let Some((owner, answer)) = request.await.unwrap() {
                    assert!(answer.starts_with(&code(owner, 1)), "{owner} received {answer}");
                    for line in answer.lines() {
                        assert!(line.starts_with(owner), "{owner} received {line}");
                    }
                }
            }
            for Pages { free, all } in pages(&engine) {
                assert_eq!(free, all);
            }
        });
    }
}
