//! A response as it was received, and how it is written down before it is sealed.

use std::fmt;

/// A response: its head, its body, its trailers. `Debug` shows none of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    /// Status line and headers, each ended by a line break (CR LF).
    pub head: Vec<u8>,
    /// The body as it was read: chunks put together, compression undone.
    pub body: Vec<u8>,
    /// Trailers as headers, mostly none.
    pub trailers: Vec<u8>,
    /// Whether there was more than is in here.
    pub is_cut: bool,
}

impl Response {
    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len() + self.trailers.len()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it, as it stands on the wire of HTTP/1.1.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() + 4);
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        if !self.trailers.is_empty() {
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(&self.trailers);
        }
        bytes
    }

    /// Head and trailers, each with its length before it (32 bits, big-endian), then the body.
    pub(super) fn encode(&self, room_behind: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.len() + room_behind);
        for part in [&self.head, &self.trailers] {
            // A head has a few hundred KiB at most.
            bytes.extend_from_slice(&(part.len() as u32).to_be_bytes());
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(&self.body);
        bytes
    }

    pub(super) fn decode(bytes: &[u8], is_cut: bool) -> Option<Self> {
        let (head, rest) = part(bytes)?;
        let (trailers, body) = part(rest)?;
        Some(Self {
            head: head.to_vec(),
            body: body.to_vec(),
            trailers: trailers.to_vec(),
            is_cut,
        })
    }
}

fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({} bytes)", self.len())
    }
}
