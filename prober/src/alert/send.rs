//! Sending: what a receiver's server did with a message. Nothing that it answers is kept or shown but its status.

mod mail;

use super::guard::{Guard, Private, is_public};
use super::receiver::{Kind, Message, Post, Receiver};
use super::retry::Answer;
use crate::endpoint::ClientError;
use mail::{MailWay, mail, send_letter};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{StatusCode, Url, redirect, retry};
use secrecy::ExposeSecret as _;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Far less than a message is leased for.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Why nothing can be sent to a receiver.
#[derive(Debug, thiserror::Error)]
pub enum SenderError {
    /// Certificates, key or proxy are none, or the HTTP library refused its settings.
    #[error("prepare to send alerts to receiver `{receiver}`")]
    Client {
        /// Its name.
        receiver: String,
        /// Why not.
        source: ClientError,
    },
    /// The address of the mail server, or one of those who write and read, is none.
    #[error("prepare to send alerts to receiver `{receiver}`: {what}")]
    Mail {
        /// Its name.
        receiver: String,
        /// What is wrong; holds no password.
        what: &'static str,
    },
}

/// Sends to one receiver.
#[derive(Clone)]
pub struct Sender {
    way: Way,
}

#[derive(Clone)]
enum Way {
    Http {
        client: reqwest::Client,
        allow_private: bool,
    },
    Mail(Box<MailWay>),
}

impl Sender {
    /// Of a receiver. Connects to nothing yet.
    ///
    /// # Errors
    /// When what it says of its connection cannot be.
    pub fn new(receiver: &Receiver) -> Result<Self, SenderError> {
        let way = match &receiver.kind {
            Kind::Email(email) => {
                let way = mail(email, &receiver.connection).map_err(|what| SenderError::Mail {
                    receiver: receiver.name.clone(),
                    what,
                });
                Way::Mail(Box::new(way?))
            }
            _ => http(receiver).map_err(|source| SenderError::Client {
                receiver: receiver.name.clone(),
                source,
            })?,
        };
        Ok(Self { way })
    }

    /// Sends a message, at `now`; what came of it.
    pub async fn send(&self, message: &Message, now: OffsetDateTime) -> Answer {
        match (&self.way, message) {
            (
                Way::Http {
                    client,
                    allow_private,
                },
                Message::Posts(posts),
            ) => {
                for post in posts {
                    let answer = send_post(client, *allow_private, post, now).await;
                    if answer != Answer::Taken {
                        return answer;
                    }
                }
                Answer::Taken
            }
            (
                Way::Http {
                    client,
                    allow_private,
                },
                Message::Replicas(posts),
            ) => {
                let mut last = Answer::Taken;
                let mut is_taken = posts.is_empty();
                for post in posts {
                    match send_post(client, *allow_private, post, now).await {
                        Answer::Taken => is_taken = true,
                        answer => last = answer,
                    }
                }
                if is_taken { Answer::Taken } else { last }
            }
            (Way::Mail(way), Message::Letter(letter)) => send_letter(way, letter, now).await,
            // A receiver's messages are of its own kind.
            _ => Answer::Refused {
                because: "it is a message of another kind".to_owned(),
            },
        }
    }
}

fn http(receiver: &Receiver) -> Result<Way, ClientError> {
    crate::endpoint::use_ring();
    let connection = &receiver.connection;
    let mut settings = reqwest::Client::builder()
        .user_agent(concat!("prober/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false);
    if !receiver.allow_private {
        let hosts = receiver.kind.hosts();
        settings = settings.dns_resolver(Arc::new(Guard { hosts }));
    }
    let client = connection
        .apply(settings)?
        .tls_certs_merge(connection.authorities()?)
        .build()
        .map_err(ClientError::Build)?;
    Ok(Way::Http {
        client,
        allow_private: receiver.allow_private,
    })
}

async fn send_post(
    client: &reqwest::Client,
    allow_private: bool,
    post: &Post,
    now: OffsetDateTime,
) -> Answer {
    let request = Url::parse(post.url.expose_secret()).ok().and_then(|url| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &post.headers {
            let mut value = HeaderValue::from_str(value.expose_secret()).ok()?;
            value.set_sensitive(true);
            headers.insert(name.clone(), value);
        }
        Some((url, headers))
    });
    let Some((url, headers)) = request else {
        // The configuration was checked.
        return failed("its address or one of its headers cannot be sent");
    };
    // A bare address is never looked up.
    if !allow_private && literal(&url).is_some_and(|address| !is_public(address)) {
        return failed(&Private.to_string());
    }
    let sent = client
        .post(url)
        .headers(headers)
        .body(post.body.clone())
        .send()
        .await;
    match sent {
        Ok(response) => answer(response.status(), response.headers(), now),
        Err(error) => failed(&reason(&error)),
    }
}

fn literal(url: &Url) -> Option<std::net::IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

fn failed(because: &str) -> Answer {
    Answer::Failed {
        because: because.to_owned(),
        retry_after: None,
    }
}

/// What an HTTP status means. What concerns this message alone is refused for good; what concerns the receiver may be
/// mended while the message waits.
fn answer(status: StatusCode, headers: &HeaderMap, now: OffsetDateTime) -> Answer {
    if status.is_success() {
        return Answer::Taken;
    }
    let because = match status {
        StatusCode::GONE => return Answer::Gone,
        status if status.is_redirection() => {
            format!(
                "it answered {} (redirects are not followed: set its new address)",
                status.as_u16()
            )
        }
        status => format!("it answered {}", status.as_u16()),
    };
    match status {
        StatusCode::BAD_REQUEST
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::UNPROCESSABLE_ENTITY => Answer::Refused { because },
        _ => Answer::Failed {
            because,
            retry_after: retry_after(headers, now),
        },
    }
}

/// Seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap, now: OffsetDateTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = OffsetDateTime::parse(&text.replace("GMT", "+0000"), &Rfc2822).ok()?;
    Duration::try_from(date - now).ok()
}

/// Why a request failed, without its address.
fn reason(error: &reqwest::Error) -> String {
    let mut source = error.source();
    while let Some(inner) = source {
        if inner.is::<Private>() {
            return Private.to_string();
        }
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            return format!("it cannot be reached: {}", io.kind());
        }
        source = inner.source();
    }
    let what = if error.is_timeout() {
        "it did not answer in time"
    } else if error.is_connect() {
        "it cannot be reached"
    } else {
        "the request failed"
    };
    what.to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::samples::NOW;
    use super::*;

    fn headers(text: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, text.parse().unwrap());
        headers
    }

    #[test]
    fn a_pause_is_asked_for_in_seconds_or_until_a_date() {
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Tue, 01 Dec 2026 10:02:00 GMT", Some(120)),
            ("Tue, 01 Dec 2026 09:00:00 GMT", None),
            ("soon", None),
            ("-5", None),
        ] {
            let pause = retry_after(&headers(text), NOW);
            assert_eq!(pause, seconds.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn what_concerns_a_message_is_final_and_what_concerns_the_receiver_is_not() {
        let after = |status: u16| {
            answer(
                StatusCode::from_u16(status).unwrap(),
                &HeaderMap::new(),
                NOW,
            )
        };
        for status in [200, 202, 204] {
            assert_eq!(after(status), Answer::Taken, "{status}");
        }
        for status in [301, 307, 401, 403, 404, 408, 429, 500, 503] {
            assert!(matches!(after(status), Answer::Failed { .. }), "{status}");
        }
        for status in [400, 413, 415, 422] {
            assert!(matches!(after(status), Answer::Refused { .. }), "{status}");
        }
        assert_eq!(after(410), Answer::Gone);
    }
}
