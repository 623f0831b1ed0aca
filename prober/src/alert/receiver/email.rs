//! E-mail: plain text, so that no reader runs or loads anything.

use super::{Context, Envelope, title};
use crate::alert::notice::Subject;
use secrecy::SecretString;

/// Readers of e-mail.
#[derive(Clone, Debug)]
pub struct Email {
    /// The name of the mail server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the way there is encrypted.
    pub tls: MailTls,
    /// Name and password, where it asks for them.
    pub credentials: Option<(String, SecretString)>,
    /// Who writes.
    pub from: String,
    /// Who reads.
    pub to: Vec<String>,
}

/// How the way to a mail server is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailTls {
    /// From the first byte on (port 465).
    Implicit,
    /// After `STARTTLS`, or not at all (port 587).
    StartTls,
    /// Not: for a server on this machine.
    Off,
}

/// A letter, not yet in the form of the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The same at every attempt.
    pub id: String,
    /// What readers' programs put letters about one incident together by.
    pub thread: Option<String>,
    /// Its subject, in one line.
    pub subject: String,
    /// Its text.
    pub text: String,
}

impl Email {
    pub(super) fn letter(&self, envelopes: &[Envelope], context: &Context<'_>) -> Letter {
        let mut text = String::new();
        for envelope in envelopes {
            let notice = &envelope.notice;
            text.push_str(&notice.headline());
            text.push_str("\r\n\r\n");
            for (name, value) in notice.facts() {
                text.push_str(&format!("  {name}: {value}\r\n"));
            }
            if let Some(link) = notice.link(context.site) {
                text.push_str(&format!("  {link}\r\n"));
            }
            text.push_str("\r\n");
        }
        let thread = match envelopes {
            [only] => match &only.notice.subject {
                Subject::Incident(_, incident) => {
                    Some(format!("<{}@prober.invalid>", incident.uid))
                }
                Subject::Undelivered { .. }
                | Subject::DrillFailed { .. }
                | Subject::Test { .. } => None,
            },
            _ => None,
        };
        let id = envelopes.first().map_or("", |first| &first.uid);
        let severity = envelopes.iter().map(|one| one.notice.severity()).max();
        let severity = severity.map_or("info", super::super::notice::Severity::as_str);
        Letter {
            id: format!("<{id}@prober.invalid>"),
            thread,
            subject: one_line(&format!("[{severity}] {}", title(envelopes))),
            text,
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SITE, context, envelope, many};
    use super::*;
    use crate::alert::notice::What;
    use crate::alert::samples;

    fn email() -> Email {
        Email {
            host: "mail.example.com".to_owned(),
            port: 587,
            tls: MailTls::StartTls,
            credentials: None,
            from: "prober@example.com".to_owned(),
            to: vec!["soc@example.com".to_owned()],
        }
    }

    #[test]
    fn a_letter_says_all_that_is_known() {
        let letter = email().letter(&[envelope(samples::leak())], &context());
        assert_eq!(
            letter.subject,
            "[critical] Leak opened: other_tenant/over_limit/text at glm"
        );
        assert!(letter.text.contains("Findings: 3"));
        assert!(letter.text.contains(&format!("{SITE}/incidents/7")));
    }

    #[test]
    fn letters_about_an_incident_are_one_thread() {
        let letters = [What::Opened, What::Resolved].map(|what| {
            let notice = samples::incident(what, "leak", "x");
            email().letter(&[envelope(notice)], &context())
        });
        assert_eq!(letters[0].thread, letters[1].thread);
        assert!(letters[0].thread.is_some());
    }

    #[test]
    fn several_notices_are_one_letter() {
        for envelopes in many() {
            let letter = email().letter(&envelopes, &context());
            assert!(!letter.subject.contains(['\r', '\n']));
            let headlines = envelopes.iter().map(|one| one.notice.headline());
            for headline in headlines {
                assert!(letter.text.contains(&headline));
            }
        }
    }
}
