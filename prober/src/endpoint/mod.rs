//! The station that speaks HTTP as a client: streams a request whose length is known exactly, reads
//! the response within limits, shows *every* text in it to a sink, and tells what came of it.
//!
//! ```text
//! Target + Prompt ─▶ prepare (first pass: count, show to the pre-flight scan) ─▶ Prepared
//! TenantClient + Prepared ─▶ send (second pass) ─▶ ResponseReader ─┬▶ Sink (headers, raw bytes, texts by path)
//!                                                                  └▶ Exchange { Outcome, usage, times }
//! ```
//!
//! The endpoint is assumed hostile: no bytes make it panic, and memory stays bounded whatever is
//! sent. No text of a response is kept, and none reaches an outcome, an error or a log. A JSON body
//! is parsed at its end, so its time to first text is the time to its end.

mod api;
mod classify;
mod client;
mod connection;
mod digest;
mod documents;
mod extras;
mod facts;
mod failure;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz_checks;
mod json;
mod limits;
mod outcome;
mod overlong;
mod place;
mod prompt;
mod reader;
mod send;
mod sse;
mod tokenize;
mod walk;

pub use api::{Api, Paths, Template, TemplateError};
pub(crate) use client::use_ring;
pub use client::{ClientError, TenantClient};
pub use connection::{Connection, Proxy};
pub use digest::{Digest, Hasher};
pub use extras::{Extras, ExtrasError, HeaderText, SharedId, check_header};
pub use limits::{Limit, Limits, Wait};
pub use outcome::{ConnectFailure, CutOff, Exchange, Outcome, Unsent, Usage};
pub use place::{Place, Sink};
pub use prompt::{Prepared, Prompt, Sender, SentBytes, prepare};
pub use send::send;
pub use tokenize::{TokenizeError, Tokenizing};

/// What a request is sent to.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// `http://` or `https://`, up to and including the version, e.g. `http://127.0.0.1:8000/v1`.
    pub base_url: String,
    /// The wire format.
    pub api: Api,
    /// The model asked for.
    pub model: String,
    /// Whether the answer is asked for as a stream.
    pub stream: bool,
    /// How long and how much is waited for.
    pub limits: Limits,
}
