//! How long and how much is waited for in one exchange. Every server is bounded by these alone.

use std::fmt;
use std::time::Duration;

/// How long and how much is waited for in one exchange.
///
/// Memory for a response is bounded by `json_bytes + 2 × line_bytes` and constants, whatever the
/// server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands, TLS included.
    pub connect_timeout: Duration,
    /// From the request's first byte to the end of the response's head.
    pub first_byte_timeout: Duration,
    /// Between two pieces of a response body.
    pub idle_timeout: Duration,
    /// The whole exchange.
    pub total_timeout: Duration,
    /// The largest response body, in bytes; nothing beyond is read.
    pub response_bytes: u64,
    /// The largest response head, in bytes, names and values counted.
    pub header_bytes: u64,
    /// The longest line and the largest event of a stream, in bytes; a longer one is only seen raw.
    pub line_bytes: u64,
    /// The largest body that is one JSON document, in bytes; a larger one is only seen raw.
    pub json_bytes: u64,
    /// The most events in a stream; later ones are only seen raw.
    pub events: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(600),
            response_bytes: 8 << 20,
            header_bytes: 64 << 10,
            line_bytes: 1 << 20,
            json_bytes: 4 << 20,
            events: 100_000,
        }
    }
}

/// A size that a response went beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::response_bytes`].
    ResponseBytes,
    /// [`Limits::header_bytes`], or what the HTTP library takes at most.
    HeaderBytes,
    /// [`Limits::line_bytes`].
    LineBytes,
    /// [`Limits::json_bytes`].
    JsonBytes,
    /// [`Limits::events`].
    Events,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ResponseBytes => "response_bytes",
            Self::HeaderBytes => "header_bytes",
            Self::LineBytes => "line_bytes",
            Self::JsonBytes => "json_bytes",
            Self::Events => "events",
        })
    }
}

/// A time that a response took longer than.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// [`Limits::connect_timeout`].
    Connect,
    /// [`Limits::first_byte_timeout`].
    FirstByte,
    /// [`Limits::idle_timeout`].
    Idle,
    /// [`Limits::total_timeout`].
    Total,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect_timeout",
            Self::FirstByte => "first_byte_timeout",
            Self::Idle => "idle_timeout",
            Self::Total => "total_timeout",
        })
    }
}

/// A size as this machine counts; one that does not fit is no limit here.
pub(super) fn as_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
