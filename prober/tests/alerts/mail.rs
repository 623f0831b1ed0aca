//! Letters, by real SMTP.

use crate::desk::{Desk, receiver};
use crate::support::TestDatabase;
use crate::support::ledger::{NOW, leak, violation};
use prober::alert::{Email, Kind, MailTls, Receiver};
use std::sync::{Arc, Mutex};
use time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A mail server without encryption: keeps letters, and refuses them as often as it is told to.
#[derive(Clone)]
struct PostOffice {
    port: u16,
    letters: Arc<Mutex<Vec<String>>>,
    refusals: Arc<Mutex<Vec<&'static str>>>,
}

impl PostOffice {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let office = Self {
            port: listener.local_addr().unwrap().port(),
            letters: Arc::default(),
            refusals: Arc::default(),
        };
        let clerk = office.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(clerk.clone().serve(stream));
            }
        });
        office
    }

    /// One conversation (RFC 5321).
    async fn serve(self, stream: TcpStream) {
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        write.write_all(b"220 post office\r\n").await.unwrap();
        let mut letter: Option<String> = None;
        while let Ok(Some(line)) = lines.next_line().await {
            let answer = match &mut letter {
                Some(text) if line == "." => {
                    self.letters.lock().unwrap().push(std::mem::take(text));
                    letter = None;
                    "250 kept"
                }
                Some(text) => {
                    text.push_str(&line);
                    text.push('\n');
                    continue;
                }
                None if line.starts_with("EHLO") => "250-post office\r\n250 8BITMIME",
                None if line.starts_with("RCPT") => {
                    self.refusals.lock().unwrap().pop().unwrap_or("250 known")
                }
                None if line == "DATA" => {
                    letter = Some(String::new());
                    "354 go on"
                }
                None => "250 well",
            };
            let answer = format!("{answer}\r\n");
            if write.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn receiver(&self, name: &str, tls: MailTls) -> Receiver {
        let kind = Kind::Email(Email {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            tls,
            credentials: None,
            from: "Prober <prober@example.com>".to_owned(),
            to: vec!["soc@example.com".to_owned(), "ada@example.com".to_owned()],
        });
        receiver(name, kind)
    }
}

#[tokio::test]
async fn a_leak_is_a_letter_and_a_refused_one_is_tried_again_unless_it_was_for_good() {
    let (database, office) = (TestDatabase::new().await, PostOffice::open().await);
    let mail = office.receiver("mail", MailTls::Off);
    let mut desk = Desk::open(&database, &[mail]).await;
    office.refusals.lock().unwrap().push("451 later");
    desk.ledger.find(vec![leak()], NOW).await;
    desk.at(NOW).await;
    assert!(office.letters.lock().unwrap().is_empty());
    let (_, because) = desk.receiver("mail").await.failed.unwrap();
    assert_eq!(because, "it answered 451");
    desk.at(NOW + Duration::MINUTE).await;
    let letters = office.letters.lock().unwrap().clone();
    assert_eq!(letters.len(), 1);
    for line in [
        "From: Prober <prober@example.com>",
        "To: soc@example.com, ada@example.com",
        "Subject: [critical] Leak opened: other_tenant/over_limit/text at glm",
        "Auto-Submitted: auto-generated",
        "Date: Tue, 01 Dec 2026 10:01:00 +0000",
    ] {
        assert!(letters[0].contains(line), "{line}\n{}", letters[0]);
    }
    office.refusals.lock().unwrap().push("550 nobody here");
    desk.ledger
        .find(vec![violation()], NOW + Duration::SECOND)
        .await;
    desk.at(NOW + Duration::minutes(2)).await;
    desk.at(NOW + Duration::minutes(3)).await;
    assert_eq!(desk.receiver("mail").await.deliveries.dead, 1);
}

#[tokio::test]
async fn nothing_is_mailed_without_encryption_unless_that_is_wanted() {
    let (database, office) = (TestDatabase::new().await, PostOffice::open().await);
    let mail = office.receiver("mail", MailTls::StartTls);
    let mut desk = Desk::open(&database, &[mail]).await;
    desk.ledger.find(vec![leak()], NOW).await;
    desk.at(NOW).await;
    assert!(office.letters.lock().unwrap().is_empty());
    assert!(desk.receiver("mail").await.failed.is_some());
}
