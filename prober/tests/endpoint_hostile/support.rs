//! Servers by hand, and an exchange with them.

use prober::endpoint::{
    Api, Connection, Exchange, Extras, Limits, Outcome, Place, Prompt, Sender, Sink, Target,
    TenantClient, prepare, send,
};
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

pub(crate) const MIB: usize = 1 << 20;
pub(crate) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
pub(crate) const DELTA: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"SECRET\"}}]}\n\n";
pub(crate) const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// So many bytes of text.
pub(crate) struct Text(pub(crate) usize);

impl Prompt for Text {
    fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send> {
        let lines = self.0 / 16;
        Box::new((0..lines).map(|line| format!("line {line:010}\n")))
    }
}

/// Says something else in every pass.
#[derive(Default)]
pub(crate) struct Fickle(AtomicU64);

impl Prompt for Fickle {
    fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send> {
        let pass = self.0.fetch_add(1, Ordering::Relaxed);
        Box::new((0..200_000).map(move |line| format!("pass {pass} line {line:010}\n")))
    }
}

/// The text of each place, by its shown name.
#[derive(Default)]
pub(crate) struct Collector(pub(crate) BTreeMap<String, Vec<u8>>);

impl Sink for Collector {
    fn piece(&mut self, place: &Place, bytes: &[u8]) {
        self.0
            .entry(place.to_string())
            .or_default()
            .extend_from_slice(bytes);
    }
}

impl Collector {
    pub(crate) fn text(&self, place: &str) -> String {
        self.0.get(place).map_or_else(String::new, |text| {
            String::from_utf8_lossy(text).into_owned()
        })
    }
}

pub(crate) fn impatient() -> Limits {
    Limits {
        connect_timeout: Duration::from_millis(300),
        first_byte_timeout: Duration::from_millis(300),
        idle_timeout: Duration::from_millis(200),
        ..Limits::default()
    }
}

/// Something that the first connection to a server may take.
pub(crate) struct Once<T>(Arc<Mutex<Option<T>>>);

impl<T> Once<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(Some(value))))
    }

    pub(crate) fn take(&self) -> T {
        self.0
            .lock()
            .unwrap()
            .take()
            .expect("there is only one connection")
    }
}

/// A sender for the first connection, and its receiver.
pub(crate) fn told_once<T>() -> (Once<oneshot::Sender<T>>, oneshot::Receiver<T>) {
    let (sender, receiver) = oneshot::channel();
    (Once::new(sender), receiver)
}

/// An endpoint whose every connection is given to `handle`.
pub(crate) async fn serve<F, Fut>(handle: F) -> String
where
    F: Fn(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(handle(stream));
        }
    });
    format!("http://{address}/v1")
}

/// An endpoint that reads the whole request, writes `response` and closes.
pub(crate) async fn serve_bytes(response: impl Into<Vec<u8>>) -> String {
    let response = Arc::new(response.into());
    serve(move |mut stream| {
        let response = Arc::clone(&response);
        async move {
            read_request(&mut stream).await;
            // The client may well have hung up by now.
            let _ = stream.write_all(&response).await;
            let _ = stream.shutdown().await;
        }
    })
    .await
}

/// Reads a request's head, in lower case, and what came with it of the body.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    loop {
        assert_ne!(
            stream.read_buf(&mut bytes).await.unwrap(),
            0,
            "the request has a head"
        );
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let body = bytes.split_off(end + 4);
            return (String::from_utf8(bytes).unwrap().to_ascii_lowercase(), body);
        }
    }
}

pub(crate) fn content_length(head: &str) -> usize {
    let value = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    value.unwrap().trim().parse().unwrap()
}

/// Reads a request's head and its body, as far as it comes.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> (String, Vec<u8>) {
    let (head, mut body) = read_head(stream).await;
    let length = content_length(&head);
    while body.len() < length && stream.read_buf(&mut body).await.unwrap_or(0) > 0 {}
    (head, body)
}

pub(crate) async fn exchange(
    base_url: &str,
    limits: Limits,
    prompt: impl Prompt + 'static,
) -> (Exchange, Collector) {
    let client = TenantClient::new(
        Some(SecretString::from("sk-tenant-a")),
        &Connection::default(),
        &limits,
    )
    .unwrap();
    exchange_with(&client, base_url, limits, prompt).await
}

pub(crate) async fn exchange_with(
    client: &TenantClient,
    base_url: &str,
    limits: Limits,
    prompt: impl Prompt + 'static,
) -> (Exchange, Collector) {
    let target = Target {
        base_url: base_url.to_owned(),
        api: Api::OpenAiChat,
        model: "m".to_owned(),
        stream: true,
        limits,
    };
    exchange_as(client, &target, &Extras::default(), prompt).await
}

pub(crate) async fn exchange_as(
    client: &TenantClient,
    target: &Target,
    extras: &Extras,
    prompt: impl Prompt + 'static,
) -> (Exchange, Collector) {
    let sender = Sender {
        shared_id: None,
        extras,
        round: "17",
    };
    let prepared = prepare(target, &sender, Arc::new(prompt), 16, &mut |_| {});
    let mut sink = Collector::default();
    let exchange = send(client, prepared, &mut sink).await;
    (exchange, sink)
}

/// What comes of an exchange with a server that writes `response` and closes.
pub(crate) async fn outcome_of(response: impl Into<Vec<u8>>) -> Outcome {
    let base_url = serve_bytes(response).await;
    exchange(&base_url, impatient(), Text(64)).await.0.outcome
}
