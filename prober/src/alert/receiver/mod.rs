//! Receivers, one a file: how each wants to be told. Pure: what is sent, not the sending.

mod alertmanager;
mod email;
mod pagerduty;
mod slack;
mod teams;
mod webhook;

pub use alertmanager::Alertmanager;
pub use email::{Email, Letter, MailTls};
pub use pagerduty::PagerDuty;
pub use slack::Slack;
pub use teams::Teams;
pub use webhook::{SigningKey, SigningKeyError, Webhook};

use super::filter::Filter;
use super::notice::Notice;
use super::quiet::QuietHours;
use crate::endpoint::Connection;
use reqwest::header::HeaderName;
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;
use time::OffsetDateTime;

/// Most notices of one message to people.
pub const MOST_TOGETHER: u32 = 20;

/// Who is told of incidents, what of them and how.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Unique, `[a-z0-9-]{1,63}`.
    pub name: String,
    /// What it wants to be told.
    pub filter: Filter,
    /// When only what is urgent.
    pub quiet: Option<QuietHours>,
    /// So long what is not urgent waits for more of it, where several notices can be one message.
    pub group_wait: Duration,
    /// Whether messages may go to addresses that only this network knows.
    pub allow_private: bool,
    /// How it is reached.
    pub connection: Connection,
    /// How it wants to be told.
    pub kind: Kind,
}

/// How a receiver wants to be told.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A signed JSON event (Standard Webhooks).
    Webhook(Webhook),
    /// A message in a Slack channel.
    Slack(Slack),
    /// An event of PagerDuty (Events API v2).
    PagerDuty(PagerDuty),
    /// An alert of Prometheus' Alertmanager (API v2).
    Alertmanager(Alertmanager),
    /// A card in a Microsoft Teams channel (Workflows).
    Teams(Teams),
    /// An e-mail.
    Email(Email),
}

impl Kind {
    /// The name in the configuration and in output.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::Slack(_) => "slack",
            Self::PagerDuty(_) => "pagerduty",
            Self::Alertmanager(_) => "alertmanager",
            Self::Teams(_) => "teams",
            Self::Email(_) => "email",
        }
    }

    /// The host that messages go to by HTTP, in the form in which it is looked up.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        let urls: Vec<&SecretString> = match self {
            Self::Webhook(to) => vec![&to.url],
            Self::Slack(to) => vec![&to.url],
            Self::PagerDuty(to) => vec![&to.url],
            Self::Alertmanager(to) => to.urls.iter().collect(),
            Self::Teams(to) => vec![&to.url],
            Self::Email(_) => Vec::new(),
        };
        let hosts = urls.into_iter().filter_map(|url| {
            let url = reqwest::Url::parse(url.expose_secret()).ok()?;
            url.host_str().map(str::to_owned)
        });
        hosts.collect()
    }

    /// Whether several notices can be one message: where people read them.
    #[must_use]
    pub fn groups(&self) -> bool {
        matches!(self, Self::Slack(_) | Self::Teams(_) | Self::Email(_))
    }
}

/// A notice on its way to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The same at every attempt, so that a receiver can tell that it has seen it.
    pub uid: String,
    /// What is told.
    pub notice: Notice,
}

/// What does not depend on the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// When it is sent.
    pub now: OffsetDateTime,
    /// Where people find the status page.
    pub site: Option<&'a str>,
}

/// What is sent.
#[derive(Debug)]
pub enum Message {
    /// By HTTP: all of these, one after the other.
    Posts(Vec<Post>),
    /// By HTTP, to several that are one: it is enough if one takes it.
    Replicas(Vec<Post>),
    /// By SMTP.
    Letter(Box<Letter>),
}

/// Headers of a request, with values that may be secret.
pub type Headers = Vec<(HeaderName, SecretString)>;

/// A request by HTTP POST. `Debug` shows neither the URL nor headers, which may be secret.
pub struct Post {
    /// Where to.
    pub url: SecretString,
    /// Beside `content-type: application/json`.
    pub headers: Headers,
    /// JSON.
    pub body: String,
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post")
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

impl Receiver {
    /// What is sent of these notices: several only where [`Kind::groups`] says so.
    #[must_use]
    pub fn message(&self, envelopes: &[Envelope], context: &Context<'_>) -> Message {
        match &self.kind {
            Kind::Webhook(to) => Message::Posts(to.posts(envelopes, context)),
            Kind::Slack(to) => Message::Posts(vec![to.post(envelopes, context)]),
            Kind::PagerDuty(to) => Message::Posts(to.posts(envelopes, context)),
            Kind::Alertmanager(to) => {
                let notices: Vec<&Notice> = envelopes.iter().map(|one| &one.notice).collect();
                Message::Replicas(to.posts(&notices, context))
            }
            Kind::Teams(to) => Message::Posts(vec![to.post(envelopes, context)]),
            Kind::Email(to) => Message::Letter(Box::new(to.letter(envelopes, context))),
        }
    }
}

/// What stands above a message of several notices.
fn title(envelopes: &[Envelope]) -> String {
    match envelopes {
        [only] => only.notice.headline(),
        many => format!("{} alerts of the tenant-isolation prober", many.len()),
    }
}

/// A text cut to so many characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::alert::notice::What;
    use crate::alert::samples;

    pub(super) const SITE: &str = "https://prober.example.net";

    pub(super) fn context() -> Context<'static> {
        Context {
            now: samples::NOW,
            site: Some(SITE),
        }
    }

    pub(super) fn envelope(notice: Notice) -> Envelope {
        Envelope {
            uid: "b1c6c1b2-7b0c-4a58-9d7f-0c4b3f0d9a11".to_owned(),
            notice,
        }
    }

    /// Every notice there is, alone, and as many together as there may be.
    pub(super) fn many() -> Vec<Vec<Envelope>> {
        let story = [
            What::Opened,
            What::Acknowledged,
            What::Resolved,
            What::Reopened,
        ];
        let kinds = ["leak", "limit_violation", "truncation"];
        let incidents = story.iter().flat_map(|&what| {
            kinds.map(|kind| samples::incident(what, kind, "other_tenant/over_limit/text"))
        });
        let mut long = samples::incident(What::Acknowledged, "leak", &"over_limit/".repeat(7));
        if let super::super::notice::Subject::Incident(_, incident) = &mut long.subject {
            incident.endpoint = "e".repeat(63);
            incident.who = Some("W".repeat(5_000));
        }
        let other = [
            samples::undelivered("pager"),
            samples::drill(),
            samples::drill_failed(),
            samples::test(),
            long.clone(),
        ];
        let mut all: Vec<Vec<Envelope>> = incidents
            .chain(other)
            .map(|notice| vec![envelope(notice)])
            .collect();
        all.push(vec![envelope(long); MOST_TOGETHER as usize]);
        all
    }

    /// Asserts that a body is what the schema of a receiver's published description allows.
    pub(super) fn accepted(receiver: &str, body: &str) {
        let file = format!("tests/data/alerts/{receiver}.schema.json");
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let body = serde_json::from_str(body).unwrap();
        let mistakes: Vec<String> = validator
            .iter_errors(&body)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(mistakes.is_empty(), "{mistakes:#?}\n{body:#}");
    }
}
