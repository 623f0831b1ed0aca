//! `prober limits`: what an endpoint really accepts.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::process::Output;
use support::*;

fn limits(workplace: &Workplace, database: &TestDatabase, more: &[&str]) -> Output {
    let config = workplace.path().join("prober.toml");
    let config = config.to_str().unwrap();
    let args = [
        "limits", "--format", "json", "--seed", "3", "--config", config,
    ];
    let output = prober(&[&args[..], more].concat())
        .env("DATABASE_URL", &database.url)
        .output()
        .unwrap();
    assert_no_secrets(&String::from_utf8_lossy(&output.stdout));
    assert_no_secrets(&String::from_utf8_lossy(&output.stderr));
    output
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_limit_is_found_within_the_budget_and_compared_with_the_advertised_one() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    // The prefill group of this engine holds two thirds of the window, and it refuses what is longer.
    let smaller = simulate(small_engine(&[])).await;
    let honest = simulate(simulator::Config {
        prefill_tokens: 16_384,
        ..small_engine(&[])
    })
    .await;
    for (endpoint, code, conclusion, limit) in [
        (&smaller, 1, "smaller", 10_624),
        (&honest, 0, "as_advertised", 16_384),
    ] {
        workplace.write(&rehearsal(&endpoint.base_url), OVERFLOW);
        let output = tokio::task::block_in_place(|| limits(&workplace, &database, &[]));
        let found = object(&output);
        assert_eq!(found["conclusion"], conclusion, "{found}");
        assert_eq!(output.status.code(), Some(code), "{found}");
        let tokens = |name: &str| found[name].as_u64().unwrap();
        assert!(tokens("accepted_tokens") <= limit, "{found}");
        assert!(tokens("rejected_tokens") + 100 > limit, "{found}");
        assert!(
            tokens("rejected_tokens") - tokens("accepted_tokens") <= 200,
            "{found}"
        );
        assert!(tokens("tokens_spent") <= 12 * 16_384, "{found}");
        assert!(tokens("requests") <= 8, "{found}");
        assert_eq!(found["findings"], serde_json::json!([]));
    }

    let output =
        tokio::task::block_in_place(|| limits(&workplace, &database, &["--budget", "20000"]));
    let found = object(&output);
    assert_eq!(found["reason"], "the budget was spent", "{found}");
    assert!(found["tokens_spent"].as_u64().unwrap() <= 20_000, "{found}");

    let output =
        tokio::task::block_in_place(|| limits(&workplace, &database, &["--endpoint", "nowhere"]));
    assert_eq!(output.status.code(), Some(2));
}
