//! A receiver's server: keeps what it is sent, and answers as it is told to.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// A message that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    /// As it was answered.
    pub(crate) status: u16,
}

impl Arrived {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    /// The type of a webhook's event.
    pub(crate) fn event(&self) -> &str {
        self.body["type"].as_str().unwrap()
    }
}

#[derive(Default)]
struct Shelf {
    arrived: Vec<Arrived>,
    script: VecDeque<(u16, Vec<(&'static str, String)>)>,
    always: Option<u16>,
}

/// A receiver's server on a port of its own.
#[derive(Clone)]
pub(crate) struct Inbox {
    pub(crate) url: String,
    shelf: Arc<Mutex<Shelf>>,
}

impl Inbox {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/in", listener.local_addr().unwrap());
        let shelf = Arc::new(Mutex::new(Shelf::default()));
        let router = Router::new().fallback(take).with_state(Arc::clone(&shelf));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shelf }
    }

    /// Answers the next messages so, one after the other, and all after them with 200.
    pub(crate) fn answers(&self, statuses: &[u16]) {
        let script = statuses.iter().map(|&status| (status, Vec::new()));
        self.shelf.lock().unwrap().script.extend(script);
    }

    pub(crate) fn answers_with(&self, status: u16, header: (&'static str, String)) {
        let mut shelf = self.shelf.lock().unwrap();
        shelf.script.push_back((status, vec![header]));
    }

    /// Answers everything so from now on, or with 200 again.
    pub(crate) fn always(&self, status: Option<u16>) {
        self.shelf.lock().unwrap().always = status;
    }

    /// What has arrived since this was asked for the last time.
    pub(crate) fn take(&self) -> Vec<Arrived> {
        std::mem::take(&mut self.shelf.lock().unwrap().arrived)
    }

    /// The types of the events that were taken since it was asked for anything the last time.
    pub(crate) fn taken(&self) -> Vec<String> {
        let arrived = self.take().into_iter();
        let taken = arrived.filter(|one| one.status == 200);
        taken.map(|one| one.event().to_owned()).collect()
    }
}

async fn take(State(shelf): State<Arc<Mutex<Shelf>>>, headers: HeaderMap, body: Bytes) -> Response {
    let mut shelf = shelf.lock().unwrap();
    let (status, extra) = match shelf.always {
        Some(status) => (status, Vec::new()),
        None => shelf.script.pop_front().unwrap_or((200, Vec::new())),
    };
    shelf.arrived.push(Arrived {
        headers,
        body: serde_json::from_slice(&body).unwrap(),
        status,
    });
    let mut response = StatusCode::from_u16(status).unwrap().into_response();
    for (name, value) in extra {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}
