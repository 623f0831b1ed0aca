//! A way to the database that can be cut.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// What comes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Everything.
    Open,
    /// Nothing, and neither side is told.
    Mute,
    /// Connections are broken and refused.
    Closed,
}

/// A relay to a server's socket.
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    passage: watch::Sender<Passage>,
    socket: Arc<Mutex<String>>,
    _task: AbortOnDropHandle<()>,
}

impl Wire {
    /// To the server of a URL that names the folder of its socket.
    pub(crate) async fn to_server(url: &str) -> Self {
        let socket = Arc::new(Mutex::new(socket_of(url)));
        let target = Arc::clone(&socket);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, passage) = watch::channel(Passage::Open);
        let task = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (socket, mut passage) = (target.lock().unwrap().clone(), passage.clone());
                tokio::spawn(async move {
                    let Ok(mut server) = UnixStream::connect(&socket).await else {
                        return;
                    };
                    loop {
                        let passes = passage.wait_for(|now| *now != Passage::Mute).await;
                        if passes.is_ok_and(|now| *now == Passage::Closed) {
                            return;
                        }
                        tokio::select! {
                            _ = copy_bidirectional(&mut client, &mut server) => return,
                            changed = passage.wait_for(|now| *now != Passage::Open) => {
                                if changed.is_err() {
                                    return;
                                }
                            }
                        }
                    }
                });
            }
        });
        Self {
            address,
            passage: sender,
            socket,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(crate) fn set(&self, passage: Passage) {
        self.passage.send_replace(passage);
    }

    /// Connections of before break, and others lead to another server.
    pub(crate) fn lead_to(&self, url: &str) {
        *self.socket.lock().unwrap() = socket_of(url);
        self.set(Passage::Closed);
    }

    /// The URL of a database by this way.
    pub(crate) fn url(&self, url: &str) -> String {
        let (_, database) = url.rsplit_once('/').unwrap();
        format!("postgres://postgres@{}/{database}", self.address)
    }
}

/// The socket of the server of a URL that names its folder.
fn socket_of(url: &str) -> String {
    let folder = url.split(['@', '/']).find(|part| part.contains("%2F"));
    let folder = folder.expect("a folder in the URL").replace("%2F", "/");
    format!("{folder}/.s.PGSQL.5432")
}
