//! Slack: an incoming webhook's message of blocks.

use super::{Context, Envelope, Post, cut, title};
use secrecy::SecretString;
use serde_json::{Value, json};

/// The longest text of a header block, in characters (Slack's reference of blocks).
const HEADER: usize = 150;
/// The longest text of a field.
const FIELD: usize = 2_000;
/// The longest text of a section.
const SECTION: usize = 3_000;

/// A Slack channel.
#[derive(Clone, Debug)]
pub struct Slack {
    /// The incoming webhook; whoever knows it may write to the channel.
    pub url: SecretString,
}

impl Slack {
    pub(super) fn post(&self, envelopes: &[Envelope], context: &Context<'_>) -> Post {
        let title = title(envelopes);
        let mut blocks = vec![json!({ "type": "header", "text": plain(&title, HEADER) })];
        match envelopes {
            [only] => {
                let facts = only.notice.facts();
                let fields = facts
                    .iter()
                    .map(|(name, value)| plain(&format!("{name}: {value}"), FIELD));
                blocks.push(json!({ "type": "section", "fields": fields.collect::<Value>() }));
            }
            many => blocks.extend(many.iter().map(|one| {
                let line = format!(
                    "{}: {}",
                    one.notice.severity().as_str(),
                    one.notice.headline()
                );
                json!({ "type": "section", "text": plain(&line, SECTION) })
            })),
        }
        let link = match envelopes {
            [only] => only.notice.link(context.site),
            _ => context.site.map(str::to_owned),
        };
        if let Some(link) = link {
            let text = format!("<{link}|Status page>");
            blocks.push(json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } }));
        }
        // The text is what a notification shows, and is read as markup.
        let body = json!({ "text": escaped(&cut(&title, FIELD)), "blocks": blocks });
        Post {
            url: self.url.clone(),
            headers: Vec::new(),
            body: body.to_string(),
        }
    }
}

/// A text that is no markup: it mentions nobody.
fn plain(text: &str, most: usize) -> Value {
    json!({ "type": "plain_text", "text": cut(text, most), "emoji": false })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{accepted, context, envelope, many};
    use super::*;
    use crate::alert::notice::{Subject, What};
    use crate::alert::samples;

    fn slack() -> Slack {
        Slack {
            url: "https://hooks.example.com/services/T/B/X".into(),
        }
    }

    #[test]
    fn messages_are_what_slack_accepts() {
        for envelopes in many() {
            accepted("slack", &slack().post(&envelopes, &context()).body);
        }
    }

    #[test]
    fn nobody_can_mention_a_channel_through_a_name() {
        let mut notice = samples::incident(What::Acknowledged, "leak", "other_tenant/text");
        if let Subject::Incident(_, incident) = &mut notice.subject {
            incident.who = Some("<!channel>".to_owned());
            incident.endpoint = "<!here>".to_owned();
        }
        let post = slack().post(&[envelope(notice)], &context());
        let body: Value = serde_json::from_str(&post.body).unwrap_or_default();
        assert!(!body["text"].to_string().contains("<!"));
        let markup = body["blocks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|block| block["text"]["type"] == "mrkdwn");
        for block in markup {
            assert!(!block.to_string().contains("<!"));
        }
    }
}
