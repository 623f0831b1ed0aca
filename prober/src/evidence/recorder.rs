//! Taking down a response while it is read, within limits.

use super::Response;
use reqwest::header::HeaderMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that several recorders share.
#[derive(Debug)]
pub struct Room {
    left: AtomicUsize,
}

impl Room {
    /// Room for so many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self {
            left: AtomicUsize::new(bytes),
        }
    }

    /// Takes as much as there is, up to `wanted`.
    fn take(&self, wanted: usize) -> usize {
        let rest = |left: usize| Some(left.saturating_sub(wanted));
        let before = self
            .left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, rest);
        // It never fails: there is always a rest.
        wanted.min(before.unwrap_or(0))
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::AcqRel);
    }
}

/// Takes down a response. What it holds goes with it.
pub struct Recorder {
    response: Response,
    max_bytes: usize,
    /// How much of the shared room it has taken.
    held: usize,
    room: Arc<Room>,
}

impl Recorder {
    pub(super) fn new(max_bytes: usize, room: Arc<Room>) -> Self {
        Self {
            response: Response {
                head: Vec::new(),
                body: Vec::new(),
                trailers: Vec::new(),
                is_cut: false,
            },
            max_bytes,
            held: 0,
            room,
        }
    }

    /// The status and the headers.
    pub fn head(&mut self, status: u16, headers: &HeaderMap) {
        let head = [format!("HTTP {status}\r\n").into_bytes(), lines(headers)].concat();
        let kept = self.room_for(head.len());
        self.response.head.extend_from_slice(&head[..kept]);
    }

    /// The next bytes of the body.
    pub fn body(&mut self, bytes: &[u8]) {
        let kept = self.room_for(bytes.len());
        self.response.body.extend_from_slice(&bytes[..kept]);
    }

    /// The trailers.
    pub fn trailers(&mut self, trailers: &HeaderMap) {
        let trailers = lines(trailers);
        let kept = self.room_for(trailers.len());
        self.response.trailers.extend_from_slice(&trailers[..kept]);
    }

    /// What was taken down; `None` if there was no response.
    #[must_use]
    pub fn response(&self) -> Option<&Response> {
        (!self.response.is_empty()).then_some(&self.response)
    }

    /// How much of something is kept: of what follows on what was cut, nothing, so that no middle is missing.
    fn room_for(&mut self, wanted: usize) -> usize {
        if self.response.is_cut {
            return 0;
        }
        let own = self.max_bytes - self.response.len();
        let kept = self.room.take(wanted.min(own));
        self.held += kept;
        self.response.is_cut = kept < wanted;
        kept
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.room.give_back(self.held);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({:?})", self.response)
    }
}

fn lines(headers: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in headers {
        lines.extend_from_slice(name.as_str().as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value.as_bytes());
        lines.extend_from_slice(b"\r\n");
    }
    lines
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|&(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_response_is_taken_down_whole_in_any_pieces() {
        let mut recorder = Recorder::new(1_000, Arc::new(Room::new(1_000)));
        assert_eq!(recorder.response(), None);
        recorder.head(200, &headers(&[("content-type", "text/plain")]));
        recorder.body(b"one ");
        recorder.body(b"two");
        recorder.trailers(&headers(&[("x-sum", "7")]));
        let response = recorder.response().unwrap();
        assert!(!response.is_cut);
        assert_eq!(
            String::from_utf8_lossy(&response.to_bytes()),
            "HTTP 200\r\ncontent-type: text/plain\r\n\r\none two\r\nx-sum: 7\r\n"
        );
    }

    #[test]
    fn what_is_over_the_limit_is_cut_and_nothing_follows_it() {
        let mut recorder = Recorder::new(20, Arc::new(Room::new(1_000)));
        recorder.head(200, &HeaderMap::new());
        recorder.body(b"0123456789abc");
        recorder.body(b"d");
        let response = recorder.response().unwrap();
        assert!(response.is_cut);
        assert_eq!(
            (response.len(), &response.body[..]),
            (20, &b"0123456789"[..])
        );
    }

    #[test]
    fn recorders_share_their_room_and_give_it_back() {
        let room = Arc::new(Room::new(16));
        let recorder = |bytes: &[u8]| {
            let mut recorder = Recorder::new(100, Arc::clone(&room));
            recorder.body(bytes);
            recorder
        };
        let first = recorder(b"0123456789");
        let second = recorder(b"0123456789");
        assert_eq!(first.response().unwrap().len(), 10);
        assert_eq!(second.response().unwrap().len(), 6);
        drop((first, second));
        assert!(!recorder(b"0123456789abcdef").response().unwrap().is_cut);
    }

    #[test]
    fn debug_output_shows_how_much_and_nothing_else() {
        let mut recorder = Recorder::new(100, Arc::new(Room::new(100)));
        recorder.body(b"hunter2");
        assert_eq!(format!("{recorder:?}"), "Recorder(Response(7 bytes))");
    }
}
