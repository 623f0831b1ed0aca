//! What came of an exchange. Nothing in here ever holds text of a response.

use super::digest::Digest;
use super::limits::{Limit, Wait};
use std::fmt;
use std::time::Duration;

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// What the endpoint did.
    pub outcome: Outcome,
    /// The response's status, if its head arrived.
    pub status: Option<u16>,
    /// What the endpoint counted, from the last object that said so.
    pub usage: Option<Usage>,
    /// Why the model stopped: at most 32 of `[a-z_]`, anything else is `other`.
    pub finish_reason: Option<String>,
    /// Bytes of the request body handed to the connection.
    pub request_bytes: u64,
    /// Bytes of the response body read.
    pub response_bytes: u64,
    /// From the request's first byte (the connection stands) to the head of the response.
    pub ttfb: Option<Duration>,
    /// From the request's first byte (the connection stands) to the answer's first text.
    pub ttft: Option<Duration>,
    /// From the first attempt to connect to the end.
    pub duration: Duration,
    /// The model that the endpoint says answered: at most 64 of `[A-Za-z0-9._:/@+-]`, else `None`.
    pub model: Option<String>,
    /// The build or configuration that the endpoint says answered; as `model`.
    pub fingerprint: Option<String>,
    /// What the endpoint calls its response.
    pub response_id: Option<Digest>,
}

impl Exchange {
    /// An exchange whose client went away after so long, as planned.
    #[must_use]
    pub fn cancelled(duration: Duration) -> Self {
        Self {
            outcome: Outcome::Cancelled,
            duration,
            ..Self::default()
        }
    }
}

impl Default for Exchange {
    /// An exchange that was never tried.
    fn default() -> Self {
        Self {
            outcome: Outcome::Unsent(Unsent::NotTried),
            status: None,
            usage: None,
            finish_reason: None,
            request_bytes: 0,
            response_bytes: 0,
            ttfb: None,
            ttft: None,
            duration: Duration::ZERO,
            model: None,
            fingerprint: None,
            response_id: None,
        }
    }
}

/// What the endpoint counted, in tokens; each below 10¹².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Length of the prompt.
    pub prompt_tokens: u64,
    /// Length of the answer; 0 if not told.
    pub completion_tokens: u64,
    /// How much of the prompt came from a prefix cache, if told.
    pub cached_tokens: Option<u64>,
    /// How much of the answer was reasoning, if told.
    pub reasoning_tokens: Option<u64>,
}

/// What the endpoint did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It answered: 2xx, a completion with at least one choice, and an end.
    Answered,
    /// It refused the prompt as too long, before any text of an answer.
    RejectedTooLong {
        /// The limit it named, in tokens.
        limit: Option<u64>,
        /// The length of the prompt it named, in tokens; never a mere lower bound.
        prompt_tokens: Option<u64>,
    },
    /// It refused because of too many requests or tokens in a time.
    RateLimited {
        /// How long it asks us to stay away, at most a day.
        retry_after: Option<Duration>,
    },
    /// It has no capacity now.
    Overloaded,
    /// It did not accept the credential.
    Unauthorised,
    /// It does not know the model.
    ModelUnknown,
    /// It answered, but says that it read only a part of the prompt.
    Truncated,
    /// A filter for content kept the answer back, or the rest of it.
    ContentFiltered,
    /// The model declined to answer.
    Declined,
    /// It refused otherwise, or pointed elsewhere: the status, neither 2xx nor 5xx.
    Refused(u16),
    /// It failed: the status; a 2xx if the failure was told inside a response that began well.
    ServerError(u16),
    /// No connection came to stand.
    ConnectFailed(ConnectFailure),
    /// It took too long.
    TimedOut(Wait),
    /// The connection or the answer ended too early.
    CutOff(CutOff),
    /// It sent more than we take.
    TooLarge(Limit),
    /// What it sent is no answer of this API; the reason is a fixed text of ours.
    Malformed(&'static str),
    /// Our client went away before the end, as planned.
    Cancelled,
    /// Nothing, or not the whole request, was sent, and that is not the endpoint's doing.
    Unsent(Unsent),
}

/// Why no connection came to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFailure {
    /// The name has no address.
    Dns,
    /// Nobody listens there.
    Refused,
    /// The network or the host cannot be reached.
    Unreachable,
    /// The peer closed the connection while it was being set up.
    Closed,
    /// The TLS handshake failed; an untrusted certificate is the commonest reason.
    Tls,
    /// This machine has no root certificates, so no `https` endpoint can be trusted.
    NoRootCertificates,
    /// Anything else.
    Other,
}

/// Why a response ended too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// The connection ended before the head of a response.
    BeforeResponse,
    /// The connection or its framing broke inside the body.
    MidBody,
    /// The body ended properly, but without a finish reason or `[DONE]`.
    NoEnd,
    /// An error was told after the answer had begun.
    ErrorMidAnswer,
}

/// Why a request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// Nobody tried.
    NotTried,
    /// The URL or the credential cannot be written into a request.
    BadRequest,
    /// The prompt was not the same in the second pass, so the connection was broken off.
    PromptChanged,
}

impl Outcome {
    /// The code in tables, metrics and output. Stable.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::RejectedTooLong { .. } => "rejected_too_long",
            Self::RateLimited { .. } => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Unauthorised => "unauthorised",
            Self::ModelUnknown => "model_unknown",
            Self::Truncated => "truncated",
            Self::ContentFiltered => "content_filtered",
            Self::Declined => "declined",
            Self::Refused(_) => "refused",
            Self::ServerError(_) => "server_error",
            Self::ConnectFailed(_) => "connect_failed",
            Self::TimedOut(_) => "timed_out",
            Self::CutOff(_) => "cut_off",
            Self::TooLarge(_) => "too_large",
            Self::Malformed(_) => "malformed",
            Self::Cancelled => "cancelled",
            Self::Unsent(_) => "unsent",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered => f.write_str("the endpoint answered"),
            Self::RejectedTooLong {
                limit: Some(limit), ..
            } => {
                write!(
                    f,
                    "the endpoint refused the prompt as too long (its limit is {limit} tokens)"
                )
            }
            Self::RejectedTooLong { limit: None, .. } => {
                f.write_str("the endpoint refused the prompt as too long")
            }
            Self::RateLimited {
                retry_after: Some(wait),
            } => {
                write!(
                    f,
                    "the endpoint limits our rate (try again in {} s)",
                    wait.as_secs()
                )
            }
            Self::RateLimited { retry_after: None } => f.write_str("the endpoint limits our rate"),
            Self::Overloaded => f.write_str("the endpoint has no capacity now"),
            Self::Unauthorised => f.write_str(
                "the endpoint does not accept the credential (check the tenant's credential)",
            ),
            Self::ModelUnknown => {
                f.write_str("the endpoint does not know the model (check the endpoint's `model`)")
            }
            Self::Truncated => f.write_str(
                "the endpoint cut the prompt and answered (is `context_tokens` what it serves?)",
            ),
            Self::ContentFiltered => f.write_str("a content filter kept the answer back"),
            Self::Declined => f.write_str("the model declined to answer"),
            Self::Refused(status) => {
                write!(f, "the endpoint refused the request with status {status}")
            }
            Self::ServerError(status) => write!(f, "the endpoint failed with status {status}"),
            Self::ConnectFailed(failure) => {
                write!(f, "could not connect to the endpoint: {failure}")
            }
            Self::TimedOut(wait) => write!(f, "the endpoint took longer than `{wait}`"),
            Self::CutOff(cut) => write!(f, "the response ended too early: {cut}"),
            Self::TooLarge(limit) => write!(f, "the response was larger than `{limit}`"),
            Self::Malformed(reason) => write!(f, "the response is no answer of this API: {reason}"),
            Self::Cancelled => f.write_str("our client went away, as planned"),
            Self::Unsent(unsent) => write!(f, "the request was not sent: {unsent}"),
        }
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dns => "its name has no address",
            Self::Refused => "connection refused",
            Self::Unreachable => "network or host unreachable",
            Self::Closed => "the peer closed the connection",
            Self::Tls => "the TLS handshake failed (is its certificate trusted here?)",
            Self::NoRootCertificates => {
                "no root certificates on this machine (install `ca-certificates`)"
            }
            Self::Other => "the connection could not be set up",
        })
    }
}

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeResponse => "the connection ended before a response",
            Self::MidBody => "the connection broke inside the body",
            Self::NoEnd => "no finish reason and no `[DONE]`",
            Self::ErrorMidAnswer => "an error was told after the answer had begun",
        })
    }
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotTried => "it was never tried",
            Self::BadRequest => "its URL or credential cannot be written into a request",
            Self::PromptChanged => "the prompt was not the same in the second pass",
        })
    }
}
