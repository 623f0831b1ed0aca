//! A relay of bytes that notes who sends requests.

use prober::clock::Clock as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use time::OffsetDateTime;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use super::member::FastClock;

/// The header by which a member tells who it is.
pub(crate) const HEADER: &str = "x-member";

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: OffsetDateTime,
    pub(crate) member: String,
}

/// An endpoint's front door.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    _task: AbortOnDropHandle<()>,
}

impl Door {
    pub(crate) async fn before(engine: String, clock: FastClock) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&arrivals);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (engine, book) = (engine.clone(), Arc::clone(&book));
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect(&engine).await else {
                        return;
                    };
                    let (from_client, mut to_client) = client.into_split();
                    let (mut from_server, to_server) = server.into_split();
                    let up = note(from_client, to_server, &book, clock);
                    let down = tokio::io::copy(&mut from_server, &mut to_client);
                    // Whoever hangs up first hangs up for both.
                    tokio::select! {
                        () = up => {}
                        _ = down => {}
                    }
                });
            }
        });
        Self {
            address,
            arrivals,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        let arrivals = self.arrivals.lock();
        arrivals.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Passes a client's bytes on; notes each head of a request that names its member.
async fn note(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    book: &Mutex<Vec<Arrival>>,
    clock: FastClock,
) {
    let mut buffer = vec![0; 1 << 16];
    // The end of what was passed on, in case a header is cut in two.
    let mut tail: Vec<u8> = Vec::new();
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        tail.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&tail);
        let mut rest = text.as_ref();
        while let Some((_, after)) = rest.split_once(&format!("{HEADER}: ")) {
            let Some((member, after)) = after.split_once("\r\n") else {
                break;
            };
            rest = after;
            let arrival = Arrival {
                at: clock.now(),
                member: member.to_owned(),
            };
            book.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(arrival);
        }
        let keep = rest.len().min(64);
        tail = rest.as_bytes()[rest.len() - keep..].to_vec();
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
