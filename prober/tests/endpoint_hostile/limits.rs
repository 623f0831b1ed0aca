//! Servers that give too little or too much: every limit ends them.

use crate::support::*;
use prober::endpoint::{Limit, Limits, Outcome, Wait};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

#[tokio::test]
async fn a_server_that_accepts_and_hangs_runs_into_the_first_byte_limit() {
    for reads in [true, false] {
        let base_url = serve(move |mut stream| async move {
            if reads {
                read_request(&mut stream).await;
            }
            pending::<()>().await;
            drop(stream);
        })
        .await;
        // Time enough to send so much to a server that reads.
        let limits = Limits {
            first_byte_timeout: Duration::from_secs(1),
            ..impatient()
        };
        let (exchange, _) = exchange(&base_url, limits, Text(16 * MIB)).await;
        assert_eq!(exchange.outcome, Outcome::TimedOut(Wait::FirstByte));
        assert!(exchange.request_bytes > 0);
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_runs_into_the_idle_limit() {
    let base_url = serve(|mut stream| async move {
        read_request(&mut stream).await;
        stream
            .write_all(format!("{STREAM_HEAD}{DELTA}").as_bytes())
            .await
            .unwrap();
        pending::<()>().await;
    })
    .await;
    let (exchange, sink) = exchange(&base_url, impatient(), Text(64)).await;
    assert_eq!(exchange.outcome, Outcome::TimedOut(Wait::Idle));
    assert_eq!(
        sink.text("choices[0].delta.content"),
        "SECRET",
        "what came is still scanned"
    );
}

#[tokio::test]
async fn a_server_that_drips_runs_into_the_total_limit() {
    let base_url = serve(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(STREAM_HEAD.as_bytes()).await.unwrap();
        let mut drip = tokio::time::interval(Duration::from_millis(10));
        while stream.write_all(b":").await.is_ok() {
            drip.tick().await;
        }
    })
    .await;
    let limits = Limits {
        total_timeout: Duration::from_millis(600),
        ..impatient()
    };
    let (exchange, _) = exchange(&base_url, limits, Text(64)).await;
    assert_eq!(exchange.outcome, Outcome::TimedOut(Wait::Total));
    assert!(exchange.response_bytes > 2);
}

#[tokio::test]
async fn a_server_that_keeps_the_connection_after_done_has_answered() {
    let base_url = serve(|mut stream| async move {
        read_request(&mut stream).await;
        stream
            .write_all(format!("{STREAM_HEAD}{ANSWER}").as_bytes())
            .await
            .unwrap();
        pending::<()>().await;
    })
    .await;
    let (exchange, _) = exchange(&base_url, impatient(), Text(64)).await;
    assert_eq!(exchange.outcome, Outcome::Answered);
}

#[tokio::test]
async fn an_endless_body_is_read_to_the_limit_and_no_further() {
    for (content_type, beginning) in [
        ("application/json", "{\"a\":\""),
        ("text/event-stream", "data: "),
        ("text/plain", ""),
    ] {
        let written = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&written);
        let (closed, is_closed) = told_once();
        let base_url = serve(move |mut stream| {
            let (counter, closed) = (Arc::clone(&counter), closed.take());
            async move {
                read_request(&mut stream).await;
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n\r\n{beginning}");
                stream.write_all(head.as_bytes()).await.unwrap();
                let block = vec![b'x'; 64 << 10];
                while stream.write_all(&block).await.is_ok() {
                    counter.fetch_add(block.len() as u64, Ordering::Relaxed);
                }
                closed.send(()).unwrap();
            }
        })
        .await;
        let limits = Limits {
            response_bytes: 2 * MIB as u64,
            json_bytes: MIB as u64,
            line_bytes: 100_000,
            ..impatient()
        };
        let (exchange, sink) = exchange(&base_url, limits, Text(64)).await;
        is_closed.await.unwrap();
        assert!(
            matches!(exchange.outcome, Outcome::TooLarge(_)),
            "{:?}",
            exchange.outcome
        );
        assert_eq!(exchange.response_bytes, 2 * MIB as u64);
        assert_eq!(sink.0["raw body"].len(), 2 * MIB, "scanned to the limit");
        // What the kernel holds on both sides comes on top.
        let written = written.load(Ordering::Relaxed);
        assert!(
            written < 32 * MIB as u64,
            "{written} bytes were taken from an endless server"
        );
    }
}

#[tokio::test]
async fn huge_heads_are_too_large() {
    let with = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}content-length: 0\r\n\r\n");
    for size in [100_000, 4 * MIB] {
        let outcome = outcome_of(with(&format!("x-long: {}\r\n", "x".repeat(size)))).await;
        assert_eq!(outcome, Outcome::TooLarge(Limit::HeaderBytes), "{size}");
    }
    let many: String = (0..1_000).map(|n| format!("x-{n}: v\r\n")).collect();
    assert_eq!(
        outcome_of(with(&many)).await,
        Outcome::TooLarge(Limit::HeaderBytes)
    );
}
