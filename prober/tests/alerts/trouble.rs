//! Receivers and probers that fail.

use crate::desk::{Desk, webhook};
use crate::support::TestDatabase;
use crate::support::inbox::Inbox;
use crate::support::ledger::{NOW, anomaly, by, leak, violation};
use prober::alert::{Filter, Receiver, Severity};
use prober::incident::Act;
use serde_json::json;
use time::Duration;

#[tokio::test]
async fn a_message_that_is_not_taken_is_tried_again_with_its_id_and_others_wait_behind_it() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut desk = Desk::open(&database, &[webhook("soc", &inbox)]).await;
    inbox.answers(&[503, 302, 500]);
    let id = desk.ledger.find(vec![leak()], NOW).await[0];
    desk.at(NOW).await;
    desk.ledger
        .change(id, Act::Resolve, &by("Ada", NOW))
        .await
        .unwrap();
    // Too soon after the last attempt for the new one to cause another.
    desk.at(NOW + Duration::SECOND).await;
    assert_eq!(inbox.take().len(), 1);
    let failing = desk.receiver("soc").await;
    assert_eq!(failing.failed, Some((NOW, "it answered 503".to_owned())));
    for (seconds, arrive) in [(4, 0), (5, 1), (14, 0), (15, 1), (34, 0)] {
        desk.at(NOW + Duration::seconds(seconds)).await;
        let arrived = inbox.take();
        assert_eq!(arrived.len(), arrive, "after {seconds} s");
        assert!(arrived.iter().all(|one| one.event() == "incident.opened"));
    }
    desk.at(NOW + Duration::seconds(35)).await;
    let arrived = inbox.take();
    let events: Vec<&str> = arrived.iter().map(|one| one.event()).collect();
    assert_eq!(events, ["incident.opened", "incident.resolved"]);
    let soc = desk.receiver("soc").await;
    assert_eq!((soc.failures, soc.failed), (0, None));
}

#[tokio::test]
async fn every_attempt_has_the_same_id_and_body() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut desk = Desk::open(&database, &[webhook("soc", &inbox)]).await;
    inbox.answers(&[500]);
    let found = desk.ledger.find(vec![leak()], NOW).await[0];
    desk.at(NOW).await;
    desk.ledger.find(vec![leak()], NOW).await;
    desk.ledger
        .change(found, Act::Acknowledge, &by("Ada", NOW))
        .await
        .unwrap();
    desk.at(NOW + Duration::MINUTE).await;
    let arrived = inbox.take();
    assert_eq!(
        arrived[0].header("webhook-id"),
        arrived[1].header("webhook-id")
    );
    assert_eq!(arrived[0].body, arrived[1].body);
    assert_ne!(
        arrived[1].header("webhook-id"),
        arrived[2].header("webhook-id")
    );
}

#[tokio::test]
async fn something_new_tries_a_receiver_that_failed_a_while_ago_unless_it_asked_for_a_pause() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut desk = Desk::open(&database, &[webhook("soc", &inbox)]).await;
    let id = desk.ledger.find(vec![leak()], NOW).await[0];
    inbox.always(Some(500));
    let mut now = NOW;
    for _ in 0..8 {
        desk.at(now).await;
        now += Duration::minutes(20);
    }
    inbox.always(None);
    inbox.take();
    // The next attempt would be up to an hour later.
    now -= Duration::minutes(19);
    desk.at(now).await;
    assert_eq!(inbox.taken().len(), 0);
    desk.ledger
        .change(id, Act::Acknowledge, &by("Ada", now))
        .await
        .unwrap();
    desk.at(now).await;
    assert_eq!(inbox.taken(), ["incident.opened", "incident.acknowledged"]);

    inbox.answers_with(429, ("retry-after", "600".to_owned()));
    desk.ledger
        .change(id, Act::Resolve, &by("Ada", now))
        .await
        .unwrap();
    desk.at(now).await;
    desk.ledger.find(vec![leak()], now).await;
    desk.at(now + Duration::seconds(599)).await;
    assert_eq!(inbox.take().len(), 1, "the one that was answered 429");
    desk.at(now + Duration::seconds(600)).await;
    assert_eq!(inbox.taken(), ["incident.resolved", "incident.reopened"]);
}

#[tokio::test]
async fn what_is_given_up_after_a_day_is_told_to_the_others_once() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let broken = Inbox::open().await;
    let picky = Receiver {
        filter: Filter {
            min_severity: Severity::Critical,
            endpoints: vec!["kimi".to_owned()],
            kinds: vec!["leak".to_owned()],
            drills: true,
        },
        ..webhook("picky", &inbox)
    };
    let mut desk = Desk::open(&database, &[webhook("broken", &broken), picky]).await;
    broken.always(Some(503));
    desk.ledger.find(vec![leak(), violation()], NOW).await;
    let mut now = NOW;
    while now <= NOW + Duration::hours(26) {
        desk.at(now).await;
        now += Duration::minutes(10);
    }
    let told = inbox.take();
    assert_eq!(
        told.len(),
        1,
        "that a leak was found elsewhere it does not want to be told"
    );
    assert_eq!(told[0].event(), "alert.undelivered");
    assert_eq!(
        told[0].body["data"]["receiver"],
        json!({ "name": "broken", "because": "it answered 503" })
    );
    let record = desk.receiver("broken").await;
    assert_eq!((record.deliveries.pending, record.deliveries.dead), (0, 2));
    assert!(
        !broken
            .take()
            .iter()
            .any(|one| one.event() == "alert.undelivered")
    );

    // It works again, and fails again: that is news.
    broken.always(None);
    let ids = desk.ledger.find(vec![anomaly(1)], now).await;
    desk.at(now).await;
    broken.always(Some(400));
    desk.ledger
        .change(ids[0], Act::Resolve, &by("Ada", now))
        .await
        .unwrap();
    desk.at(now).await;
    let again = inbox.taken();
    assert_eq!(
        again,
        ["alert.undelivered"],
        "what is refused for good is not tried for a day"
    );
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_told_nothing_more_until_it_is_enabled() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let gone = Inbox::open().await;
    let mut desk = Desk::open(&database, &[webhook("gone", &gone), webhook("soc", &inbox)]).await;
    gone.answers(&[410]);
    desk.ledger.find(vec![leak()], NOW).await;
    desk.at(NOW).await;
    desk.ledger
        .find(vec![violation()], NOW + Duration::SECOND)
        .await;
    desk.at(NOW + Duration::HOUR).await;
    assert_eq!(gone.take().len(), 1);
    assert_eq!(
        inbox.taken(),
        ["incident.opened", "alert.undelivered", "incident.opened"]
    );
    assert_eq!(desk.receiver("gone").await.disabled_at, Some(NOW));
    assert!(desk.ledger.store.enable_receiver("gone").await.unwrap());
    assert!(!desk.ledger.store.enable_receiver("gone").await.unwrap());
    desk.ledger
        .find(vec![anomaly(1)], NOW + Duration::HOUR)
        .await;
    desk.at(NOW + Duration::HOUR * 2).await;
    assert_eq!(gone.taken(), ["incident.opened"]);
}

#[tokio::test]
async fn an_attempt_that_died_is_made_again_after_its_lease_with_the_same_id() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut desk = Desk::open(&database, &[webhook("soc", &inbox)]).await;
    desk.ledger.find(vec![leak()], NOW).await;
    // Another prober routes and claims it, and dies.
    let route = |name: &String| prober::store::Route {
        receiver: name.clone(),
        urgent: true,
        due_at: NOW,
    };
    let routed = desk
        .ledger
        .store
        .route_alerts(NOW, |_, names| names.iter().map(route).collect());
    assert_eq!(routed.await.unwrap(), 1);
    let lane = prober::store::Lane {
        receiver: "soc".to_owned(),
        urgent: true,
        together: 1,
        spacing: Duration::ZERO,
    };
    let lost = desk.ledger.store.claim(&lane, NOW).await.unwrap().unwrap();
    assert_eq!(desk.ledger.store.claim(&lane, NOW).await.unwrap(), None);
    desk.at(NOW + Duration::seconds(89)).await;
    assert!(inbox.take().is_empty());
    desk.at(NOW + Duration::seconds(90)).await;
    let arrived = inbox.take();
    assert_eq!(arrived[0].header("webhook-id"), lost.envelopes[0].uid);
    let late = desk
        .ledger
        .store
        .settle(&lost, &prober::alert::Next::Delivered, NOW);
    assert!(
        !late.await.unwrap(),
        "what was taken for lost counts no more"
    );
}

#[tokio::test]
async fn messages_to_receivers_that_no_prober_knows_any_more_are_given_up_and_the_others_told() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut before = Desk::open(&database, &[webhook("old", &inbox)]).await;
    inbox.answers(&[500]);
    before.ledger.find(vec![leak()], NOW).await;
    before.at(NOW).await;
    inbox.take();
    let mut desk = Desk::open(&database, &[webhook("new", &inbox)]).await;
    desk.at(NOW + Duration::DAY + Duration::MINUTE).await;
    assert_eq!(inbox.taken(), ["alert.undelivered"]);
    assert_eq!(desk.receiver("old").await.deliveries.dead, 1);
}
