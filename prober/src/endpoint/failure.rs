//! What an error of the HTTP library means. Only its kind is looked at; its text, which may hold a
//! URL, is compared to fixed phrases and dropped.

use super::limits::{Limit, Wait};
use super::outcome::{ConnectFailure, CutOff, Outcome, Unsent};
use super::prompt::PromptChanged;
use std::error::Error;
use std::io::{self, ErrorKind};

/// The outcome of a request that got no head of a response.
pub(super) fn before_response(error: &reqwest::Error) -> Outcome {
    let causes = || std::iter::successors(error.source(), |&cause| cause.source());
    if causes().any(|cause| cause.is::<PromptChanged>()) {
        return Outcome::Unsent(Unsent::PromptChanged);
    }
    if error.is_builder() {
        return Outcome::Unsent(Unsent::BadRequest);
    }
    if error.is_connect() {
        return if error.is_timeout() {
            Outcome::TimedOut(Wait::Connect)
        } else if error.is_dns() {
            Outcome::ConnectFailed(ConnectFailure::Dns)
        } else {
            Outcome::ConnectFailed(
                causes()
                    .find_map(connect_failure)
                    .unwrap_or(ConnectFailure::Other),
            )
        };
    }
    let phrases: Vec<String> = causes().map(ToString::to_string).collect();
    let is_told = |told: &[&str]| {
        phrases
            .iter()
            .any(|phrase| told.iter().any(|told| phrase.starts_with(told)))
    };
    // What follows can be the server's own words only in an error that was received, not detected.
    let is_endless_head = phrases.iter().any(|phrase| {
        phrase.starts_with("connection error detected") && phrase.contains("too_many_continuations")
    });
    if is_endless_head || is_told(&["message head is too large"]) {
        Outcome::TooLarge(Limit::HeaderBytes)
    } else if is_told(&[
        "invalid HTTP",
        "invalid content-length",
        "unexpected transfer-encoding",
    ]) {
        Outcome::Malformed("the head is not HTTP")
    } else if is_told(&["stream error detected", "connection error detected"]) {
        // The library does not tell the two apart.
        Outcome::Malformed("the head is too large, or not HTTP/2")
    } else {
        Outcome::CutOff(CutOff::BeforeResponse)
    }
}

fn connect_failure(cause: &(dyn Error + 'static)) -> Option<ConnectFailure> {
    if cause.is::<rustls::Error>() {
        return Some(ConnectFailure::Tls);
    }
    let error = cause.downcast_ref::<io::Error>()?;
    // An `io::Error` skips what it wraps when it is asked for its source.
    if let Some(wrapped) = error.get_ref() {
        let wrapped: &(dyn Error + 'static) = wrapped;
        return connect_failure(wrapped).or(Some(ConnectFailure::Other));
    }
    match error.kind() {
        ErrorKind::ConnectionRefused => Some(ConnectFailure::Refused),
        ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::AddrNotAvailable => Some(ConnectFailure::Unreachable),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::UnexpectedEof
        | ErrorKind::BrokenPipe => Some(ConnectFailure::Closed),
        _ => None,
    }
}
