//! Connections that do not come to stand, or must not be shared.

use crate::support::*;
use prober::endpoint::{ConnectFailure, Connection, Limits, Outcome, TenantClient, Unsent, Wait};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

/// Without root certificates no `https` endpoint is even tried, and that is told.
fn assert_over_https(outcome: &Outcome, expected: &Outcome) {
    let untried = Outcome::ConnectFailed(ConnectFailure::NoRootCertificates);
    assert!(outcome == expected || *outcome == untried, "{outcome:?}");
}

#[tokio::test]
async fn a_closed_port_refuses_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let (exchange, _) = exchange(&base_url, impatient(), Text(64)).await;
    assert_eq!(
        exchange.outcome,
        Outcome::ConnectFailed(ConnectFailure::Refused)
    );
    assert_eq!((exchange.request_bytes, exchange.status), (0, None));
}

#[tokio::test]
async fn a_handshake_that_hangs_is_a_connection_that_took_too_long() {
    let base_url = serve(|stream| async move {
        pending::<()>().await;
        drop(stream);
    })
    .await;
    let base_url = base_url.replace("http:", "https:");
    let (exchange, _) = exchange(&base_url, impatient(), Text(64)).await;
    assert_over_https(&exchange.outcome, &Outcome::TimedOut(Wait::Connect));
}

#[tokio::test]
async fn a_server_without_tls_fails_the_handshake() {
    let base_url = serve(|mut stream| async move {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nplain")
            .await
            .unwrap();
        pending::<()>().await;
    })
    .await;
    let base_url = base_url.replace("http:", "https:");
    let (exchange, _) = exchange(&base_url, impatient(), Text(64)).await;
    assert_over_https(
        &exchange.outcome,
        &Outcome::ConnectFailed(ConnectFailure::Tls),
    );
}

#[tokio::test]
async fn what_cannot_be_written_into_a_request_is_not_sent() {
    for base_url in ["not a url", "ftp://127.0.0.1/v1"] {
        let (exchange, _) = exchange(base_url, impatient(), Text(64)).await;
        assert_eq!(
            exchange.outcome,
            Outcome::Unsent(Unsent::BadRequest),
            "{base_url}"
        );
    }
}

#[tokio::test]
async fn a_tenant_keeps_its_connection_and_shares_it_with_no_other() {
    let connections = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&connections);
    let base_url = serve(move |mut stream| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move {
            let response = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{ANSWER}",
                ANSWER.len()
            );
            let mut peeked = [0];
            while stream.peek(&mut peeked).await.unwrap_or(0) > 0 {
                read_request(&mut stream).await;
                stream.write_all(response.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let limits = Limits::default();
    for tenants in 1..=3 {
        let client = TenantClient::new(None, &Connection::default(), &limits).unwrap();
        for _ in 0..4 {
            let (exchange, _) = exchange_with(&client, &base_url, limits, Text(64)).await;
            assert_eq!(exchange.outcome, Outcome::Answered);
        }
        // A connection may also be opened anew, but one of another tenant is never taken.
        let connections = connections.load(Ordering::Relaxed);
        assert!(
            (tenants..=tenants * 4).contains(&connections),
            "{connections}"
        );
    }
}
