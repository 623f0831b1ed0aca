//! Findings of one kind are one incident, whoever records them at once and whatever people do to it meanwhile.
#![allow(clippy::unwrap_used)]

mod support;

use prober::incident::{Act, Refusal, State};
use prober::judge::RoundVerdict;
use prober::store::{By, FindingRecord, Relation};
use std::sync::Arc;
use support::TestDatabase;
use support::ledger::{Ledger, NOW, anomaly, by, leak, violation};
use support::records::RULES;
use time::Duration;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

fn told(story: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    let story = story.iter();
    story
        .map(|(what, who)| ((*what).to_owned(), who.map(str::to_owned)))
        .collect()
}

#[tokio::test]
async fn findings_of_one_endpoint_kind_and_signature_are_one_incident() {
    let database = TestDatabase::new().await;
    let glm = Ledger::open(&database).await;
    let elsewhere = Ledger::at(&database, "kimi").await;
    let minute = Duration::MINUTE;
    let first = glm.find(vec![leak(), violation(), leak()], NOW).await;
    assert_eq!(first[0], first[2]);
    assert_ne!(first[0], first[1]);
    let second = glm.find(vec![anomaly(1), leak()], NOW + minute).await;
    assert_eq!(second[1], first[0]);
    let within = FindingRecord {
        relation: Some(Relation::SameTenant),
        ..leak()
    };
    let third = glm.find(vec![anomaly(9_000), within], NOW + minute * 2);
    let third = third.await;
    let other = elsewhere.find(vec![leak()], NOW + minute).await;
    let mut all = [first.clone(), second, third, other.clone()].concat();
    all.sort();
    all.dedup();
    assert_eq!(
        all.len(),
        6,
        "another endpoint, mechanism or direction is another incident"
    );

    let incident = glm.incident(first[0]).await;
    assert_eq!(
        (incident.endpoint.as_str(), incident.kind.as_str()),
        ("glm", "leak")
    );
    assert_eq!(incident.signature, "other_tenant/over_limit/text");
    assert_eq!((incident.state, incident.findings), (State::Open, 3));
    assert_eq!(
        (incident.opened_at, incident.last_finding_at),
        (NOW, NOW + minute)
    );
    assert_eq!(elsewhere.incident(other[0]).await.endpoint, "kimi");
    assert_eq!(glm.story(first[0]).await, told(&[("opened", None)]));
    let of_it = glm.store.incident_findings(first[0], 2).await.unwrap();
    assert_eq!(of_it.len(), 2, "no more than asked for");
    assert_eq!(of_it[0].found_at, NOW + minute, "the newest first");
    let strays = "select count(*) from findings where incident_id is null";
    assert_eq!(database.count(strays).await, 0);
    assert_eq!(glm.store.incidents(false).await.unwrap().len(), 6);
    glm.store.close().await;
    elsewhere.store.close().await;
}

#[tokio::test]
async fn a_finding_that_is_recorded_late_counts_for_when_it_was_made() {
    let database = TestDatabase::new().await;
    let ledger = Ledger::open(&database).await;
    let id = ledger.find(vec![leak()], NOW).await[0];
    let earlier = NOW - Duration::HOUR;
    assert_eq!(ledger.find(vec![leak()], earlier).await, [id]);
    let incident = ledger.incident(id).await;
    assert_eq!(
        (incident.opened_at, incident.last_finding_at),
        (earlier, NOW)
    );
    ledger.store.close().await;
}

#[tokio::test]
async fn recording_twice_counts_once() {
    let database = TestDatabase::new().await;
    let ledger = Ledger::open(&database).await;
    let round = ledger.begin("crosstalk", NOW).await;
    let mut told = Vec::new();
    for _ in 0..2 {
        let verdict = RoundVerdict::Leak;
        told.push(ledger.end(round, verdict, vec![leak()], NOW).await);
    }
    assert_eq!((told[0].len(), told[1].len()), (1, 0));
    assert_eq!(ledger.incident(told[0][0]).await.findings, 1);
    ledger.store.close().await;
}

#[tokio::test]
async fn an_incident_is_acknowledged_resolved_and_opened_again() {
    let database = TestDatabase::new().await;
    let ledger = Ledger::open(&database).await;
    let (hour, day) = (Duration::HOUR, Duration::DAY);
    let id = ledger.find(vec![leak()], NOW).await[0];
    let ada = by("Ada", NOW + hour);
    assert_eq!(
        ledger.change(id, Act::Acknowledge, &ada).await,
        Ok(State::Acknowledged)
    );
    let again = ledger.change(id, Act::Acknowledge, &ada).await;
    assert_eq!(again, Err(Refusal::Already(State::Acknowledged)));
    assert_eq!(ledger.find(vec![leak()], NOW + hour * 2).await, [id]);
    let incident = ledger.incident(id).await;
    assert_eq!(
        (incident.state, incident.findings),
        (State::Acknowledged, 2)
    );
    assert_eq!(
        incident.acknowledged,
        Some((NOW + hour, "Ada".to_owned())),
        "one more finding does not take it back"
    );

    let fixed = By {
        note: Some("pool of prefill enlarged".to_owned()),
        ..by("Bob", NOW + day)
    };
    assert_eq!(
        ledger.change(id, Act::Resolve, &fixed).await,
        Ok(State::Resolved)
    );
    let late = ledger.change(id, Act::Acknowledge, &ada).await;
    assert_eq!(late, Err(Refusal::Over));
    let twice = ledger.change(id, Act::Resolve, &fixed).await;
    assert_eq!(twice, Err(Refusal::Already(State::Resolved)));
    assert!(ledger.store.incidents(false).await.unwrap().is_empty());
    assert_eq!(ledger.store.incidents(true).await.unwrap().len(), 1);

    // Six days later it was not over.
    assert_eq!(ledger.find(vec![leak()], NOW + day * 7).await, [id]);
    let incident = ledger.incident(id).await;
    assert_eq!(
        (incident.state, incident.findings, incident.reopened),
        (State::Open, 3, 1)
    );
    assert_eq!((incident.acknowledged, incident.resolved), (None, None));
    assert_eq!(incident.opened_at, NOW);

    // Over a week later it is another one.
    let anew = by("Bob", NOW + day * 8);
    ledger.change(id, Act::Resolve, &anew).await.unwrap();
    let after = NOW + day * 15 + Duration::SECOND;
    let other = ledger.find(vec![leak()], after).await[0];
    assert_ne!(other, id);
    assert_eq!(
        ledger.story(id).await,
        told(&[
            ("opened", None),
            ("acknowledged", Some("Ada")),
            ("resolved", Some("Bob")),
            ("reopened", None),
            ("resolved", Some("Bob")),
        ])
    );
    let events = ledger.store.incident_events(id).await.unwrap();
    assert_eq!(events[2].note, fixed.note);
    ledger.store.close().await;
}

#[tokio::test]
async fn only_what_is_no_leak_is_over_by_itself_after_a_clean_round_and_a_quiet_day() {
    let database = TestDatabase::new().await;
    let ledger = Ledger::open(&database).await;
    let elsewhere = Ledger::at(&database, "kimi").await;
    let (hour, day) = (Duration::HOUR, Duration::DAY);
    let ids = ledger.find(vec![leak(), violation()], NOW).await;
    let quiet = async |now| ledger.store.resolve_quiet(&RULES, now).await.unwrap();
    // A clean round of another scenario or endpoint, one that began before, and one that proved nothing.
    ledger.clean("overflow", NOW + hour).await;
    elsewhere.clean("crosstalk", NOW + hour).await;
    ledger.clean("crosstalk", NOW - hour).await;
    let doubtful = ledger.begin("crosstalk", NOW + hour).await;
    let doubt = RoundVerdict::Inconclusive("test".to_owned());
    ledger.end(doubtful, doubt, vec![], NOW + hour).await;
    assert_eq!(quiet(NOW + day * 9).await, []);

    ledger.clean("crosstalk", NOW + hour * 2).await;
    assert_eq!(quiet(NOW + day - Duration::SECOND).await, []);
    assert_eq!(quiet(NOW + day).await, [ids[1]]);
    let violations = ledger.incident(ids[1]).await;
    assert_eq!(violations.resolved, Some((NOW + day, None)));
    assert_eq!(
        ledger.story(ids[1]).await,
        told(&[("opened", None), ("resolved", None)])
    );
    assert_eq!(quiet(NOW + day * 900).await, [], "a leak never is");
    assert_eq!(ledger.incident(ids[0]).await.state, State::Open);

    // A new one takes another clean round.
    assert_eq!(
        ledger.find(vec![violation()], NOW + day * 2).await[0],
        ids[1]
    );
    assert_eq!(quiet(NOW + day * 9).await, []);
    ledger.clean("crosstalk", NOW + day * 3).await;
    assert_eq!(quiet(NOW + day * 9).await, [ids[1]]);
    ledger.store.close().await;
    elsewhere.store.close().await;
}

/// So many record at once.
const RECORDERS: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_recorded_by_many_at_once_open_one_incident_and_all_are_counted() {
    let database = TestDatabase::new().await;
    let ledgers = [
        Arc::new(Ledger::open(&database).await),
        Arc::new(Ledger::open(&database).await),
        Arc::new(Ledger::open(&database).await),
    ];
    let start = Arc::new(Barrier::new(RECORDERS));
    let mut tasks = JoinSet::new();
    for number in 0..RECORDERS {
        let ledger = Arc::clone(&ledgers[number % ledgers.len()]);
        let start = Arc::clone(&start);
        let at = NOW + Duration::seconds(number as i64);
        // Of a scenario each: those of one wait for each other at its sums already.
        let round = ledger.begin(&format!("scenario-{number}"), at).await;
        // In either order: whoever locks them one by one waits in a ring.
        let findings = match number % 2 {
            0 => vec![leak(), violation(), leak()],
            _ => vec![violation(), leak(), leak()],
        };
        tasks.spawn(async move {
            start.wait().await;
            ledger.end(round, RoundVerdict::Leak, findings, at).await
        });
    }
    let mut named = tasks.join_all().await.concat();
    named.sort();
    named.dedup();
    assert_eq!(named.len(), 2, "one of leaks, one of violations");
    let incidents = ledgers[0].store.incidents(true).await.unwrap();
    let mut counts: Vec<u64> = incidents.iter().map(|one| one.findings).collect();
    counts.sort_unstable();
    assert_eq!(counts, [RECORDERS as u64, 2 * RECORDERS as u64]);
    for incident in &incidents {
        assert_eq!(incident.opened_at, NOW);
        let last = NOW + Duration::seconds(RECORDERS as i64 - 1);
        assert_eq!(incident.last_finding_at, last);
        let story = ledgers[0].story(incident.id).await;
        assert_eq!(story, told(&[("opened", None)]));
    }
    let miscounted = "select count(*) from incidents where findings <> (
        select count(*) from findings where incident_id = incidents.id)";
    assert_eq!(database.count(miscounted).await, 0);
    for ledger in ledgers {
        Arc::into_inner(ledger).unwrap().store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_and_findings_at_once_lose_nothing_of_each_other() {
    let database = TestDatabase::new().await;
    let one = Arc::new(Ledger::open(&database).await);
    let other = Arc::new(Ledger::open(&database).await);
    for turn in 0..12 {
        let at = NOW + Duration::HOUR * turn;
        let id = one.find(vec![leak()], at).await[0];
        let before = one.incident(id).await;
        let act = [Act::Acknowledge, Act::Resolve][turn as usize % 2];
        let round = one.begin("crosstalk", at + Duration::SECOND).await;
        let start = Arc::new(Barrier::new(3));
        let finder = tokio::spawn({
            let (ledger, start) = (Arc::clone(&one), Arc::clone(&start));
            async move {
                start.wait().await;
                let at = at + Duration::SECOND;
                let verdict = RoundVerdict::Leak;
                ledger.end(round, verdict, vec![leak(), leak()], at).await
            }
        });
        let people = ["Ada", "Bob"].map(|who| {
            let (ledger, start) = (Arc::clone(&other), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                let by = by(who, at + Duration::SECOND);
                ledger.change(id, act, &by).await
            })
        });
        assert_eq!(finder.await.unwrap(), [id, id]);
        let mut done = 0;
        for person in people {
            done += u64::from(person.await.unwrap().is_ok());
        }
        let after = one.incident(id).await;
        assert_eq!(after.findings, before.findings + 2);
        let story = one.story(id).await;
        match (act, after.state) {
            (Act::Acknowledge, state) => {
                assert_eq!((done, state), (1, State::Acknowledged));
                assert_eq!(after.reopened, before.reopened);
            }
            // The findings came first …
            (Act::Resolve, State::Resolved) => assert!(done >= 1, "{story:?}"),
            // … or were not known to whoever resolved it.
            (Act::Resolve, _) => assert_eq!((done, after.reopened), (1, before.reopened + 1)),
        }
        let acts = story.iter().filter(|(what, _)| what == "reopened").count();
        assert_eq!(acts as u64, after.reopened, "{story:?}");
        if after.state != State::Resolved {
            let over = by("Cleo", at + Duration::MINUTE);
            other.change(id, Act::Resolve, &over).await.unwrap();
        }
    }
    for ledger in [one, other] {
        Arc::into_inner(ledger).unwrap().store.close().await;
    }
}

#[tokio::test]
async fn the_database_refuses_what_must_not_be() {
    let database = TestDatabase::new().await;
    let ledger = Ledger::open(&database).await;
    ledger.find(vec![leak(), violation()], NOW).await;
    let copy = "insert into incidents (endpoint_id, kind, signature, state, opened_at, last_finding_at, findings)
                select endpoint_id, kind, signature, state, opened_at, last_finding_at, 1 from incidents limit 1";
    let refusals = [
        (
            "update incidents set state = 'resolved', resolved_at = now() where kind = 'leak'",
            "incidents_leak_by_person",
        ),
        (
            "update incidents set state = 'resolved', resolved_at = now(), resolved_by = ' '",
            "incidents_who_told",
        ),
        (
            "update incidents set state = 'acknowledged'",
            "incidents_acknowledged_when",
        ),
        (
            "update incidents set resolved_at = now()",
            "incidents_resolved_when",
        ),
        (
            "update incidents set state = 'forgotten'",
            "incidents_state_known",
        ),
        (
            "update incidents set signature = 'the answer was: 42'",
            "incidents_signature_form",
        ),
        (copy, "incidents_one_unresolved"),
        (
            "update incident_events set at = now()",
            "rows of incident_events are only ever added",
        ),
        (
            "delete from incident_events",
            "rows of incident_events are only ever added",
        ),
        (
            "insert into incident_events (incident_id, at, what, note) select id, now(), 'opened', ' ' from incidents",
            "incident_events_note_told",
        ),
    ];
    for (statement, name) in refusals {
        let refused = sqlx::query(statement).execute(&database.pool).await;
        let said = refused.unwrap_err().to_string();
        assert!(said.contains(name), "{statement}: {said}");
    }
    // By somebody, or by itself if it is no leak.
    let allowed = "update incidents set state = 'resolved', resolved_at = now(),
                   resolved_by = case when kind = 'leak' then 'Ada' end";
    sqlx::query(allowed).execute(&database.pool).await.unwrap();
    ledger.store.close().await;
}
