//! Records of evidence: who read it, and sealing all of it with another key.
#![allow(clippy::unwrap_used)]

mod support;

use canary_gen::ProbeNumber;
use prober::evidence::{self, Binding, EvidenceKeys, Response, Sealed, key_file};
use prober::ids::RoundId;
use prober::store::{Act, EvidenceState, Store};
use ring::rand::SystemRandom;
use support::records::access;
use support::*;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

fn sealed(keys: &EvidenceKeys, probe: u64, round: RoundId) -> Sealed {
    let of = Binding {
        probe: ProbeNumber::new(probe).unwrap(),
        round,
    };
    let response = Response {
        head: b"HTTP 200\r\n".to_vec(),
        body: format!("answer {probe}").into_bytes(),
        trailers: Vec::new(),
        is_cut: false,
    };
    evidence::seal(keys, of, &response, &SystemRandom::new()).unwrap()
}

#[tokio::test]
async fn records_of_accesses_are_only_ever_added_and_never_without_a_reason() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    store.record_reseal(&access("rotation", NOW)).await.unwrap();
    assert!(store.record_reseal(&access(" ", NOW)).await.is_err());
    for change in [
        "update evidence_accesses set reason = 'another'",
        "delete from evidence_accesses",
        "truncate evidence_accesses",
    ] {
        let refused = sqlx::query(change)
            .execute(&database.pool)
            .await
            .unwrap_err();
        assert!(refused.to_string().contains("only ever added"), "{refused}");
    }
    assert_eq!(
        database
            .count("select count(*) from evidence_accesses")
            .await,
        1
    );
    store.close().await;
}

#[tokio::test]
async fn resealing_goes_on_where_it_was_stopped_and_leaves_what_does_not_open() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let endpoint = store
        .register_endpoint(&records::facts(), NOW)
        .await
        .unwrap();
    let key = canary_gen::KeyRing::from_root(&[1; 32]).minting().id();
    store.register_key(key, NOW).await.unwrap();
    let round = records::new_round(endpoint.id, key, NOW);
    let round = store.begin_round(&round).await.unwrap();
    let key = |byte: &str| format!("evidence-key-v1:{}\n", byte.repeat(32));
    let old = key_file::parse(&key("01")).unwrap();
    let lost = key_file::parse(&key("02")).unwrap();
    let now = key_file::parse(&(key("03") + &key("01"))).unwrap();
    for probe in 1..=5 {
        let keys = if probe == 3 { &lost } else { &old };
        let sealed = sealed(keys, probe, round);
        sqlx::query(
            "insert into evidence (probe_id, round_id, key_id, sealed, plain_bytes, is_cut, kept_at)
             values ($1, $2, $3, $4, $5, false, $6)",
        )
        .bind(probe as i64)
        .bind(round.get())
        .bind(sealed.key.to_string())
        .bind(&sealed.bytes)
        .bind(sealed.plain_bytes as i64)
        .bind(NOW)
        .execute(&database.pool)
        .await
        .unwrap();
    }
    let anew = |before: &Sealed| {
        let response = evidence::open(&now, before).ok()?;
        evidence::seal(&now, before.of, &response, &SystemRandom::new()).ok()
    };
    let numbers =
        |probes: &[ProbeNumber]| probes.iter().map(|probe| probe.get()).collect::<Vec<_>>();
    let first = store.reseal(None, now.sealing(), 2, anew).await.unwrap();
    assert_eq!((first.sealed, first.last.unwrap().get()), (2, 2));
    // As if it had been stopped here and begun again.
    let second = store.reseal(None, now.sealing(), 2, anew).await.unwrap();
    assert_eq!((second.sealed, numbers(&second.refused)), (1, vec![3]));
    let third = store
        .reseal(second.last, now.sealing(), 2, anew)
        .await
        .unwrap();
    assert_eq!((third.sealed, numbers(&third.refused)), (1, vec![]));
    let rest = store
        .reseal(third.last, now.sealing(), 2, anew)
        .await
        .unwrap();
    assert_eq!(rest.last, None);
    for probe in [1, 2, 4, 5] {
        let probe = ProbeNumber::new(probe).unwrap();
        let sealed = store
            .access_evidence(probe, Act::Show, &access("test", NOW))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(sealed.key, now.sealing());
        let opened = evidence::open(&now, &sealed).unwrap();
        assert_eq!(opened.body, format!("answer {}", probe.get()).into_bytes());
    }
    let later = NOW + Duration::days(30);
    assert_eq!(store.prune_evidence(NOW, later).await.unwrap(), 0);
    assert_eq!(store.prune_evidence(later, later).await.unwrap(), 5);
    let facts = store.evidence(10).await.unwrap();
    let erased = EvidenceState::Erased {
        at: later,
        by_retention: true,
    };
    assert!(facts.iter().all(|facts| facts.state == erased));
    store.close().await;
}
