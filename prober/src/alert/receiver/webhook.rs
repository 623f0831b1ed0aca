//! Standard Webhooks 1.0: a JSON event, signed, with an id that stays the same at every attempt.

use super::{Context, Envelope, Headers, Post};
use crate::alert::notice::{Notice, Subject, moment};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderName;
use ring::hmac;
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use serde_json::{Value, json};

/// Its shortest and longest secret, in bytes (Standard Webhooks 1.0).
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A receiver of signed JSON events.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// Where to; secret, because many such addresses are.
    pub url: SecretString,
    /// What events are signed with, all of them; the newest first. None signs nothing.
    pub keys: Vec<SigningKey>,
    /// Headers of its own, such as `authorization`.
    pub headers: Headers,
}

/// A symmetric key. `Debug` does not show it.
#[derive(Clone, Debug)]
pub struct SigningKey(SecretSlice<u8>);

/// Why a text is no signing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no webhook secret (write `whsec_` and the base64 of 24 to 64 random bytes)")]
pub struct SigningKeyError;

impl SigningKey {
    /// From `whsec_<base64>`; the prefix may be missing.
    ///
    /// # Errors
    /// When it is not that.
    pub fn parse(text: &SecretString) -> Result<Self, SigningKeyError> {
        let text = text.expose_secret();
        let encoded = text.strip_prefix("whsec_").unwrap_or(text);
        let bytes = STANDARD.decode(encoded).map_err(|_| SigningKeyError)?;
        if !KEY_BYTES.contains(&bytes.len()) {
            return Err(SigningKeyError);
        }
        Ok(Self(bytes.into()))
    }

    fn sign(&self, signed: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose_secret());
        let tag = hmac::sign(&key, signed.as_bytes());
        format!("v1,{}", STANDARD.encode(tag))
    }
}

impl Webhook {
    pub(super) fn posts(&self, envelopes: &[Envelope], context: &Context<'_>) -> Vec<Post> {
        let envelopes = envelopes.iter();
        envelopes
            .map(|envelope| self.post(envelope, context))
            .collect()
    }

    fn post(&self, envelope: &Envelope, context: &Context<'_>) -> Post {
        let body = event(&envelope.notice, context.site).to_string();
        let sent_at = context.now.unix_timestamp();
        let signed = format!("{}.{sent_at}.{body}", envelope.uid);
        let signatures: Vec<String> = self.keys.iter().map(|key| key.sign(&signed)).collect();
        let mut headers = self.headers.clone();
        headers.push((
            HeaderName::from_static("webhook-id"),
            envelope.uid.clone().into(),
        ));
        headers.push((
            HeaderName::from_static("webhook-timestamp"),
            sent_at.to_string().into(),
        ));
        if !signatures.is_empty() {
            headers.push((
                HeaderName::from_static("webhook-signature"),
                signatures.join(" ").into(),
            ));
        }
        Post {
            url: self.url.clone(),
            headers,
            body,
        }
    }
}

/// The event of a notice. It does not depend on when it is sent.
fn event(notice: &Notice, site: Option<&str>) -> Value {
    let mut data = json!({
        "severity": notice.severity().as_str(),
        "headline": notice.headline(),
        "link": notice.link(site),
    });
    match &notice.subject {
        Subject::Incident(_, incident) => {
            data["incident"] = json!({
                "uid": incident.uid, "number": incident.number, "endpoint": incident.endpoint,
                "kind": incident.kind, "signature": incident.signature, "state": incident.state,
                "opened_at": moment(incident.opened_at), "last_finding_at": moment(incident.last_finding_at),
                "findings": incident.findings, "reopened": incident.reopened, "by": incident.who,
                "drill": incident.drill,
            });
        }
        Subject::Undelivered { receiver, because } => {
            data["receiver"] = json!({ "name": receiver, "because": because });
        }
        Subject::DrillFailed { endpoint, because } => {
            data["drill"] = json!({ "endpoint": endpoint, "because": because });
        }
        Subject::Test { who } => data["test"] = json!({ "by": who }),
    }
    json!({ "type": notice.event_type(), "timestamp": moment(notice.at), "data": data })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::{SITE, context, envelope};
    use super::*;
    use crate::alert::samples;

    fn key(byte: u8) -> SecretString {
        format!("whsec_{}", STANDARD.encode([byte; 32])).into()
    }

    fn webhook(keys: &[u8]) -> Webhook {
        let keys = keys
            .iter()
            .map(|&byte| SigningKey::parse(&key(byte)).unwrap());
        Webhook {
            url: "https://hooks.example.com/in".into(),
            keys: keys.collect(),
            headers: Vec::new(),
        }
    }

    fn header(post: &Post, name: &str) -> Option<String> {
        let found = post
            .headers
            .iter()
            .find(|(known, _)| known.as_str() == name);
        found.map(|(_, value)| value.expose_secret().to_owned())
    }

    #[test]
    fn the_library_of_standard_webhooks_accepts_the_signature_of_each_key_while_they_rotate() {
        // It compares the time with the machine's own.
        #[allow(clippy::disallowed_methods)]
        let now = OffsetDateTime::now_utc();
        let context = Context {
            now,
            site: Some(SITE),
        };
        let post = webhook(&[1, 2])
            .posts(&[envelope(samples::leak())], &context)
            .remove(0);
        let mut headers = http::HeaderMap::new();
        for (name, value) in &post.headers {
            headers.insert(name.clone(), value.expose_secret().parse().unwrap());
        }
        for (byte, accepts) in [(1, true), (2, true), (3, false)] {
            let peer = standardwebhooks::Webhook::new(key(byte).expose_secret()).unwrap();
            let verified = peer.verify(post.body.as_bytes(), &headers);
            assert_eq!(verified.is_ok(), accepts, "key {byte}");
        }
    }

    use time::OffsetDateTime;

    #[test]
    fn an_event_is_small_and_the_same_at_every_attempt() {
        let envelope = envelope(samples::leak());
        let first = webhook(&[1]).posts(std::slice::from_ref(&envelope), &context());
        let later = Context {
            now: samples::NOW + time::Duration::HOUR,
            site: Some(SITE),
        };
        let again = webhook(&[1]).posts(&[envelope], &later);
        assert_eq!(first[0].body, again[0].body);
        assert_eq!(
            header(&first[0], "webhook-id"),
            header(&again[0], "webhook-id")
        );
        assert_ne!(
            header(&first[0], "webhook-signature"),
            header(&again[0], "webhook-signature"),
            "the time of sending is signed"
        );
        assert!(first[0].body.len() < 20_000);
        let event: Value = serde_json::from_str(&first[0].body).unwrap();
        assert_eq!(event["type"], "incident.opened");
        assert_eq!(event["timestamp"], "2026-12-01T10:00:00Z");
        assert_eq!(event["data"]["link"], format!("{SITE}/incidents/7"));
        assert_eq!(event["data"]["incident"]["kind"], "leak");
    }

    #[test]
    fn without_a_key_nothing_is_signed() {
        let post = webhook(&[])
            .posts(&[envelope(samples::test())], &context())
            .remove(0);
        assert_eq!(header(&post, "webhook-signature"), None);
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_shown() {
        let short = format!("whsec_{}", STANDARD.encode([1; 23]));
        for text in ["", "whsec_", "whsec_hunter2!", &short] {
            let error = SigningKey::parse(&text.into()).unwrap_err().to_string();
            assert!(!error.contains("hunter2"));
        }
        assert!(!format!("{:?}", webhook(&[1])).contains(&STANDARD.encode([1; 32])));
    }
}
