//! PagerDuty, Events API v2: an incident is triggered, acknowledged and resolved under one key.

use super::{Context, Envelope, Post, cut};
use crate::alert::notice::{Notice, Subject, What, moment};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

/// The longest summary, in characters.
const SUMMARY: usize = 1_024;

/// A service of PagerDuty.
#[derive(Clone, Debug)]
pub struct PagerDuty {
    /// Where events go; usually `https://events.pagerduty.com/v2/enqueue`.
    pub url: SecretString,
    /// The integration's key.
    pub routing_key: SecretString,
}

impl PagerDuty {
    pub(super) fn posts(&self, envelopes: &[Envelope], context: &Context<'_>) -> Vec<Post> {
        let notices = envelopes.iter().map(|one| &one.notice);
        notices
            .flat_map(|notice| actions(notice).iter().map(move |action| (notice, *action)))
            .map(|(notice, action)| Post {
                url: self.url.clone(),
                headers: Vec::new(),
                body: self.event(notice, action, context.site).to_string(),
            })
            .collect()
    }

    fn event(&self, notice: &Notice, action: &str, site: Option<&str>) -> Value {
        let mut event = json!({
            "routing_key": self.routing_key.expose_secret(),
            "event_action": action,
            "dedup_key": key(notice),
        });
        if action == "trigger" {
            let details = notice.facts().into_iter();
            let details: Map<String, Value> = details
                .map(|(name, value)| (name.to_lowercase(), Value::from(value)))
                .collect();
            event["payload"] = json!({
                "summary": cut(&notice.headline(), SUMMARY),
                "source": source(notice),
                "severity": notice.severity().as_str(),
                "timestamp": moment(notice.at),
                "class": class(notice),
                "custom_details": details,
            });
            event["client"] = "tenant-isolation prober".into();
            if let Some(link) = notice.link(site) {
                event["client_url"] = link.into();
            }
        }
        event
    }
}

/// What is done with the incident of a notice. One that a test made is over at once.
fn actions(notice: &Notice) -> &'static [&'static str] {
    match &notice.subject {
        Subject::Incident(What::Opened | What::Reopened, _)
        | Subject::Undelivered { .. }
        | Subject::DrillFailed { .. } => &["trigger"],
        Subject::Incident(What::Acknowledged, _) => &["acknowledge"],
        Subject::Incident(What::Resolved, _) => &["resolve"],
        Subject::Test { .. } => &["trigger", "resolve"],
    }
}

fn key(notice: &Notice) -> String {
    match &notice.subject {
        Subject::Incident(_, incident) => format!("tenant-isolation/{}", incident.uid),
        Subject::Undelivered { receiver, .. } => format!("tenant-isolation/receiver/{receiver}"),
        Subject::DrillFailed { endpoint, .. } => format!("tenant-isolation/drill/{endpoint}"),
        Subject::Test { .. } => "tenant-isolation/test".to_owned(),
    }
}

fn source(notice: &Notice) -> &str {
    match &notice.subject {
        Subject::Incident(_, incident) => &incident.endpoint,
        Subject::DrillFailed { endpoint, .. } => endpoint,
        Subject::Undelivered { .. } | Subject::Test { .. } => "prober",
    }
}

fn class(notice: &Notice) -> &str {
    match &notice.subject {
        Subject::Incident(_, incident) if incident.drill => "drill",
        Subject::Incident(_, incident) => &incident.kind,
        Subject::DrillFailed { .. } => "drill_failed",
        Subject::Undelivered { .. } => "undelivered",
        Subject::Test { .. } => "test",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{accepted, context, envelope, many};
    use super::*;
    use crate::alert::samples;

    fn pagerduty() -> PagerDuty {
        PagerDuty {
            url: "https://events.pagerduty.com/v2/enqueue".into(),
            routing_key: "R0123456789ABCDEF0123456789ABCDE".into(),
        }
    }

    fn told(notice: Notice) -> Vec<Value> {
        let posts = pagerduty().posts(&[envelope(notice)], &context());
        let events = posts.iter().map(|post| serde_json::from_str(&post.body));
        events.map(Result::unwrap_or_default).collect()
    }

    #[test]
    fn events_are_what_pagerduty_accepts() {
        for envelopes in many() {
            for post in pagerduty().posts(&envelopes, &context()) {
                accepted("pagerduty", &post.body);
            }
        }
    }

    #[test]
    fn all_that_becomes_of_an_incident_has_one_key() {
        let story = [
            What::Opened,
            What::Acknowledged,
            What::Resolved,
            What::Reopened,
        ];
        let events = story.map(|what| told(samples::incident(what, "leak", "x")).remove(0));
        let actions = events
            .each_ref()
            .map(|event| event["event_action"].as_str());
        assert_eq!(
            actions,
            [
                Some("trigger"),
                Some("acknowledge"),
                Some("resolve"),
                Some("trigger")
            ]
        );
        assert!(
            events
                .iter()
                .all(|event| event["dedup_key"] == events[0]["dedup_key"])
        );
    }

    #[test]
    fn a_test_leaves_no_open_incident() {
        let actions: Vec<Value> = told(samples::test())
            .iter()
            .map(|event| event["event_action"].clone())
            .collect();
        assert_eq!(actions, ["trigger", "resolve"]);
    }
}
