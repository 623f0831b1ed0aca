//! Who is told what.

use crate::desk::{Desk, webhook};
use crate::support::TestDatabase;
use crate::support::inbox::Inbox;
use crate::support::ledger::{Ledger, NOW, by, leak, violation};
use prober::alert::{Kind, Receiver, Webhook};
use prober::incident::Act;
use time::Duration;

#[tokio::test]
async fn what_becomes_of_an_incident_is_told_in_order_and_signed() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut desk = Desk::open(&database, &[webhook("soc", &inbox)]).await;
    let id = desk.ledger.find(vec![leak()], NOW).await[0];
    desk.at(NOW).await;
    // One more finding of it is no news.
    desk.ledger.find(vec![leak()], NOW + Duration::SECOND).await;
    desk.ledger
        .change(id, Act::Acknowledge, &by("Ada", NOW))
        .await
        .unwrap();
    desk.ledger
        .change(id, Act::Resolve, &by("Ada", NOW))
        .await
        .unwrap();
    desk.ledger.find(vec![leak()], NOW + Duration::HOUR).await;
    desk.at(NOW).await;
    let arrived = inbox.take();
    let events: Vec<&str> = arrived.iter().map(|one| one.event()).collect();
    assert_eq!(
        events,
        [
            "incident.opened",
            "incident.acknowledged",
            "incident.resolved",
            "incident.reopened"
        ]
    );
    let incidents: Vec<_> = arrived
        .iter()
        .map(|one| &one.body["data"]["incident"])
        .collect();
    assert_eq!(incidents[0]["findings"], 1, "as it was then");
    assert_eq!(incidents[1]["findings"], 2);
    assert_eq!(incidents[1]["by"], "Ada");
    assert!(
        incidents
            .iter()
            .all(|one| one["uid"] == incidents[0]["uid"])
    );
    assert_eq!(arrived[0].body["data"]["severity"], "critical");
    let mut ids: Vec<&str> = arrived.iter().map(|one| one.header("webhook-id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    for one in &arrived {
        assert_eq!(
            one.header("webhook-timestamp"),
            NOW.unix_timestamp().to_string()
        );
        assert!(one.header("webhook-signature").starts_with("v1,"));
    }
    let soc = desk.receiver("soc").await;
    assert_eq!((soc.delivered_at, soc.deliveries.delivered), (Some(NOW), 4));
}

#[tokio::test]
async fn what_was_noted_before_a_receiver_was_known_is_not_told() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let ledger = Ledger::open(&database).await;
    ledger.find(vec![leak()], NOW).await;
    let mut desk = Desk::of(ledger, &[webhook("soc", &inbox)]).await;
    desk.ledger
        .find(vec![violation()], NOW + Duration::SECOND)
        .await;
    desk.at(NOW).await;
    let told: Vec<_> = inbox
        .take()
        .into_iter()
        .map(|one| one.body["data"]["incident"]["kind"].clone())
        .collect();
    assert_eq!(told, ["limit_violation"]);
}

#[tokio::test]
async fn nothing_is_sent_to_an_address_of_a_private_network_unless_that_is_wanted() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let guarded = |name: &str, url: String| Receiver {
        allow_private: false,
        kind: Kind::Webhook(Webhook {
            url: url.into(),
            keys: Vec::new(),
            headers: Vec::new(),
        }),
        ..webhook(name, &inbox)
    };
    let by_name = inbox.url.replace("127.0.0.1", "localhost");
    let receivers = [
        guarded("number", inbox.url.clone()),
        guarded("name", by_name),
    ];
    let mut desk = Desk::open(&database, &receivers).await;
    desk.ledger.find(vec![leak()], NOW).await;
    desk.at(NOW).await;
    assert!(inbox.take().is_empty());
    for name in ["number", "name"] {
        let (_, because) = desk.receiver(name).await.failed.unwrap();
        assert!(because.contains("private network"), "{name}: {because}");
    }
}

#[tokio::test]
async fn two_probers_tell_everything_once_and_in_order() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut first = Desk::open(&database, &[webhook("soc", &inbox)]).await;
    let mut second = Desk::open(&database, &[webhook("soc", &inbox)]).await;
    let id = first.ledger.find(vec![leak()], NOW).await[0];
    for second in 1..=10 {
        let resolved = first.ledger.change(id, Act::Resolve, &by("Ada", NOW)).await;
        resolved.unwrap();
        let again = NOW + Duration::seconds(second);
        first.ledger.find(vec![leak()], again).await;
    }
    let (one, other) = tokio::join!(first.dispatcher.catch_up(), second.dispatcher.catch_up());
    one.unwrap();
    other.unwrap();
    // Whoever found the other at work had nothing to do.
    first.dispatcher.catch_up().await.unwrap();
    let mut expected = vec!["incident.opened"];
    for _ in 0..10 {
        expected.extend(["incident.resolved", "incident.reopened"]);
    }
    assert_eq!(inbox.taken(), expected);
}

#[tokio::test]
async fn alerts_are_dropped_when_they_are_old_and_settled() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut desk = Desk::open(&database, &[webhook("soc", &inbox)]).await;
    let open = desk.ledger.find(vec![leak()], NOW).await[0];
    let later = NOW + Duration::MILLISECOND;
    let over = desk.ledger.find(vec![violation()], later).await[0];
    desk.ledger
        .change(over, Act::Resolve, &by("Ada", NOW))
        .await
        .unwrap();
    desk.at(NOW).await;
    let store = &desk.ledger.store;
    assert_eq!(store.prune_alerts(NOW).await.unwrap(), 0);
    assert_eq!(store.prune_alerts(NOW + Duration::SECOND).await.unwrap(), 2);
    let left = "select count(*) from alerts join incidents on incidents.id = incident_id where kind = 'leak'";
    assert_eq!(
        database.count(left).await,
        1,
        "of incident {open}, which is open"
    );
    assert_eq!(database.count("select count(*) from deliveries").await, 1);
}
