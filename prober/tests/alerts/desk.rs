//! A prober that only tells.

use crate::support::TestDatabase;
use crate::support::inbox::Inbox;
use crate::support::ledger::{Ledger, NOW};
use prober::alert::{Dispatcher, Filter, Kind, Receiver, Severity, SigningKey, Slack, Webhook};
use prober::clock::FixedClock;
use prober::endpoint::Connection;
use prober::store::ReceiverRecord;
use std::sync::Arc;
use std::time::Duration as Pause;
use time::OffsetDateTime;

/// A prober without endpoints that tells receivers of what a ledger records.
pub(crate) struct Desk {
    pub(crate) ledger: Ledger,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) dispatcher: Dispatcher,
}

impl Desk {
    pub(crate) async fn open(database: &TestDatabase, receivers: &[Receiver]) -> Self {
        Self::of(Ledger::open(database).await, receivers).await
    }

    pub(crate) async fn of(ledger: Ledger, receivers: &[Receiver]) -> Self {
        let clock = Arc::new(FixedClock::new(NOW));
        let store = ledger.store.clone();
        let site = Some("https://prober.example.net".to_owned());
        let dispatcher = Dispatcher::new(store, clock.clone(), receivers, site, || 0.0);
        let mut dispatcher = dispatcher.unwrap();
        // Receivers are known before anything is told.
        dispatcher.catch_up().await.unwrap();
        Self {
            ledger,
            clock,
            dispatcher,
        }
    }

    pub(crate) async fn at(&mut self, now: OffsetDateTime) {
        self.clock.set(now);
        self.dispatcher.catch_up().await.unwrap();
    }

    pub(crate) async fn receiver(&self, name: &str) -> ReceiverRecord {
        let all = self.ledger.store.receivers().await.unwrap();
        all.into_iter().find(|one| one.name == name).unwrap()
    }
}

pub(crate) fn receiver(name: &str, kind: Kind) -> Receiver {
    Receiver {
        name: name.to_owned(),
        filter: Filter {
            min_severity: Severity::Info,
            endpoints: Vec::new(),
            kinds: Vec::new(),
            drills: true,
        },
        quiet: None,
        group_wait: Pause::from_secs(30),
        allow_private: true,
        connection: Connection::default(),
        kind,
    }
}

pub(crate) fn webhook(name: &str, inbox: &Inbox) -> Receiver {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into();
    let kind = Kind::Webhook(Webhook {
        url: inbox.url.as_str().into(),
        keys: vec![SigningKey::parse(&secret).unwrap()],
        headers: Vec::new(),
    });
    receiver(name, kind)
}

pub(crate) fn slack(name: &str, inbox: &Inbox) -> Receiver {
    let kind = Kind::Slack(Slack {
        url: inbox.url.as_str().into(),
    });
    receiver(name, kind)
}
