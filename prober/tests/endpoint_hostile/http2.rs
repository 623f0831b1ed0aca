//! The same misbehaviour over HTTP/2, and what only HTTP/2 can do.

use crate::authority::Authority;
use crate::support::*;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use prober::endpoint::{Connection, CutOff, Exchange, Limit, Limits, Outcome, TenantClient, Wait};
use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// An endpoint that speaks HTTP/2 alone.
struct Endpoint {
    base_url: String,
    authority: Authority,
    connections: Arc<AtomicU64>,
}

impl Endpoint {
    /// Whose every connection is given to `handle` once TLS stands.
    async fn over_tls<F, Fut>(handle: F) -> Self
    where
        F: Fn(TlsStream<TcpStream>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let authority = Authority::new();
        let acceptor = authority.acceptor(&["h2"]);
        let connections = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&connections);
        let base_url = serve(move |stream| {
            counter.fetch_add(1, Ordering::Relaxed);
            let (acceptor, handle) = (acceptor.clone(), handle.clone());
            async move { handle(acceptor.accept(stream).await.unwrap()).await }
        })
        .await;
        Self {
            base_url: base_url.replace("http:", "https:"),
            authority,
            connections,
        }
    }

    /// Whose every request is given to `handle`, many at a time on one connection.
    async fn new<F, Fut>(handle: F) -> Self
    where
        F: Fn(Request<RecvStream>, SendResponse<Bytes>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::over_tls(move |stream| {
            let handle = handle.clone();
            async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, respond))) = connection.accept().await {
                    tokio::spawn(handle(request, respond));
                }
            }
        })
        .await
    }

    fn client(&self, limits: &Limits) -> TenantClient {
        let connection = Connection {
            ca: Some(self.authority.pem()),
            ..Connection::default()
        };
        TenantClient::new(None, &connection, limits).unwrap()
    }

    async fn exchange(&self, limits: Limits) -> (Exchange, Collector) {
        exchange_with(&self.client(&limits), &self.base_url, limits, Text(64)).await
    }

    async fn outcome(&self) -> Outcome {
        self.exchange(impatient()).await.0.outcome
    }
}

async fn read_body(request: Request<RecvStream>) {
    let mut body = request.into_body();
    while let Some(Ok(piece)) = body.data().await {
        body.flow_control().release_capacity(piece.len()).unwrap();
    }
}

fn head() -> Response<()> {
    let head = Response::builder().header("content-type", "text/event-stream");
    head.header("x-note", "in the head").body(()).unwrap()
}

/// Answers with a head and this text, and goes on.
async fn begin(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    text: &'static str,
) -> SendStream<Bytes> {
    read_body(request).await;
    let mut stream = respond.send_response(head(), false).unwrap();
    stream
        .send_data(Bytes::from_static(text.as_bytes()), false)
        .unwrap();
    stream
}

#[tokio::test]
async fn an_answer_is_read_with_its_headers_and_trailers() {
    let endpoint = Endpoint::new(async |request, respond| {
        let mut stream = begin(request, respond, ANSWER).await;
        let mut trailers = HeaderMap::new();
        trailers.insert("x-end", "in the trailer".parse().unwrap());
        stream.send_trailers(trailers).unwrap();
    })
    .await;
    let (exchange, sink) = endpoint.exchange(Limits::default()).await;
    assert_eq!(exchange.outcome, Outcome::Answered);
    assert_eq!(sink.text("choices[0].delta.content"), "hi");
    assert_eq!(sink.text("header x-note"), "in the head\n");
    assert_eq!(sink.text("trailer x-end"), "in the trailer\n");
}

#[tokio::test]
async fn a_server_that_takes_nothing_or_says_nothing_runs_into_the_first_byte_limit() {
    for reads in [true, false] {
        let endpoint = Endpoint::new(move |request, respond| async move {
            if reads {
                read_body(request).await;
                pending::<()>().await;
            } else {
                // No window for more is ever given.
                pending::<()>().await;
                drop(request);
            }
            drop(respond);
        })
        .await;
        let limits = impatient();
        let client = endpoint.client(&limits);
        let prompt = Text(4 * MIB);
        let (exchange, _) = exchange_with(&client, &endpoint.base_url, limits, prompt).await;
        assert_eq!(exchange.outcome, Outcome::TimedOut(Wait::FirstByte));
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_or_sends_empty_frames_runs_into_the_idle_limit() {
    for sends in [false, true] {
        let endpoint = Endpoint::new(move |request, respond| async move {
            let mut stream = begin(request, respond, DELTA).await;
            let mut drip = tokio::time::interval(Duration::from_millis(5));
            loop {
                drip.tick().await;
                if sends && stream.send_data(Bytes::new(), false).is_err() {
                    return;
                }
            }
        })
        .await;
        let (exchange, sink) = endpoint.exchange(impatient()).await;
        assert_eq!(exchange.outcome, Outcome::TimedOut(Wait::Idle));
        assert_eq!(sink.text("choices[0].delta.content"), "SECRET");
    }
}

#[tokio::test]
async fn a_refused_stream_is_never_sent_again() {
    for reason in [Reason::REFUSED_STREAM, Reason::ENHANCE_YOUR_CALM] {
        let requests = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&requests);
        let endpoint = Endpoint::new(move |request, mut respond| {
            counter.fetch_add(1, Ordering::Relaxed);
            async move {
                respond.send_reset(reason);
                drop(request);
            }
        })
        .await;
        assert_eq!(
            endpoint.outcome().await,
            Outcome::CutOff(CutOff::BeforeResponse)
        );
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn an_endless_body_is_read_to_the_limit_and_the_stream_is_given_up() {
    let (closed, is_closed) = told_once();
    let closed = Arc::new(closed);
    let endpoint = Endpoint::new(move |request, respond| {
        let closed = Arc::clone(&closed);
        async move {
            let mut stream = begin(request, respond, "data: ").await;
            let mut sent = 0;
            loop {
                stream.reserve_capacity(64 << 10);
                let Some(Ok(room)) = poll_fn(|context| stream.poll_capacity(context)).await else {
                    break;
                };
                let block = Bytes::from(vec![b'x'; room]);
                sent += room;
                if stream.send_data(block, false).is_err() {
                    break;
                }
            }
            closed.take().send(sent).unwrap();
        }
    })
    .await;
    let limits = Limits {
        response_bytes: 2 * MIB as u64,
        line_bytes: 100_000,
        ..impatient()
    };
    let (exchange, sink) = endpoint.exchange(limits).await;
    assert_eq!(exchange.outcome, Outcome::TooLarge(Limit::LineBytes));
    assert_eq!(sink.0["raw body"].len(), 2 * MIB, "scanned to the limit");
    let sent = is_closed.await.unwrap();
    // What windows and sockets hold comes on top.
    assert!(
        sent < 16 * MIB,
        "{sent} bytes were taken from an endless server"
    );
}

#[tokio::test]
async fn huge_heads_are_not_taken() {
    for (count, size) in [(1, 100_000), (2_000, 40)] {
        let endpoint = Endpoint::new(move |request, mut respond| async move {
            read_body(request).await;
            let mut head = Response::builder();
            for number in 0..count {
                head = head.header(format!("x-{number}"), "x".repeat(size));
            }
            // The client may well have given up by now.
            let _ = respond.send_response(head.body(()).unwrap(), true);
        })
        .await;
        assert_eq!(
            endpoint.outcome().await,
            Outcome::Malformed("the head is too large, or not HTTP/2"),
            "{count} of {size}"
        );
    }
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_HEADERS: u8 = 4;
/// `:status: 200` from the static table.
const STATUS_200: &[u8] = &[0x88];

/// An endpoint that sends `first` and then `again` as long as somebody listens.
async fn flood(first: Vec<u8>, again: Vec<u8>, written: Arc<AtomicU64>) -> Endpoint {
    Endpoint::over_tls(move |mut stream| {
        let (first, again) = (first.clone(), again.clone());
        let written = Arc::clone(&written);
        async move {
            let mut request = [0; 8 << 10];
            // The client's preface, its settings and its request, in whatever pieces.
            let _ = stream.read(&mut request).await;
            let settings = frame(SETTINGS, 0, 0, &[]);
            stream.write_all(&[settings, first].concat()).await.unwrap();
            let (mut reading, mut writing) = tokio::io::split(stream);
            tokio::spawn(async move { while reading.read(&mut request).await.unwrap_or(0) > 0 {} });
            while writing.write_all(&again).await.is_ok() {
                written.fetch_add(again.len() as u64, Ordering::Relaxed);
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_stream_that_is_reset_or_whose_connection_goes_away_is_cut_off() {
    let head = frame(HEADERS, END_HEADERS, 1, STATUS_200);
    let begun = [head, frame(DATA, 0, 1, DELTA.as_bytes())].concat();
    for end in [
        frame(RST_STREAM, 0, 1, &2_u32.to_be_bytes()),
        frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 2]),
        // A frame of the connection on a stream: a breach of the protocol.
        frame(PING, 0, 1, &[7; 8]),
    ] {
        let pings = frame(PING, 0, 0, &[7; 8]);
        let endpoint = flood([begun.clone(), end].concat(), pings, Arc::default()).await;
        let (exchange, sink) = endpoint.exchange(impatient()).await;
        assert_eq!(exchange.outcome, Outcome::CutOff(CutOff::MidBody));
        let text = sink.text("choices[0].delta.content");
        assert_eq!(text, "SECRET", "what came is still scanned");
    }
}

#[tokio::test]
async fn a_head_that_never_ends_is_given_up() {
    let written = Arc::new(AtomicU64::new(0));
    // A name and a value of 256 bytes, literal and not to be remembered.
    let field = [&[0x00, 0x04][..], b"x-ab", &[0x7f, 0x01], &[b'x'; 128]].concat();
    let more = frame(CONTINUATION, 0, 1, &field.repeat(64));
    let endpoint = flood(frame(HEADERS, 0, 1, STATUS_200), more, Arc::clone(&written)).await;
    let (exchange, _) = endpoint.exchange(impatient()).await;
    assert_eq!(exchange.outcome, Outcome::TooLarge(Limit::HeaderBytes));
    let written = written.load(Ordering::Relaxed);
    assert!(written < 32 * MIB as u64, "{written} bytes of one head");
}

#[tokio::test]
async fn pings_are_no_sign_of_life() {
    let pings = frame(PING, 0, 0, &[7; 8]).repeat(100);
    let endpoint = flood(Vec::new(), pings, Arc::default()).await;
    assert_eq!(endpoint.outcome().await, Outcome::TimedOut(Wait::FirstByte));
}

#[tokio::test]
async fn what_is_not_http2_is_no_answer() {
    for response in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"[..],
        &[0xff; 64],
        &[],
    ] {
        let endpoint = Endpoint::over_tls(move |mut stream| async move {
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(response).await;
            let _ = stream.shutdown().await;
        })
        .await;
        let outcome = endpoint.outcome().await;
        assert!(
            matches!(
                outcome,
                Outcome::Malformed(_) | Outcome::CutOff(CutOff::BeforeResponse)
            ),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn a_hanging_stream_holds_up_no_other_and_tenants_share_no_connection() {
    let requests = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&requests);
    let endpoint = Endpoint::new(move |request, respond| {
        let is_first = counter.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            let mut stream = begin(request, respond, if is_first { DELTA } else { ANSWER }).await;
            if is_first {
                pending::<()>().await;
            }
            stream.send_data(Bytes::new(), true).unwrap();
        }
    })
    .await;
    let limits = Limits::default();
    let (acme, globex) = (endpoint.client(&limits), endpoint.client(&limits));
    let hanging = exchange_with(&acme, &endpoint.base_url, limits, Text(64));
    let others = async {
        while requests.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        for client in [&acme, &acme, &globex] {
            let (exchange, _) = exchange_with(client, &endpoint.base_url, limits, Text(64)).await;
            assert_eq!(exchange.outcome, Outcome::Answered);
        }
    };
    tokio::select! {
        _ = hanging => panic!("the first stream hangs"),
        () = others => {}
    }
    assert_eq!(endpoint.connections.load(Ordering::Relaxed), 2);
}
