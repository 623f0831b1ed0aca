//! What belongs to one kind of receiver.

use super::super::{Check, url};
use crate::alert::{
    Alertmanager, Email, Headers, Kind, MailTls, PagerDuty, SigningKey, Slack, Teams, Webhook,
};
use crate::config::document::{At, Field};
use crate::config::free::{Entries, TextSource};
use crate::config::mistake::Place;
use crate::config::raw::{List, RawReceiver, RawSecret};
use lettre::message::Mailbox;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;

/// Where PagerDuty takes events.
const PAGERDUTY: &str = "https://events.pagerduty.com/v2/enqueue";
/// How often an Alertmanager is told again, unless told otherwise: Prometheus does it each minute.
const RESEND_EVERY: Duration = Duration::from_secs(60);

/// A kind of receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Webhook,
    Slack,
    PagerDuty,
    Alertmanager,
    Teams,
    Email,
}

impl Name {
    pub(super) const ALL: [(&'static str, Self); 6] = [
        ("webhook", Self::Webhook),
        ("slack", Self::Slack),
        ("pagerduty", Self::PagerDuty),
        ("alertmanager", Self::Alertmanager),
        ("teams", Self::Teams),
        ("email", Self::Email),
    ];

    /// The keys that not every kind has, and this one does.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Webhook => &[
                "url",
                "secrets",
                "headers",
                "proxy",
                "allow_private_addresses",
            ],
            Self::Slack | Self::Teams => &["url", "group_wait", "proxy", "allow_private_addresses"],
            Self::PagerDuty => &["url", "routing_key", "proxy", "allow_private_addresses"],
            Self::Alertmanager => &[
                "urls",
                "headers",
                "resend_every",
                "proxy",
                "allow_private_addresses",
            ],
            Self::Email => &[
                "group_wait",
                "smtp_host",
                "smtp_port",
                "smtp_tls",
                "smtp_user",
                "smtp_password",
                "from",
                "to",
            ],
        }
    }
}

impl Check<'_> {
    /// Notes every key that does not belong to the kind.
    pub(super) fn refuse_foreign_keys(&mut self, raw: &RawReceiver, kind: Name) {
        let keys = [
            ("url", place(&raw.url)),
            ("urls", place(&raw.urls)),
            ("secrets", place(&raw.secrets)),
            ("headers", place(&raw.headers)),
            ("routing_key", place(&raw.routing_key)),
            ("resend_every", place(&raw.resend_every)),
            ("group_wait", place(&raw.group_wait)),
            ("proxy", place(&raw.proxy)),
            (
                "allow_private_addresses",
                place(&raw.allow_private_addresses),
            ),
            ("smtp_host", place(&raw.smtp_host)),
            ("smtp_port", place(&raw.smtp_port)),
            ("smtp_tls", place(&raw.smtp_tls)),
            ("smtp_user", place(&raw.smtp_user)),
            ("smtp_password", place(&raw.smtp_password)),
            ("from", place(&raw.from)),
            ("to", place(&raw.to)),
        ];
        for (key, place) in keys {
            if let (Some(place), false) = (place, kind.keys().contains(&key)) {
                let of = Name::ALL.iter().find(|(_, name)| *name == kind);
                let name = of.map_or("", |(name, _)| name);
                let message =
                    format!("does not belong to a receiver of kind \"{name}\" (remove it)");
                self.mistakes.at(place, message);
            }
        }
    }

    pub(super) fn receiver_kind(
        &mut self,
        raw: &RawReceiver,
        kind: Name,
        private: bool,
    ) -> Option<Kind> {
        match kind {
            Name::Webhook => {
                let url = self.target(raw, private, false);
                let keys = self.signing_keys(&raw.secrets);
                let headers = self.receiver_headers(&raw.headers);
                Some(Kind::Webhook(Webhook {
                    url: url?,
                    keys: keys?,
                    headers: headers?,
                }))
            }
            Name::Slack => self
                .target(raw, private, true)
                .map(|url| Kind::Slack(Slack { url })),
            Name::Teams => self
                .target(raw, private, true)
                .map(|url| Kind::Teams(Teams { url })),
            Name::PagerDuty => {
                let url = match &raw.url {
                    Field::Absent => Some(PAGERDUTY.into()),
                    _ => self.target(raw, private, false),
                };
                let key = self
                    .required(
                        &raw.routing_key,
                        &raw.place,
                        "routing_key",
                        "{ env = \"VARIABLE\" }",
                    )
                    .and_then(|at| self.secret(&at.value));
                Some(Kind::PagerDuty(PagerDuty {
                    url: url?,
                    routing_key: key?,
                }))
            }
            Name::Alertmanager => self.alertmanager(raw, private).map(Kind::Alertmanager),
            Name::Email => self.email(raw).map(Kind::Email),
        }
    }

    fn alertmanager(&mut self, raw: &RawReceiver, private: bool) -> Option<Alertmanager> {
        let urls = self
            .required(
                &raw.urls,
                &raw.place,
                "urls",
                "[\"http://HOST:9093\"], with every replica",
            )
            .and_then(|list| {
                let urls: Vec<Option<SecretString>> = list
                    .value
                    .iter()
                    .map(|url| url.given().and_then(|at| self.url(at, private, false)))
                    .collect();
                let urls: Vec<SecretString> = urls.into_iter().collect::<Option<_>>()?;
                if urls.is_empty() {
                    let message = "is empty (write [\"http://HOST:9093\"], with every replica)";
                    self.mistakes.at(&list.place, message);
                    return None;
                }
                Some(urls)
            });
        let headers = self.receiver_headers(&raw.headers);
        let range = Duration::from_secs(10)..=Duration::from_secs(600);
        let resend_every = self.duration(&raw.resend_every, RESEND_EVERY, range);
        Some(Alertmanager {
            urls: urls?,
            headers: headers?,
            resend_every: resend_every?,
        })
    }

    fn email(&mut self, raw: &RawReceiver) -> Option<Email> {
        let host = self
            .required(
                &raw.smtp_host,
                &raw.place,
                "smtp_host",
                "the name of a mail server",
            )
            .map(|at| at.value.clone());
        let modes = [
            ("starttls", MailTls::StartTls),
            ("implicit", MailTls::Implicit),
            ("off", MailTls::Off),
        ];
        let tls = self.choice(&raw.smtp_tls, MailTls::StartTls, &modes);
        let usual = match tls {
            Some(MailTls::Implicit) => 465,
            Some(MailTls::Off) => 25,
            _ => 587,
        };
        let port = self.whole(&raw.smtp_port, usual, 1..=65_535);
        let credentials = match (&raw.smtp_user, &raw.smtp_password) {
            (Field::Absent, Field::Absent) => Some(None),
            (Field::Given(name), Field::Given(password)) => {
                let password = self.secret(&password.value);
                password.map(|password| Some((name.value.clone(), password)))
            }
            (Field::Wrong, _) | (_, Field::Wrong) => None,
            (Field::Given(At { place, .. }), Field::Absent)
            | (Field::Absent, Field::Given(At { place, .. })) => {
                let message = "stands alone (write both smtp_user and smtp_password)";
                self.mistakes.at(place, message);
                None
            }
        };
        let from = self
            .required(&raw.from, &raw.place, "from", "\"prober@example.com\"")
            .and_then(|at| self.mailbox(at));
        let to = self
            .required(&raw.to, &raw.place, "to", "[\"soc@example.com\"]")
            .and_then(|list| {
                let to: Vec<Option<String>> = list
                    .value
                    .iter()
                    .map(|reader| reader.given().and_then(|at| self.mailbox(at)))
                    .collect();
                if to.is_empty() {
                    self.mistakes
                        .at(&list.place, "is empty (write [\"soc@example.com\"])");
                    return None;
                }
                to.into_iter().collect::<Option<Vec<String>>>()
            });
        Some(Email {
            host: host?,
            port: u16::try_from(port?).ok()?,
            tls: tls?,
            credentials: credentials?,
            from: from?,
            to: to?,
        })
    }

    fn mailbox(&mut self, at: &At<String>) -> Option<String> {
        if at.value.parse::<Mailbox>().is_err() {
            let message = "is no address (write NAME@HOST, or \"Name <NAME@HOST>\")";
            self.mistakes.at(&at.place, message);
            return None;
        }
        Some(at.value.clone())
    }

    /// Where messages go.
    fn target(
        &mut self,
        raw: &RawReceiver,
        private: bool,
        is_secret: bool,
    ) -> Option<SecretString> {
        let remedy = "url = { env = \"VARIABLE\" }";
        let at = self.required(&raw.url, &raw.place, "url", remedy)?;
        self.url(at, private, is_secret)
    }

    fn url(&mut self, at: &At<TextSource>, private: bool, is_secret: bool) -> Option<SecretString> {
        let text = match &at.value {
            TextSource::Plain(_) if is_secret => {
                let message = "is a secret: whoever knows it may write to the channel (write { env = \"VARIABLE\" } or { file = \"FILE\" })";
                self.mistakes.at(&at.place, message);
                return None;
            }
            TextSource::Plain(text) if text.contains('@') => {
                let message =
                    "holds a credential (write { env = \"VARIABLE\" } or { file = \"FILE\" })";
                self.mistakes.at(&at.place, message);
                return None;
            }
            TextSource::Plain(text) => SecretString::from(text.as_str()),
            TextSource::Secret(raw) => self.secret(raw)?,
        };
        match url::receiver(text.expose_secret(), private) {
            Ok(()) => Some(text),
            Err(problem) => {
                self.mistakes.at(&at.place, problem);
                None
            }
        }
    }

    fn signing_keys(&mut self, field: &Field<List<RawSecret>>) -> Option<Vec<SigningKey>> {
        let list = match field {
            Field::Absent => return Some(Vec::new()),
            Field::Wrong => return None,
            Field::Given(list) => list,
        };
        let keys: Vec<Option<SigningKey>> = list
            .value
            .iter()
            .map(|secret| {
                let at = secret.given()?;
                let key = SigningKey::parse(&self.secret(&at.value)?);
                key.map_err(|error| self.mistakes.at(&at.place, error.to_string()))
                    .ok()
            })
            .collect();
        keys.into_iter().collect()
    }

    fn receiver_headers(&mut self, field: &Field<Entries<TextSource>>) -> Option<Headers> {
        let at = match field {
            Field::Absent => return Some(Vec::new()),
            Field::Wrong => return None,
            Field::Given(at) => at,
        };
        let headers: Vec<Option<(HeaderName, SecretString)>> = at
            .value
            .entries
            .iter()
            .map(|(name, source)| self.receiver_header(name, source))
            .collect();
        let headers: Option<Headers> = headers.into_iter().collect();
        headers.filter(|_| at.value.is_whole)
    }

    fn receiver_header(
        &mut self,
        name: &str,
        source: &At<TextSource>,
    ) -> Option<(HeaderName, SecretString)> {
        let text = match &source.value {
            TextSource::Plain(text) => SecretString::from(text.as_str()),
            TextSource::Secret(raw) => self.secret(raw)?,
        };
        let own = |name: &HeaderName| {
            [CONTENT_TYPE, CONTENT_LENGTH, HOST].contains(name)
                || name.as_str().starts_with("webhook-")
        };
        let name = HeaderName::from_bytes(name.as_bytes())
            .ok()
            .filter(|name| !own(name));
        match (name, HeaderValue::from_str(text.expose_secret())) {
            (Some(name), Ok(_)) => Some((name, text)),
            (None, _) => {
                let message = "is no name of a header, or one that the prober writes itself";
                self.mistakes.at(&source.place, message);
                None
            }
            (_, Err(_)) => {
                let message = "cannot stand in a header (write one line of printable ASCII)";
                self.mistakes.at(&source.place, message);
                None
            }
        }
    }
}

fn place<T>(field: &Field<T>) -> Option<&Place> {
    field.given().map(|at| &at.place)
}
