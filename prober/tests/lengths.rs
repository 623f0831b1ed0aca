//! Lengths: as the configuration wants them measured, and what a round says of how well that went.
#![allow(clippy::unwrap_used)]

mod support;

use prober::round::RoundReport;
use prober::store::Store;
use support::*;

/// A crosstalk round at the simulator, which speaks SGLang's `/tokenize`.
async fn round(tokenizer: &str) -> (RoundReport, TestDatabase) {
    let engine = simulate(small_engine(&[])).await;
    round_at(&engine.base_url, tokenizer).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dense_contexts_and_over_long_ones_are_all_but_exact() {
    let rehearsal = Rehearsal::new(&[], OVERFLOW).await;
    let report = run_round(&rehearsal.config, &rehearsal.store, 2).await;
    assert_eq!(report.verdict, "clean", "{report}");
    // Canaries without filler between them may leave a gap of a few tokens; prose never does.
    assert!(report.length_error.unwrap() < 0.001, "{report}");
    let off =
        "select count(*) from probes where role = 'victim' and prompt_tokens <> tokens_wanted";
    assert_eq!(rehearsal.database.count(off).await, 0);
    rehearsal.store.close().await;
}

async fn round_at(base_url: &str, tokenizer: &str) -> (RoundReport, TestDatabase) {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let endpoint = EndpointText {
        more: tokenizer,
        ..rehearsal(base_url)
    };
    let config = workplace.config(&endpoint, CROSSTALK);
    let store = Store::open(&database.location()).await.unwrap();
    let report = run_round(&config, &store, 5).await;
    store.close().await;
    (report, database)
}

const CALIBRATIONS: &str = "select count(*) from probes where role = 'calibration'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_endpoint_counts_lengths_are_exact_after_one_small_request() {
    for tokenizer in ["", "tokenizer = \"endpoint\""] {
        let (report, database) = round(tokenizer).await;
        assert_eq!(report.verdict, "clean", "{report}");
        assert_eq!(report.lengths_by, "endpoint");
        assert_eq!(report.length_error, Some(0.0), "{report}");
        assert_eq!(database.count(CALIBRATIONS).await, 1);
        let off = "select count(*) from probes where role <> 'calibration'
                   and (prompt_tokens <> tokens_wanted or prompt_tokens <> tokens_estimated)";
        assert_eq!(database.count(off).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_usage_lengths_are_near_after_three_small_requests_and_the_round_says_how_near() {
    let (report, database) = round("tokenizer = \"usage\"").await;
    assert_eq!(report.verdict, "clean", "{report}");
    assert_eq!(report.lengths_by, "usage");
    let error = report.length_error.unwrap();
    assert!(error < 0.01, "{error}");
    assert!(report.to_string().contains("estimated from its usage"));
    assert_eq!(database.count(CALIBRATIONS).await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_models_file_is_found_out_by_the_answers() {
    let file = format!(
        "tokenizer = \"file:{}/tests/data/tokenizer.json\"",
        env!("CARGO_MANIFEST_DIR")
    );
    let (report, _) = round(&file).await;
    assert_eq!(report.lengths_by, "file");
    let error = report.length_error.unwrap();
    assert!(error > 0.001, "{error}");
    assert!(report.to_string().contains("off what was wanted"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tokenize_is_told_of_where_it_was_demanded_and_estimated_otherwise() {
    let engine = simulate(small_engine(&[])).await;
    // Everything but `/tokenize`.
    let (head, port) = engine.base_url.rsplit_once(':').unwrap();
    assert!(head.starts_with("http://127"));
    let port: u16 = port.trim_end_matches("/v1").parse().unwrap();
    let base_url = without_tokenize(port).await;
    let (report, database) = round_at(&base_url, "tokenizer = \"endpoint\"").await;
    assert_eq!(report.verdict, "inconclusive");
    let reason = report.reason.unwrap();
    assert!(reason.contains("/tokenize answered 404"), "{reason}");
    let sent = "select count(*) from probes where sent_at is not null";
    assert_eq!(
        database.count(sent).await,
        0,
        "nothing was sent for nothing"
    );

    let (report, _) = round_at(&base_url, "").await;
    assert_eq!(report.verdict, "clean", "{report}");
    assert_eq!(report.lengths_by, "usage");
}

/// A proxy that knows no `/tokenize`. Each connection is one request's.
async fn without_tokenize(upstream: u16) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
    use tokio::net::{TcpListener, TcpStream};
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut first = vec![0; 4_096];
                let read = client.read(&mut first).await?;
                if first.starts_with(b"POST /tokenize ") {
                    let refusal =
                        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    client.write_all(refusal).await?;
                    return client.shutdown().await;
                }
                let mut server = TcpStream::connect(("127.0.0.1", upstream)).await?;
                server.write_all(&first[..read]).await?;
                copy_bidirectional(&mut client, &mut server).await.map(drop)
            });
        }
    });
    base_url
}
