//! An endpoint under test, and just enough HTTP/1.1 to speak to it.
// Each test binary uses a part of this.
#![allow(dead_code)]

pub(crate) mod recorded;
pub(crate) mod shaped;

use simulator::{Config, Gauges, Simulator};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A simulator on a free port; stops when dropped.
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) gauges: Gauges,
    _stop: DropGuard,
}

pub(crate) async fn start(config: Config) -> Endpoint {
    let simulator = Simulator::new(config).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let gauges = simulator.gauges();
    let stop = CancellationToken::new();
    tokio::spawn(simulator.serve(listener, stop.clone()));
    Endpoint {
        address,
        gauges,
        _stop: stop.drop_guard(),
    }
}

/// Sends a request on a connection of its own and leaves the answer to the caller.
pub(crate) async fn open(
    address: SocketAddr,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: &str,
) -> TcpStream {
    open_with(address, method, path, key, "", body).await
}

/// The same, with more lines in the head.
pub(crate) async fn open_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    key: Option<&str>,
    more: &str,
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let authorization = key.map_or_else(String::new, |key| {
        format!("authorization: Bearer {key}\r\n")
    });
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n{authorization}{more}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

/// Status and body of one request; chunked bodies are put together.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: &str,
) -> (u16, String) {
    receive(open(address, method, path, key, body).await).await
}

/// Status and body of what comes on a connection.
pub(crate) async fn receive(stream: TcpStream) -> (u16, String) {
    let (head, body) = receive_raw(stream).await;
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = if head.contains("transfer-encoding: chunked") {
        unchunk(&body)
    } else {
        body
    };
    (status, body)
}

/// Head and body of what comes on a connection, as they are.
pub(crate) async fn receive_raw(mut stream: TcpStream) -> (String, String) {
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

pub(crate) fn unchunk(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&after[..size]);
        rest = after[size..].strip_prefix("\r\n").unwrap();
    }
    body
}
