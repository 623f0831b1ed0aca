//! Microsoft Teams: a workflow that posts an adaptive card to a channel.

use super::{Context, Envelope, Post, cut, title};
use secrecy::SecretString;
use serde_json::{Value, json};

/// The longest text, in characters: Teams takes messages of up to 28 KB.
const TEXT: usize = 500;

/// A Teams channel.
#[derive(Clone, Debug)]
pub struct Teams {
    /// The address of the workflow; whoever knows it may write to the channel.
    pub url: SecretString,
}

impl Teams {
    pub(super) fn post(&self, envelopes: &[Envelope], context: &Context<'_>) -> Post {
        let mut body = vec![text(&[(&title(envelopes), true)], "large")];
        match envelopes {
            [only] => body.extend(only.notice.facts().iter().map(|(name, value)| {
                text(&[(&format!("{name}: "), true), (value, false)], "default")
            })),
            many => body.extend(many.iter().map(|one| {
                let severity = format!("{}: ", one.notice.severity().as_str());
                text(
                    &[(&severity, true), (&one.notice.headline(), false)],
                    "default",
                )
            })),
        }
        let link = match envelopes {
            [only] => only.notice.link(context.site),
            _ => context.site.map(str::to_owned),
        };
        let actions: Vec<Value> = link
            .into_iter()
            .map(|url| json!({ "type": "Action.OpenUrl", "title": "Status page", "url": url }))
            .collect();
        let card = json!({
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": body,
            "actions": actions,
        });
        let attachment = json!({
            "contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null, "content": card,
        });
        Post {
            url: self.url.clone(),
            headers: Vec::new(),
            body: json!({ "type": "message", "attachments": [attachment] }).to_string(),
        }
    }
}

/// A paragraph of pieces, each heavy or not. In runs of text nothing is markup, other than in a `TextBlock`.
fn text(pieces: &[(&str, bool)], size: &str) -> Value {
    let runs = pieces.iter().map(|(text, is_heavy)| {
        let weight = if *is_heavy { "bolder" } else { "default" };
        json!({ "type": "TextRun", "text": cut(text, TEXT), "weight": weight, "size": size })
    });
    json!({ "type": "RichTextBlock", "inlines": runs.collect::<Value>() })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{accepted, context, many};
    use super::*;

    #[test]
    fn cards_are_what_teams_accepts() {
        let teams = Teams {
            url: "https://prod.example.com/workflows/1".into(),
        };
        for envelopes in many() {
            let post = teams.post(&envelopes, &context());
            accepted("teams", &post.body);
            assert!(post.body.len() < 28_000, "{} bytes", post.body.len());
        }
    }
}
