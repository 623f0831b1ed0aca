//! What only several probes prove together.

use super::*;
use crate::endpoint::Digest;
use std::time::Duration;

fn answered(role: Role, set: u32, tenant: usize) -> ProbeResult {
    ProbeResult {
        set,
        tenant,
        ..recalled_by(role)
    }
}

/// Sets of a sandwich: five answers each, alone three times, after and beside strangers'.
fn sandwich(sets: &[[&str; 5]]) -> Compared {
    let mut results = Vec::new();
    for (set, answers) in (1..).zip(sets) {
        for (index, answer) in answers.iter().enumerate() {
            let role = if index < 3 { Role::Solo } else { Role::Amid };
            results.push(ProbeResult {
                answer: Some(Digest::of(answer.as_bytes())),
                ..answered(role, set, 0)
            });
        }
    }
    compare(&results)
}

#[test]
fn equal_answers_and_answers_that_differ_alone_as_well_are_no_divergence() {
    assert_eq!(sandwich(&[["a"; 5]; 8]), Compared::default());
    // Computed whole and from the cache: two answers that are both right.
    assert_eq!(
        sandwich(&[["a", "b", "b", "a", "b"]; 8]),
        Compared::default()
    );
    assert_eq!(
        sandwich(&[["a", "b", "c", "d", "e"]; 8]),
        Compared::default()
    );
}

#[test]
fn answers_that_differ_only_near_strangers_are_a_divergence_if_it_is_no_chance() {
    let after = sandwich(&[["a", "a", "a", "x", "a"]; 8]);
    assert_eq!(after.findings.len(), 1);
    let (place, finding) = &after.findings[0];
    assert_eq!((*place, finding.certainty()), (3, "suspected"));
    assert!(matches!(
        finding,
        Finding::Divergence { beside: false, differing: 8, differing_alone: 0, sets: 8, chance } if *chance < 1e-4
    ));
    let beside = sandwich(&[["a", "a", "a", "a", "x"]; 8]);
    assert!(matches!(
        beside.findings[..],
        [(4, Finding::Divergence { beside: true, .. })]
    ));
    let mut some = [["a", "a", "a", "x", "a"]; 8];
    some[..4].fill(["a"; 5]);
    assert_eq!(
        sandwich(&some),
        Compared::default(),
        "half of them may be chance"
    );
}

/// A round of `prefix`: cached tokens and microseconds of reader, fresh and control.
fn prefix(cached: [Option<u64>; 3], micros: [u64; 3]) -> Compared {
    let roles = [Role::Reader, Role::Fresh, Role::Control];
    let mut results = Vec::new();
    for set in 1..=12 {
        results.push(ProbeResult {
            cached_tokens: cached[1],
            ..answered(Role::Primer, set, 0)
        });
        for (kind, role) in roles.into_iter().enumerate() {
            results.push(ProbeResult {
                cached_tokens: cached[kind],
                ttft: Some(Duration::from_micros(micros[kind] + u64::from(set))),
                ..answered(role, set, 1)
            });
        }
    }
    compare(&results)
}

#[test]
fn more_cached_tokens_than_of_a_new_beginning_are_proof_of_a_shared_cache() {
    let shared = prefix([Some(900), Some(16), Some(900)], [9_000, 9_000, 9_000]);
    assert_eq!((shared.findings.len(), shared.doubts.len()), (1, 0));
    let finding = &shared.findings[0].1;
    assert_eq!(finding.certainty(), "confirmed");
    assert!(matches!(
        finding,
        Finding::SharedPrefixCache {
            cached_tokens: Some(900),
            usual_tokens: Some(16),
            hits: 12,
            readers: 12,
            ..
        }
    ));
    let own = prefix([Some(16), Some(16), Some(900)], [9_000, 9_000, 9_000]);
    assert_eq!(own, Compared::default());
}

#[test]
fn times_tell_where_nothing_is_counted_and_only_with_the_control() {
    let none = [None; 3];
    let shared = prefix(none, [1_000, 9_000, 1_000]);
    assert_eq!(shared.findings[0].1.certainty(), "suspected");
    assert_eq!(prefix(none, [9_000, 9_000, 1_000]), Compared::default());
    let no_cache = prefix(none, [9_000, 9_000, 9_000]);
    assert!(
        no_cache.findings.is_empty() && no_cache.doubts[0].contains("no prefix cache is visible")
    );
    let no_control = prefix(none, [1_000, 9_000, 9_000]);
    assert!(no_control.findings.is_empty() && no_control.doubts.len() == 1);
}

/// A round of `twin`: ids of the twins' responses by tenant, and of two others.
fn twins(ids: [&str; 2], others: [&str; 2]) -> Compared {
    let named = |role, tenant, id: &str, number| ProbeResult {
        number: probe(number),
        document: probe(number),
        response_id: Some(Digest::of(id.as_bytes())),
        ..answered(role, 1, tenant)
    };
    compare(&[
        named(Role::Peer, 0, others[0], 1),
        named(Role::Peer, 1, others[1], 2),
        named(Role::Twin, 0, ids[0], 3),
        named(Role::Twin, 1, ids[1], 4),
    ])
}

#[test]
fn a_response_with_the_id_of_another_tenants_is_its_response() {
    let shared = twins(["x", "x"], ["a", "b"]);
    assert_eq!(
        shared.findings,
        [(3, Finding::SharedResponse { first: probe(3) })]
    );
    assert_eq!(twins(["x", "y"], ["a", "b"]), Compared::default());
}

#[test]
fn ids_that_all_responses_share_name_none() {
    let constant = twins(["x", "x"], ["x", "x"]);
    assert!(constant.findings.is_empty() && constant.doubts.len() == 1);
}

#[test]
fn a_doubt_of_the_comparison_keeps_a_round_from_being_clean() {
    let results = [recalled_by(Role::Peer)];
    let doubts = Compared {
        findings: vec![],
        doubts: vec!["no control".to_owned()],
    };
    let (verdict, _) = judge_round(&results, &doubts, 0.5);
    assert_eq!(verdict.reason(), Some("no control"));
    // Nor does another reason hide it: whoever reads only of recall takes the comparison for good.
    let forgetful = result(
        Role::Peer,
        Outcome::Answered,
        Verdict::Inconclusive(Doubt::NoRecall),
        0,
    );
    let (verdict, _) = judge_round(&[forgetful], &doubts, 0.5);
    let reason = verdict.reason().unwrap();
    assert!(
        reason.contains("recall 0.00") && reason.ends_with("; no control"),
        "{reason}"
    );
}

#[test]
fn a_client_that_left_is_neither_clean_nor_inconclusive() {
    let left = result(
        Role::Leaver,
        Outcome::Cancelled,
        Verdict::Inconclusive(Doubt::Outcome("cancelled")),
        0,
    );
    let (verdict, counts) = judge_round(
        &[left, recalled_by(Role::Victim)],
        &Compared::default(),
        0.5,
    );
    assert_eq!(verdict, RoundVerdict::Clean);
    assert_eq!(
        (counts.probes, counts.cancelled, counts.inconclusive),
        (2, 1, 0)
    );
}

#[test]
fn requests_that_are_sent_again_and_get_a_kept_response_prove_nothing() {
    let sent = |number, document, id: &str| ProbeResult {
        number: probe(number),
        document: probe(document),
        response_id: Some(Digest::of(id.as_bytes())),
        ..recalled_by(Role::Returner)
    };
    let kept = compare(&[sent(1, 1, "a"), sent(2, 1, "a"), sent(3, 3, "b")]);
    assert!(kept.doubts[0].starts_with("1 of 1 requests"), "{kept:?}");
    let computed = compare(&[sent(1, 1, "a"), sent(2, 1, "c"), sent(3, 3, "b")]);
    assert_eq!(computed, Compared::default());
    let constant = compare(&[sent(1, 1, "a"), sent(2, 1, "a"), sent(3, 3, "a")]);
    assert_eq!(constant, Compared::default());
}
