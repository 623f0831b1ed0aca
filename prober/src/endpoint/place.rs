//! Places: where in a response a text stood, and who is told of it.

use reqwest::header::HeaderMap;
use std::fmt;

/// Where in a response a piece of text stood. Holds no text of the response: names that we do not
/// know by heart are numbered in the order of their appearance (`?1`, `?2`, …).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The names of all headers and trailers.
    HeaderNames,
    /// The values of the headers of one name.
    Header(String),
    /// The values of the trailers of one name.
    Trailer(String),
    /// The bytes of the body as they came (chunked transfer undone).
    RawBody,
    /// Strings and numbers at one path of the JSON documents, unescaped, e.g.
    /// `choices[0].delta.content` over all events of a stream.
    Text {
        /// The path.
        path: String,
        /// Whether these are the model's own words in a 2xx body.
        answer: bool,
    },
    /// The keys of JSON objects that no known API has.
    Keys,
    /// Comments of an event stream.
    SseComment,
    /// Fields of an event stream other than `data`, and lines that are none.
    SseField,
    /// Data of an event stream that is not JSON.
    SseData,
}

impl Place {
    /// Whether it is the model's own words in a 2xx body.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Text { answer: true, .. })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeaderNames => f.write_str("header names"),
            Self::Header(name) => write!(f, "header {name}"),
            Self::Trailer(name) => write!(f, "trailer {name}"),
            Self::RawBody => f.write_str("raw body"),
            Self::Text { path, .. } => f.write_str(path),
            Self::Keys => f.write_str("JSON keys"),
            Self::SseComment => f.write_str("stream comments"),
            Self::SseField => f.write_str("stream fields"),
            Self::SseData => f.write_str("stream data that is not JSON"),
        }
    }
}

/// Whoever is told of every text of a response. There are at most about 900 places in a response.
pub trait Sink: Send {
    /// A piece of the text at `place`. The pieces of one place, in their order, form one continuous
    /// text; a piece may begin and end inside a character.
    fn piece(&mut self, place: &Place, bytes: &[u8]);

    /// The head of the response as it was received. Each text of it comes as a piece, too.
    fn head(&mut self, _status: u16, _headers: &HeaderMap) {}

    /// Its trailers, likewise.
    fn trailers(&mut self, _trailers: &HeaderMap) {}
}
