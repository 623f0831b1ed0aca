//! Sending by SMTP.

use super::super::receiver::{Email, Letter, MailTls};
use super::super::retry::Answer;
use super::{TIMEOUT, failed};
use crate::endpoint::Connection;
use lettre::message::{Mailbox, header};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use secrecy::ExposeSecret as _;
use time::OffsetDateTime;

/// The way to a mail server.
#[derive(Clone)]
pub(super) struct MailWay {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Vec<Mailbox>,
}

/// The way to the server of these readers.
pub(super) fn mail(email: &Email, connection: &Connection) -> Result<MailWay, &'static str> {
    crate::endpoint::use_ring();
    let mut builder =
        AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&email.host).port(email.port);
    if email.tls != MailTls::Off {
        let mut parameters = TlsParameters::builder(email.host.clone());
        if let Some(pem) = &connection.ca {
            let authority = Certificate::from_pem(pem.as_bytes());
            parameters =
                parameters.add_root_certificate(authority.map_err(|_| "its authority is none")?);
        }
        let parameters = parameters.build().map_err(|_| "TLS cannot be used")?;
        builder = builder.tls(match email.tls {
            MailTls::Implicit => Tls::Wrapper(parameters),
            _ => Tls::Required(parameters),
        });
    }
    if let Some((name, password)) = &email.credentials {
        let password = password.expose_secret().to_owned();
        builder = builder.credentials(Credentials::new(name.clone(), password));
    }
    let mailbox = |text: &String| text.parse::<Mailbox>();
    let from = mailbox(&email.from).map_err(|_| "`from` is no address")?;
    let to = email.to.iter().map(mailbox).collect::<Result<_, _>>();
    Ok(MailWay {
        transport: builder.timeout(Some(TIMEOUT)).build(),
        from,
        to: to.map_err(|_| "one of `to` is no address")?,
    })
}

/// Sends a letter; what came of it.
pub(super) async fn send_letter(way: &MailWay, letter: &Letter, now: OffsetDateTime) -> Answer {
    let mut message = lettre::Message::builder()
        .from(way.from.clone())
        .date(now.into())
        .message_id(Some(letter.id.clone()))
        .subject(letter.subject.clone())
        .header(AutoSubmitted)
        .header(header::ContentType::TEXT_PLAIN);
    for reader in &way.to {
        message = message.to(reader.clone());
    }
    if let Some(thread) = &letter.thread {
        message = message.references(thread.clone());
    }
    let Ok(message) = message.body(letter.text.clone()) else {
        return Answer::Refused {
            because: "it cannot be written as an e-mail".to_owned(),
        };
    };
    match tokio::time::timeout(TIMEOUT, way.transport.send(message)).await {
        Ok(Ok(_)) => Answer::Taken,
        Ok(Err(error)) => mail_answer(&error),
        Err(_) => failed("it did not answer in time"),
    }
}

/// What an error of SMTP means. A name or password that is wrong may be mended; a letter that is refused stays so.
fn mail_answer(error: &lettre::transport::smtp::Error) -> Answer {
    let Some(code) = error.status() else {
        let what = match error {
            error if error.is_timeout() => "it did not answer in time",
            error if error.is_tls() => "its certificate is not trusted, or it speaks no TLS",
            error if error.is_client() => "it does not offer what is needed to log in or to send",
            _ => "it cannot be reached",
        };
        return failed(what);
    };
    let code = u16::from(code);
    let because = format!("it answered {code}");
    // RFC 4954 and RFC 5248: all about authentication.
    if error.is_permanent() && !matches!(code, 530 | 534 | 535 | 538) {
        return Answer::Refused { because };
    }
    Answer::Failed {
        because,
        retry_after: None,
    }
}

/// Nobody's holiday message is an answer to an alert (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl header::Header for AutoSubmitted {
    fn name() -> header::HeaderName {
        header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> header::HeaderValue {
        header::HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}
