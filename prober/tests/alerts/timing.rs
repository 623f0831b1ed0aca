//! When it is told: together, later, and again.

use crate::desk::{Desk, receiver, slack, webhook};
use crate::support::TestDatabase;
use crate::support::inbox::Inbox;
use crate::support::ledger::{NOW, anomaly, by, leak, violation};
use jiff::tz::TimeZone;
use prober::alert::{Alertmanager, Kind, QuietHours, Receiver};
use prober::incident::Act;
use std::time::Duration as Pause;
use time::Duration;

#[tokio::test]
async fn people_get_what_is_not_urgent_together_and_a_leak_at_once() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut desk = Desk::open(&database, &[slack("chat", &inbox)]).await;
    desk.ledger.find(vec![violation(), anomaly(1)], NOW).await;
    desk.at(NOW).await;
    assert_eq!(inbox.take().len(), 0);
    desk.ledger.find(vec![leak()], NOW + Duration::SECOND).await;
    desk.at(NOW + Duration::seconds(3)).await;
    let arrived = inbox.take();
    assert_eq!(arrived.len(), 1);
    assert_eq!(
        arrived[0].body["text"],
        "Leak opened: other_tenant/over_limit/text at glm"
    );
    desk.at(NOW + Duration::seconds(29)).await;
    assert_eq!(inbox.take().len(), 0);
    desk.at(NOW + Duration::seconds(30)).await;
    let arrived = inbox.take();
    assert_eq!(arrived.len(), 1);
    assert_eq!(
        arrived[0].body["text"],
        "2 alerts of the tenant-isolation prober"
    );
}

#[tokio::test]
async fn what_was_sent_together_is_tried_again_together() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let mut desk = Desk::open(&database, &[slack("chat", &inbox)]).await;
    inbox.answers(&[500]);
    desk.ledger.find(vec![violation(), anomaly(1)], NOW).await;
    desk.at(NOW).await;
    desk.at(NOW + Duration::MINUTE).await;
    let truncation = desk
        .ledger
        .find(vec![anomaly(9_000)], NOW + Duration::MINUTE)
        .await;
    assert_eq!(truncation.len(), 1);
    desk.at(NOW + Duration::MINUTE * 2).await;
    desk.at(NOW + Duration::MINUTE * 3).await;
    let arrived = inbox.take();
    let texts: Vec<_> = arrived
        .iter()
        .map(|one| one.body["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts[..2], ["2 alerts of the tenant-isolation prober"; 2]);
    assert_eq!(
        texts.len(),
        3,
        "what came meanwhile is a message of its own"
    );
}

#[tokio::test]
async fn quiet_hours_hold_back_what_is_not_urgent_until_they_end() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let at = |hour| jiff::civil::time(hour, 0, 0, 0);
    let quiet = Receiver {
        quiet: Some(QuietHours {
            daily: Some((at(9), at(12))),
            days: Vec::new(),
            zone: TimeZone::UTC,
        }),
        ..webhook("soc", &inbox)
    };
    let mut desk = Desk::open(&database, &[quiet]).await;
    desk.ledger.find(vec![violation(), leak()], NOW).await;
    desk.at(NOW).await;
    let kinds = || -> Vec<_> {
        let arrived = inbox.take().into_iter();
        arrived
            .map(|one| one.body["data"]["incident"]["kind"].clone())
            .collect()
    };
    assert_eq!(kinds(), ["leak"]);
    desk.at(NOW + Duration::minutes(119)).await;
    assert!(kinds().is_empty());
    desk.at(NOW + Duration::HOUR * 2).await;
    assert_eq!(kinds(), ["limit_violation"]);
}

#[tokio::test]
async fn an_alertmanager_is_told_again_of_what_is_unresolved() {
    let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
    let kind = Kind::Alertmanager(Alertmanager {
        urls: vec![inbox.url.as_str().into()],
        headers: Vec::new(),
        resend_every: Pause::from_secs(60),
    });
    let mut desk = Desk::open(&database, &[receiver("am", kind)]).await;
    let id = desk.ledger.find(vec![leak()], NOW).await[0];
    desk.at(NOW).await;
    let ends = || -> Vec<_> {
        let arrived = inbox.take().into_iter();
        arrived
            .map(|one| one.body[0]["endsAt"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ends(), ["2026-12-01T10:05:00Z"]);
    desk.at(NOW + Duration::seconds(59)).await;
    assert!(ends().is_empty());
    desk.at(NOW + Duration::MINUTE).await;
    assert_eq!(ends(), ["2026-12-01T10:06:00Z"]);
    let resolved_at = NOW + Duration::seconds(90);
    desk.ledger
        .change(id, Act::Resolve, &by("Ada", resolved_at))
        .await
        .unwrap();
    desk.at(resolved_at).await;
    desk.at(NOW + Duration::minutes(2)).await;
    // It may have been away when it was told.
    assert_eq!(ends(), ["2026-12-01T10:01:30Z"; 2]);
    desk.at(NOW + Duration::minutes(20)).await;
    assert!(ends().is_empty());
}
