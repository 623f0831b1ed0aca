//! Prometheus' Alertmanager, API v2. It forgets what it is not told again, so that all unresolved incidents are sent
//! again all the time; its labels are what tells one alert from another, so they never change.

use super::{Context, Headers, Post};
use crate::alert::notice::{Notice, Subject, moment};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use std::time::Duration;
use time::OffsetDateTime;

/// An alert that is not sent again for so many turns is over: a few of them may be missed.
const TURNS: u32 = 5;
/// So long a test lasts.
const TEST: time::Duration = time::Duration::minutes(5);
/// So long it is told that a receiver is in trouble, or a drill failed.
const UNDELIVERED: time::Duration = time::Duration::hours(4);
/// Most alerts of a request.
const MOST_ALERTS: usize = 100;

/// An Alertmanager with all its replicas, which must each be told.
#[derive(Clone, Debug)]
pub struct Alertmanager {
    /// Their addresses, without `/api/v2/alerts`; secret, because they may hold a password.
    pub urls: Vec<SecretString>,
    /// Headers of its own, such as `authorization`.
    pub headers: Headers,
    /// How often unresolved incidents are sent again.
    pub resend_every: Duration,
}

impl Alertmanager {
    /// The requests that tell every replica of these.
    pub(crate) fn posts(&self, notices: &[&Notice], context: &Context<'_>) -> Vec<Post> {
        let bodies: Vec<String> = notices
            .chunks(MOST_ALERTS)
            .map(|notices| {
                let alerts = notices.iter().map(|notice| self.alert(notice, context));
                alerts.collect::<Value>().to_string()
            })
            .collect();
        let posts = self.urls.iter().flat_map(|url| {
            let url = format!(
                "{}/api/v2/alerts",
                url.expose_secret().trim_end_matches('/')
            );
            bodies.iter().map(move |body| Post {
                url: url.clone().into(),
                headers: self.headers.clone(),
                body: body.clone(),
            })
        });
        posts.collect()
    }

    fn alert(&self, notice: &Notice, context: &Context<'_>) -> Value {
        let link = notice.link(context.site);
        let facts = notice.facts().into_iter();
        let facts: Vec<String> = facts
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        let mut alert = json!({
            "labels": labels(notice),
            "annotations": { "summary": notice.headline(), "description": facts.join("\n") },
            "startsAt": moment(starts_at(notice)),
            "endsAt": moment(self.ends_at(notice, context.now)),
        });
        if let Some(link) = link {
            alert["generatorURL"] = link.into();
        }
        alert
    }

    fn ends_at(&self, notice: &Notice, now: OffsetDateTime) -> OffsetDateTime {
        match &notice.subject {
            Subject::Incident(_, incident) if incident.state == "resolved" => notice.at,
            Subject::Incident(..) => now + self.resend_every * TURNS,
            Subject::Undelivered { .. } | Subject::DrillFailed { .. } => notice.at + UNDELIVERED,
            Subject::Test { .. } => notice.at + TEST,
        }
    }
}

fn starts_at(notice: &Notice) -> OffsetDateTime {
    match &notice.subject {
        Subject::Incident(_, incident) => incident.opened_at,
        Subject::Undelivered { .. } | Subject::DrillFailed { .. } | Subject::Test { .. } => {
            notice.at
        }
    }
}

fn labels(notice: &Notice) -> Value {
    let severity = notice.severity().as_str();
    match &notice.subject {
        Subject::Incident(_, incident) => {
            let name = if incident.drill {
                "Drill".to_owned()
            } else {
                camel(&incident.kind)
            };
            json!({
                "alertname": format!("TenantIsolation{name}"),
                "severity": severity, "endpoint": incident.endpoint, "kind": incident.kind,
                "signature": incident.signature, "incident": incident.uid,
            })
        }
        Subject::Undelivered { receiver, .. } => json!({
            "alertname": "TenantIsolationAlertsUndelivered", "severity": severity, "receiver": receiver,
        }),
        Subject::DrillFailed { endpoint, .. } => json!({
            "alertname": "TenantIsolationDrillFailed", "severity": severity, "endpoint": endpoint,
        }),
        Subject::Test { .. } => json!({
            "alertname": "TenantIsolationTest", "severity": severity,
        }),
    }
}

/// `limit_violation` as `LimitViolation`.
fn camel(kind: &str) -> String {
    let words = kind.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::{accepted, context, many};
    use super::*;
    use crate::alert::notice::What;
    use crate::alert::samples;

    fn alertmanager(urls: &[&str]) -> Alertmanager {
        Alertmanager {
            urls: urls.iter().map(|&url| url.into()).collect(),
            headers: Vec::new(),
            resend_every: Duration::from_secs(60),
        }
    }

    fn told(notice: &Notice) -> Value {
        let post = alertmanager(&["http://am:9093/"])
            .posts(&[notice], &context())
            .remove(0);
        assert_eq!(post.url.expose_secret(), "http://am:9093/api/v2/alerts");
        let mut alerts: Vec<Value> = serde_json::from_str(&post.body).unwrap();
        alerts.remove(0)
    }

    #[test]
    fn alerts_are_what_alertmanager_accepts() {
        for envelopes in many() {
            let notices: Vec<&Notice> = envelopes.iter().map(|one| &one.notice).collect();
            for post in alertmanager(&["http://am:9093"]).posts(&notices, &context()) {
                accepted("alertmanager", &post.body);
            }
        }
    }

    #[test]
    fn the_labels_of_an_incident_never_change() {
        let story = [
            What::Opened,
            What::Acknowledged,
            What::Resolved,
            What::Reopened,
        ];
        let alerts = story.map(|what| told(&samples::incident(what, "limit_violation", "x")));
        assert!(
            alerts
                .iter()
                .all(|alert| alert["labels"] == alerts[0]["labels"])
        );
        assert_eq!(
            alerts[0]["labels"]["alertname"],
            "TenantIsolationLimitViolation"
        );
    }

    #[test]
    fn an_alert_lasts_until_it_has_not_been_sent_for_a_while_and_ends_when_it_is_resolved() {
        let open = told(&samples::leak());
        assert_eq!(open["startsAt"], "2026-12-01T10:00:00Z");
        assert_eq!(open["endsAt"], "2026-12-01T10:05:00Z");
        let resolved = told(&samples::incident(What::Resolved, "leak", "x"));
        assert_eq!(resolved["endsAt"], "2026-12-01T10:00:00Z");
    }

    #[test]
    fn every_replica_is_told() {
        let replicas = alertmanager(&["http://a:9093", "http://b:9093"]);
        let leak = samples::leak();
        let many = vec![&leak; MOST_ALERTS + 1];
        let posts = replicas.posts(&many, &context());
        let urls: Vec<&str> = posts.iter().map(|post| post.url.expose_secret()).collect();
        let (a, b) = ("http://a:9093/api/v2/alerts", "http://b:9093/api/v2/alerts");
        assert_eq!(urls, [a, a, b, b]);
    }
}
