//! What the store tells of everything at once.

use crate::support::TestDatabase;
use crate::support::ledger::{Ledger, NOW, by, leak, violation};
use prober::alert::Notice;
use prober::budget::{Budget, Cost, Money};
use prober::drill::NewDrill;
use prober::incident::{Act, State};
use prober::judge::{RoundCounts, RoundVerdict};
use prober::store::{DrillSurvey, History, LineSurvey, RoundEnd, Route, UnresolvedIncidents};
use time::{Duration, OffsetDateTime};

/// A round with these numbers.
async fn ended(ledger: &Ledger, counts: RoundCounts, verdict: RoundVerdict, at: OffsetDateTime) {
    let (round, _) = ledger.begin("crosstalk", at).await;
    let end = RoundEnd {
        round,
        verdict,
        counts,
        findings: Vec::new(),
        evidence: Vec::new(),
        finished_at: at + Duration::MINUTE,
    };
    let rules = &crate::support::records::RULES;
    ledger.store.finish_round(&end, rules).await.unwrap();
}

fn counts(asked: u32, recalled: u32) -> RoundCounts {
    RoundCounts {
        clean: recalled,
        asked,
        recalled,
        ..RoundCounts::default()
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[tokio::test]
async fn lines_are_summed_up_and_the_last_round_that_proved_something_is_told() {
    let database = TestDatabase::new().await;
    let glm = Ledger::open(&database).await;
    let kimi = Ledger::at(&database, "kimi").await;
    let at = NOW - Duration::HOUR * 5;
    ended(
        &glm,
        counts(10, 10),
        RoundVerdict::Clean,
        NOW - Duration::days(9),
    )
    .await;
    ended(&glm, counts(4, 3), RoundVerdict::Clean, at).await;
    let doubt = RoundVerdict::Inconclusive("no probe was answered".to_owned());
    ended(&glm, counts(0, 0), doubt.clone(), NOW - Duration::HOUR).await;
    ended(&kimi, counts(0, 0), doubt, NOW - Duration::HOUR).await;
    let asked = names(&["glm", "kimi"]);
    let mut survey = glm.store.survey(&asked, &[], NOW).await.unwrap();
    survey
        .lines
        .sort_by(|one, other| one.endpoint.cmp(&other.endpoint));
    let glm_line = LineSurvey {
        endpoint: "glm".to_owned(),
        scenario: "crosstalk".to_owned(),
        history: History {
            rounds: 3,
            responses: 13,
            leaks: 0,
            asked: 14,
            recalled: 13,
        },
        asked_of_late: 4,
        recalled_of_late: 3,
        last_conclusive_at: Some(at + Duration::MINUTE),
    };
    let kimi_line = LineSurvey {
        endpoint: "kimi".to_owned(),
        history: History {
            rounds: 1,
            ..History::default()
        },
        asked_of_late: 0,
        recalled_of_late: 0,
        last_conclusive_at: None,
        ..glm_line.clone()
    };
    assert_eq!(survey.lines, [glm_line.clone(), kimi_line]);
    let of_glm = glm.store.survey(&names(&["glm"]), &[], NOW).await.unwrap();
    assert_eq!(
        of_glm.lines,
        [glm_line],
        "of the endpoints that are asked for"
    );
    glm.store.close().await;
    kimi.store.close().await;
}

#[tokio::test]
async fn unresolved_incidents_are_counted_by_kind_and_state() {
    let database = TestDatabase::new().await;
    let glm = Ledger::open(&database).await;
    let found = glm.find(vec![leak(), violation()], NOW).await;
    let of = async || {
        let survey = glm.store.survey(&names(&["glm"]), &[], NOW).await.unwrap();
        let mut incidents = survey.incidents;
        incidents.sort_by(|one, other| one.kind.cmp(&other.kind));
        incidents
    };
    let unresolved = |kind: &str, state| UnresolvedIncidents {
        endpoint: "glm".to_owned(),
        kind: kind.to_owned(),
        state,
        count: 1,
    };
    let (open, acknowledged) = (State::Open, State::Acknowledged);
    let both = [
        unresolved("leak", open),
        unresolved("limit_violation", open),
    ];
    assert_eq!(of().await, both);
    let ada = by("Ada", NOW);
    glm.change(found[0], Act::Acknowledge, &ada).await.unwrap();
    glm.change(found[1], Act::Resolve, &ada).await.unwrap();
    assert_eq!(of().await, [unresolved("leak", acknowledged)]);
    glm.store.close().await;
}

#[tokio::test]
async fn what_was_charged_to_the_day_and_what_waits_for_receivers_is_told() {
    let database = TestDatabase::new().await;
    let glm = Ledger::open(&database).await;
    let store = &glm.store;
    let (_, probe) = glm.begin("crosstalk", NOW).await;
    let cost = Cost {
        prompt_tokens: 900,
        answer_tokens: 100,
        money: Money::from_micros(1_500),
    };
    let budget = Budget::default();
    let charged = store.reserve(glm.endpoint.id, probe, cost, &budget, NOW);
    assert!(charged.await.unwrap());

    let receivers = names(&["mail", "soc"]);
    store.see_receivers(&receivers, NOW).await.unwrap();
    let later = NOW + Duration::SECOND;
    glm.find(vec![leak(), violation()], later).await;
    let routes = |notice: &Notice, _: &[String]| {
        vec![Route {
            receiver: "soc".to_owned(),
            urgent: notice.is_urgent(),
            due_at: NOW,
        }]
    };
    assert_eq!(store.route_alerts(NOW, routes).await.unwrap(), 2);
    let survey = store
        .survey(&names(&["glm"]), &receivers, NOW)
        .await
        .unwrap();
    assert_eq!(survey.spent[&"glm".to_owned()], cost);
    let [mail, soc] = &survey.receivers[..] else {
        panic!("{:?}", survey.receivers);
    };
    assert_eq!((mail.urgent.count, mail.others.count), (0, 0));
    assert_eq!(mail.urgent.oldest_at, None);
    assert_eq!((soc.urgent.count, soc.others.count), (1, 1));
    assert!(soc.urgent.oldest_at.is_some() && !soc.is_disabled);
    let tomorrow = NOW + Duration::DAY;
    let survey = store.survey(&names(&["glm"]), &[], tomorrow).await.unwrap();
    assert!(survey.spent.is_empty() && survey.receivers.is_empty());
    glm.store.clone().close().await;
}

#[tokio::test]
async fn how_drills_ended_is_told_by_endpoint() {
    let database = TestDatabase::new().await;
    let glm = Ledger::open(&database).await;
    let store = &glm.store;
    let first = NOW + Duration::MINUTE;
    for (at, because) in [
        (first, None),
        (first + Duration::HOUR, Some("soc was not told in time")),
    ] {
        let drill = NewDrill {
            endpoint: "glm".to_owned(),
            who: None,
            due_at: Some(at),
            begun_at: at,
            deadline_at: at + Duration::MINUTE,
        };
        let id = store.begin_drill(&drill).await.unwrap().unwrap();
        assert!(store.end_drill(id, because, at).await.unwrap());
        let survey = store.survey(&names(&["glm", "kimi"]), &[], at).await;
        let told = DrillSurvey {
            endpoint: "glm".to_owned(),
            arrived_at: Some(first),
            has_last_arrived: because.is_none(),
        };
        assert_eq!(survey.unwrap().drills, [told]);
    }
    glm.store.clone().close().await;
}
