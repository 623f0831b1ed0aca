//! Metrics: named as recorded, and true.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::json;
use simulator::{Config, Shape};
use std::collections::BTreeSet;
use support::recorded::recorded;
use support::shaped::{CHAT, DOCUMENT, chat, config, get, of, post, slow, sum, until};
use support::start;

/// The names of a page, with their types.
fn families(page: &str) -> BTreeSet<&str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .collect()
}

#[tokio::test]
async fn metrics_have_the_recorded_names_and_types() {
    let page = get(&of(Shape::LlamaCpp).await, "/metrics").await.1;
    let recorded_page = recorded("llama-server-571d0d5__metrics.resp").1;
    assert_eq!(families(&page), families(&recorded_page));
    let page = get(&of(Shape::Vllm).await, "/metrics").await.1;
    let recorded_page = recorded("vllm-0.32.0-cpu__metrics_excerpt.resp").1;
    let unknown: Vec<_> = families(&page)
        .difference(&families(&recorded_page))
        .copied()
        .collect();
    // The recorded server had no second group to transfer to.
    assert_eq!(unknown, ["vllm:nixl_num_failed_transfers_total counter"]);
    for label in [
        "num_gpu_blocks=\"64\"",
        "kv_cache_size_tokens=\"4096\"",
        "block_size=\"64\"",
    ] {
        assert!(page.contains(label), "{page}");
    }
}

#[tokio::test]
async fn metrics_are_those_of_what_was_done() {
    for (shape, prompt, given, cached) in [
        (
            Shape::Sglang,
            "sglang:prompt_tokens_total",
            "sglang:generation_tokens_total",
            Some("sglang:cached_tokens_total"),
        ),
        (
            Shape::Vllm,
            "vllm:prompt_tokens_total",
            "vllm:generation_tokens_total",
            Some("vllm:prefix_cache_hits_total"),
        ),
        (
            Shape::LlamaCpp,
            "llamacpp:prompt_tokens_total",
            "llamacpp:tokens_predicted_total",
            None,
        ),
    ] {
        let endpoint = of(shape).await;
        let document = format!("{}\n\n{DOCUMENT}", "word ".repeat(300));
        let mut expected = (0.0, 0.0, 0.0);
        for _ in 0..2 {
            let (_, object) = post(&endpoint, CHAT, &chat(&document, &json!({}))).await;
            let usage = &object["usage"];
            let hit = usage["prompt_tokens_details"]["cached_tokens"]
                .as_f64()
                .unwrap();
            expected.0 += usage["prompt_tokens"].as_f64().unwrap();
            expected.1 += usage["completion_tokens"].as_f64().unwrap();
            expected.2 += hit;
        }
        assert!(expected.2 > 0.0);
        let (_, page) = get(&endpoint, "/metrics").await;
        // llama.cpp counts what it computed.
        let computed = expected.0 - expected.2;
        let prompts = if shape == Shape::LlamaCpp {
            computed
        } else {
            expected.0
        };
        assert_eq!(sum(&page, prompt), prompts, "{shape}");
        assert_eq!(sum(&page, given), expected.1, "{shape}");
        if shape == Shape::LlamaCpp {
            assert!(sum(&page, "llamacpp:prompt_seconds_total") > 0.0);
            assert!(sum(&page, "llamacpp:tokens_predicted_seconds_total") > 0.0);
        }
        if let Some(cached) = cached {
            assert_eq!(sum(&page, cached), expected.2, "{shape}");
        }
    }
}

#[tokio::test]
async fn metrics_show_who_runs_who_went_away_and_what_failed() {
    let slow = slow(Shape::Vllm).await;
    let page = async || get(&slow, "/metrics").await.1;
    let under_way = support::open(
        slow.address,
        "POST",
        CHAT,
        None,
        &chat(DOCUMENT, &json!({ "stream": true })),
    )
    .await;
    until(async || sum(&page().await, "vllm:num_requests_running") > 0.0).await;
    assert!(sum(&page().await, "vllm:kv_cache_usage_perc") > 0.0);
    drop(under_way);
    let aborted = "vllm:request_success_total{engine=\"1\",finished_reason=\"abort\",model_name=\"tiny\"} 1.0";
    until(async || page().await.contains(aborted)).await;
    assert_eq!(sum(&page().await, "vllm:num_requests_running"), 0.0);

    let breaking = start(Config {
        transfer_failures: 1.0,
        ..config(Shape::Sglang)
    })
    .await;
    assert_eq!(
        post(&breaking, CHAT, &chat(DOCUMENT, &json!({}))).await.0,
        500
    );
    let (_, page) = get(&breaking, "/metrics").await;
    assert_eq!(sum(&page, "sglang:num_transfer_failed_reqs_total"), 1.0);

    let drafting = start(Config {
        speculative: true,
        ..config(Shape::Vllm)
    })
    .await;
    post(&drafting, CHAT, &chat(DOCUMENT, &json!({}))).await;
    let (_, page) = get(&drafting, "/metrics").await;
    assert!(sum(&page, "vllm:spec_decode_num_accepted_tokens_total") > 10.0);
}
