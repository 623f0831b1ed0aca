//! The request: a JSON body around a text that is never whole in memory, its length known exactly.
//!
//! The text is produced twice. The first pass counts it and shows every byte to the pre-flight scan;
//! the second sends it. Both must give the same bytes: the second is checked against the first by
//! length and SHA-256 *before* its last piece leaves, so a text that changed is never a complete
//! request, and what was scanned is what was sent.

use super::api::{Ask, PROMPT};
use super::reader::Asked;
use super::{Extras, Limits, SharedId, Target};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::header::HeaderMap;
use ring::digest::{Context as Hasher, SHA256};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// Pieces smaller than this are sent together.
const PIECE_BYTES: usize = 16 << 10;

/// A text that can be produced again and again, the same bytes each time, never whole in memory.
pub trait Prompt: Send + Sync {
    /// The text from its beginning, in pieces of any size (a few KiB are best).
    fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send>;
}

/// Who sends a request, and for which round.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// What the tenant adds to its requests.
    pub extras: &'a Extras,
    /// The number of the round.
    pub round: &'a str,
    /// What the request calls itself, if others call themselves the same.
    pub shared_id: Option<&'a SharedId>,
}

/// A request ready to be sent once: its URL, its body's exact length, and what its text must be.
pub struct Prepared {
    pub(super) asked: Asked,
    pub(super) headers: HeaderMap,
    pub(super) url: String,
    pub(super) limits: Limits,
    source: Source,
    content_length: u64,
    digest: Vec<u8>,
    sent: SentBytes,
}

/// Tells how much of a request's body has been handed to the connection, also once nobody waits for its response
/// any more.
#[derive(Clone, Debug, Default)]
pub struct SentBytes(Arc<AtomicU64>);

impl SentBytes {
    /// So many bytes so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Prepared {
    /// Tells how much of it has left.
    #[must_use]
    pub fn sent(&self) -> SentBytes {
        self.sent.clone()
    }

    /// The body's exact length in bytes.
    #[must_use]
    pub fn content_length(&self) -> u64 {
        self.content_length
    }

    /// The body for the wire, and the ends through which its progress can be watched.
    pub(super) fn into_body(self) -> (PromptBody, Progress) {
        let (began, begun) = oneshot::channel();
        let sent = self.sent;
        let body = PromptBody {
            pieces: Mutex::new(self.source.pieces()),
            held: None,
            started: false,
            hasher: Hasher::new(&SHA256),
            left: self.content_length,
            digest: self.digest,
            began: Some(began),
            sent: sent.clone(),
        };
        (body, Progress { begun, sent })
    }
}

/// How far a request body got.
pub(super) struct Progress {
    /// Ready when the connection stands and the body is asked for.
    pub(super) begun: oneshot::Receiver<()>,
    /// Bytes handed to the connection.
    pub(super) sent: SentBytes,
}

/// Makes a request ready: goes through the prompt once, counts the body and shows every byte of it,
/// in order, to `observe`. Takes as long as the prompt takes to produce, so not for an async thread.
pub fn prepare(
    target: &Target,
    sender: &Sender<'_>,
    prompt: Arc<dyn Prompt>,
    max_tokens: u32,
    observe: &mut dyn FnMut(&[u8]),
) -> Prepared {
    let ask = Ask {
        model: &target.model,
        max_tokens,
        stream: target.stream,
    };
    let mut body = sender.extras.body(&target.api, &ask, sender.round);
    let mut headers = HeaderMap::new();
    sender.extras.add_headers(sender.round, &mut headers);
    if let Some(id) = sender.shared_id {
        id.add_to(&mut headers, &mut body);
    }
    let (head, tail) = around_prompt(&body);
    let source = Source { head, prompt, tail };
    let mut hasher = Hasher::new(&SHA256);
    let mut content_length = 0;
    for piece in source.pieces() {
        hasher.update(&piece);
        content_length += piece.len() as u64;
        observe(&piece);
    }
    Prepared {
        asked: Asked {
            api: target.api.clone(),
            stream: target.stream,
        },
        headers,
        url: target.api.dialect().url(&target.base_url, &ask),
        limits: target.limits,
        source,
        content_length,
        digest: hasher.finish().as_ref().to_vec(),
        sent: SentBytes::default(),
    }
}

/// The text of a body before and after the prompt.
fn around_prompt(body: &serde_json::Value) -> (String, String) {
    let body = body.to_string();
    let mark = serde_json::Value::from(PROMPT).to_string();
    let mark = mark.trim_matches('"');
    match body.split_once(mark) {
        Some((head, tail)) => (head.to_owned(), tail.to_owned()),
        // No dialect leaves the prompt out; a test says so.
        None => (body, String::new()),
    }
}

struct Source {
    head: String,
    prompt: Arc<dyn Prompt>,
    tail: String,
}

type Pieces = Box<dyn Iterator<Item = Bytes> + Send>;

impl Source {
    /// The body from its beginning, in pieces of at least [`PIECE_BYTES`] except the last.
    fn pieces(&self) -> Pieces {
        let mut chunks = self.prompt.chunks();
        let mut buffer = self.head.clone().into_bytes();
        let mut tail = Some(self.tail.clone());
        Box::new(std::iter::from_fn(move || {
            while tail.is_some() && buffer.len() < PIECE_BYTES {
                match chunks.next() {
                    Some(chunk) => escape_into(&chunk, &mut buffer),
                    None => buffer.extend_from_slice(tail.take().unwrap_or_default().as_bytes()),
                }
            }
            let piece = std::mem::take(&mut buffer);
            (!piece.is_empty()).then(|| Bytes::from(piece))
        }))
    }
}

/// Appends `text` as the inside of a JSON string. Escapes only what JSON demands, so that the text
/// stays as it is for whoever looks at the wire.
fn escape_into(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short: &[u8] = match byte {
            b'"' => br#"\""#,
            b'\\' => br"\\",
            b'\n' => br"\n",
            b'\r' => br"\r",
            b'\t' => br"\t",
            0..0x20 => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain..at]);
        if short.is_empty() {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        } else {
            out.extend_from_slice(short);
        }
        plain = at + 1;
    }
    out.extend_from_slice(&bytes[plain..]);
}

/// The prompt gave other bytes in the second pass.
#[derive(Debug, thiserror::Error)]
#[error("the prompt changed between its two passes")]
pub(super) struct PromptChanged;

/// A request body with an exact length, from which the HTTP library makes `content-length`.
pub(super) struct PromptBody {
    /// In a mutex only because the HTTP library wants bodies to be `Sync`; nobody ever waits for it.
    pieces: Mutex<Pieces>,
    /// Held back until it is known whether it is the last one.
    held: Option<Bytes>,
    started: bool,
    hasher: Hasher,
    left: u64,
    digest: Vec<u8>,
    began: Option<oneshot::Sender<()>>,
    sent: SentBytes,
}

impl PromptBody {
    fn next_piece(&mut self) -> Option<Bytes> {
        let pieces = self
            .pieces
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let piece = pieces.next()?;
        self.hasher.update(&piece);
        Some(piece)
    }

    fn next_checked(&mut self) -> Result<Option<Bytes>, PromptChanged> {
        if !self.started {
            self.started = true;
            self.held = self.next_piece();
        }
        let Some(piece) = self.held.take() else {
            return if self.left == 0 {
                Ok(None)
            } else {
                Err(PromptChanged)
            };
        };
        self.held = self.next_piece();
        let length = piece.len() as u64;
        let same = match &self.held {
            // The last byte counted never leaves before the whole text is known to be the same.
            Some(_) => length < self.left,
            None => length == self.left && self.hasher.clone().finish().as_ref() == self.digest,
        };
        if !same {
            return Err(PromptChanged);
        }
        self.left -= length;
        self.sent.0.fetch_add(length, Ordering::Relaxed);
        Ok(Some(piece))
    }
}

impl Body for PromptBody {
    type Data = Bytes;
    type Error = PromptChanged;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PromptChanged>>> {
        if let Some(began) = self.began.take() {
            // Nobody may be listening any more; then nobody needs to know.
            let _ = began.send(());
        }
        Poll::Ready(
            self.next_checked()
                .transpose()
                .map(|piece| piece.map(Frame::data)),
        )
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests;
