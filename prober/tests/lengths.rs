//! Lengths: as the configuration wants them measured, and what a round says of how well that went.
#![allow(clippy::unwrap_used)]

mod support;

use prober::round::RoundReport;
use prober::store::Store;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use support::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

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
    let base_url = without_tokenize(port_of(&engine.base_url)).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tenants_words_are_counted_under_the_credential_of_another() {
    let engine = simulate(small_engine(&[])).await;
    let (base_url, log) = recording(port_of(&engine.base_url)).await;
    let (report, _) = round_at(&base_url, "tokenizer = \"endpoint\"").await;
    assert_eq!(report.verdict, "clean", "{report}");
    let connections = log.lock().unwrap().clone();
    let requests: Vec<Request> = connections
        .iter()
        .flat_map(|bytes| requests_in(bytes))
        .collect();
    let words = |tenant: &str, path: &str| -> BTreeSet<String> {
        let of_tenant = |request: &&Request| request.tenant == tenant && request.path == path;
        let bodies = requests
            .iter()
            .filter(of_tenant)
            .map(|request| &request.body);
        // Words as in canaries of the form `code`; the filler and every form's words are everybody's.
        let is_code =
            |word: &&str| word.len() >= 24 && word.bytes().any(|byte| byte.is_ascii_digit());
        let all = bodies.flat_map(|body| {
            body.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        });
        all.filter(is_code).map(str::to_owned).collect()
    };
    for (tenant, _) in TENANTS {
        let counted = words(tenant, "/tokenize");
        assert!(!counted.is_empty(), "{tenant} had its words counted");
        for (other, _) in TENANTS.iter().filter(|(other, _)| *other != tenant) {
            let sent = words(other, "/v1/chat/completions");
            assert!(!sent.is_empty());
            assert!(
                counted.is_disjoint(&sent),
                "{tenant} counted words of {other}"
            );
        }
    }
}

struct Request {
    path: String,
    tenant: &'static str,
    body: String,
}

/// The requests that a connection carried, one after the other.
fn requests_in(mut bytes: &[u8]) -> Vec<Request> {
    let mut requests = Vec::new();
    while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let length: usize = header("content-length: ").unwrap().parse().unwrap();
        let key = header("authorization: Bearer ").unwrap();
        let body = &bytes[end + 4..][..length];
        requests.push(Request {
            path: head.split(' ').nth(1).unwrap().to_owned(),
            tenant: TENANTS.iter().find(|(_, own)| *own == key).unwrap().0,
            body: String::from_utf8_lossy(body).into_owned(),
        });
        bytes = &bytes[end + 4 + length..];
    }
    requests
}

fn port_of(base_url: &str) -> u16 {
    let (_, port) = base_url.rsplit_once(':').unwrap();
    port.trim_end_matches("/v1").parse().unwrap()
}

/// A proxy, and what went through every connection towards the endpoint.
async fn recording(upstream: u16) -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let log: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let written = Arc::clone(&log);
    tokio::spawn(async move {
        for number in 0.. {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(("127.0.0.1", upstream)).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            written.lock().unwrap().push(Vec::new());
            let written = Arc::clone(&written);
            tokio::spawn(async move {
                let mut bytes = vec![0; 64 << 10];
                while let Ok(read @ 1..) = from_client.read(&mut bytes).await {
                    written.lock().unwrap()[number].extend_from_slice(&bytes[..read]);
                    to_server.write_all(&bytes[..read]).await.unwrap();
                }
            });
            tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
        }
    });
    (base_url, log)
}

/// A proxy that knows no `/tokenize`. Each connection is one request's.
async fn without_tokenize(upstream: u16) -> String {
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
