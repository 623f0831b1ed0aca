#![allow(clippy::unwrap_used)]

use super::*;
use crate::endpoint::{self, Usage};
use canary_gen::scan::{self, Views};
use canary_gen::{Form, Identity, KeyRing};
use std::time::Duration;

const LIMIT: u64 = 10_000;

fn tenant(number: u64) -> TenantNumber {
    TenantNumber::new(number).unwrap()
}

fn probe(number: u64) -> ProbeNumber {
    ProbeNumber::new(number).unwrap()
}

fn seen(donor_tenant: u64, donor_probe: u64, slot: u64, in_answer: bool) -> Seen {
    Seen {
        sighting: Sighting {
            identity: Identity {
                tenant: tenant(donor_tenant),
                probe: probe(donor_probe),
                slot: Slot::new(slot).unwrap(),
            },
            key: KeyRing::from_root(&[1; 32]).minting().id(),
            form: Form::Code,
            proof: scan::Proof::Exact,
            weight_bits: 64,
            views: Views::default(),
            offset: 5,
            length: 30,
        },
        place: "choices[0].message.content".to_owned(),
        in_answer,
        occurrences: 1,
    }
}

fn exchange(outcome: Outcome, prompt_tokens: u64) -> Exchange {
    Exchange {
        outcome,
        status: Some(200),
        usage: Some(Usage {
            prompt_tokens,
            completion_tokens: 9,
            cached_tokens: None,
            reasoning_tokens: None,
        }),
        duration: Duration::from_millis(5),
        ..endpoint::Exchange::default()
    }
}

/// Judges a response to probe 7 of tenant 1.
fn verdict_on(outcome: Outcome, prompt_tokens: u64, seen: &[Seen]) -> (Verdict, Vec<Finding>) {
    judge(&Case {
        tenant: tenant(1),
        probe: probe(7),
        role: Role::Peer,
        asked: &[Slot::new(3).unwrap()],
        slots: 10,
        context_tokens: LIMIT,
        measured_limit: None,
        estimated_tokens: prompt_tokens,
        exchange: &exchange(outcome, prompt_tokens),
        seen,
    })
}

#[test]
fn an_own_canary_in_the_answer_proves_a_clean_response() {
    let (verdict, findings) = verdict_on(Outcome::Answered, 500, &[seen(1, 7, 3, true)]);
    assert_eq!((verdict, findings), (Verdict::Clean(Proof::Recall), vec![]));
}

#[test]
fn silence_is_inconclusive_and_so_is_an_echo_outside_the_answer() {
    for found in [vec![], vec![seen(1, 7, 3, false)]] {
        let (verdict, _) = verdict_on(Outcome::Answered, 500, &found);
        assert_eq!(verdict, Verdict::Inconclusive(Doubt::NoRecall));
    }
}

#[test]
fn an_answer_to_less_than_half_of_the_prompt_proves_nothing_even_with_an_own_canary() {
    let judged = |reported: u64, outcome: Outcome| {
        let case = Case {
            tenant: tenant(1),
            probe: probe(7),
            role: Role::Peer,
            asked: &[Slot::new(3).unwrap()],
            slots: 10,
            context_tokens: LIMIT,
            measured_limit: None,
            estimated_tokens: 5_000,
            exchange: &exchange(outcome, reported),
            seen: &[seen(1, 7, 3, true)],
        };
        judge(&case).0
    };
    assert_eq!(
        judged(2_048, Outcome::Answered),
        Verdict::Inconclusive(Doubt::Truncated)
    );
    assert_eq!(
        judged(4_900, Outcome::Answered),
        Verdict::Clean(Proof::Recall)
    );
    assert_eq!(
        judged(4_900, Outcome::Truncated).reason(),
        Some("truncated")
    );
}

#[test]
fn a_foreign_canary_is_a_leak_wherever_it_stands_and_whatever_the_outcome() {
    let rejected = Outcome::RejectedTooLong {
        limit: None,
        prompt_tokens: None,
    };
    for outcome in [Outcome::Answered, rejected, Outcome::ServerError(500)] {
        for in_answer in [true, false] {
            let found = [
                seen(1, 7, 3, true),
                seen(2, 5, 9, in_answer),
                seen(2, 5, 4, in_answer),
            ];
            let (verdict, findings) = verdict_on(outcome.clone(), 500, &found);
            assert_eq!(verdict, Verdict::Leak);
            // Both are said to stand at the same place: in the order in which they were seen.
            let slots = vec![Slot::new(9).unwrap(), Slot::new(4).unwrap()];
            assert_eq!(
                findings,
                [Finding::Leak {
                    donor_tenant: tenant(2),
                    donor_probe: probe(5),
                    key: KeyRing::from_root(&[1; 32]).minting().id(),
                    slots,
                    seen_in: if in_answer {
                        SeenIn::Text
                    } else {
                        SeenIn::Elsewhere
                    },
                    is_over_limit: false,
                }]
            );
        }
    }
}

#[test]
fn canaries_of_two_donors_are_two_findings_and_another_request_of_the_same_tenant_is_a_donor() {
    let (verdict, findings) = verdict_on(
        Outcome::Answered,
        500,
        &[seen(2, 5, 9, true), seen(1, 6, 2, true)],
    );
    assert_eq!(verdict, Verdict::Leak);
    assert_eq!(findings.len(), 2);
}

#[test]
fn a_refusal_as_too_long_is_clean_and_every_other_failure_is_inconclusive_with_its_code() {
    let rejected = Outcome::RejectedTooLong {
        limit: Some(LIMIT),
        prompt_tokens: None,
    };
    assert_eq!(
        verdict_on(rejected, 20_000, &[]).0,
        Verdict::Clean(Proof::Rejected)
    );
    let (verdict, _) = verdict_on(Outcome::ServerError(500), 500, &[]);
    assert_eq!(verdict.as_str(), "inconclusive");
    assert_eq!(verdict.reason(), Some(Outcome::ServerError(500).as_str()));
}

#[test]
fn an_answer_over_the_limit_is_a_violation_by_report_or_by_estimate() {
    let own = [seen(1, 7, 3, true)];
    let violation = |prompt_tokens| Finding::LimitViolation {
        limit: LIMIT,
        prompt_tokens,
    };
    assert_eq!(
        verdict_on(Outcome::Answered, LIMIT + 1, &own).1,
        [violation(LIMIT + 1)]
    );
    assert_eq!(verdict_on(Outcome::Answered, LIMIT, &own).1, []);
    // The engine reports one token for a prompt far over the limit, a known defect.
    let (_, findings) = judge(&Case {
        tenant: tenant(1),
        probe: probe(7),
        role: Role::Overlong,
        asked: &[Slot::new(3).unwrap()],
        slots: 10,
        context_tokens: LIMIT,
        measured_limit: None,
        estimated_tokens: 12_000,
        exchange: &exchange(Outcome::Answered, 1),
        seen: &own,
    });
    let anomaly = Finding::UsageAnomaly {
        estimated: 12_000,
        reported: 1,
    };
    assert_eq!(findings, [violation(12_000), anomaly]);
}

fn result(role: Role, outcome: Outcome, verdict: Verdict, own_canaries: u32) -> ProbeResult {
    ProbeResult {
        number: probe(1),
        document: probe(1),
        tenant: 0,
        role,
        set: 0,
        asked: true,
        depths: vec![],
        answer: None,
        response_id: None,
        cached_tokens: None,
        ttft: None,
        prompt_tokens: 500,
        outcome,
        verdict,
        own_canaries,
        findings: vec![],
    }
}

fn recalled_by(role: Role) -> ProbeResult {
    result(role, Outcome::Answered, Verdict::Clean(Proof::Recall), 1)
}

fn silent(role: Role) -> ProbeResult {
    result(
        role,
        Outcome::Answered,
        Verdict::Inconclusive(Doubt::NoRecall),
        0,
    )
}

fn refused(role: Role) -> ProbeResult {
    let outcome = Outcome::RejectedTooLong {
        limit: None,
        prompt_tokens: None,
    };
    result(role, outcome, Verdict::Clean(Proof::Rejected), 0)
}

fn failed(role: Role) -> ProbeResult {
    let outcome = Outcome::ServerError(502);
    let doubt = Doubt::Outcome(outcome.as_str());
    result(role, outcome, Verdict::Inconclusive(doubt), 0)
}

#[test]
fn a_round_is_clean_only_with_enough_recall() {
    let enough = [
        recalled_by(Role::Peer),
        recalled_by(Role::Peer),
        silent(Role::Peer),
    ];
    let (verdict, counts) = judge_round(&enough, &Compared::default(), 0.5);
    assert_eq!(verdict, RoundVerdict::Clean);
    assert_eq!(
        (
            counts.probes,
            counts.asked,
            counts.recalled,
            counts.inconclusive
        ),
        (3, 3, 2, 1)
    );
    let (verdict, _) = judge_round(&enough, &Compared::default(), 0.7);
    assert_eq!(
        verdict.reason(),
        Some("own-canary recall 0.67 is below the required 0.70")
    );
}

#[test]
fn refusals_alone_and_failures_alone_and_nothing_at_all_prove_nothing() {
    let nobody = |results: &[ProbeResult]| {
        judge_round(results, &Compared::default(), 0.5)
            .0
            .reason()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        nobody(&[refused(Role::Victim)]),
        "no probe was answered (mostly rejected_too_long)"
    );
    assert!(nobody(&[failed(Role::Peer)]).starts_with("no probe was answered"));
    assert_eq!(nobody(&[]), "no probe was sent");
    let calibration = result(
        Role::Calibration,
        Outcome::Answered,
        Verdict::Inconclusive(Doubt::Calibration),
        1,
    );
    assert!(nobody(&[calibration]).starts_with("no probe was answered"));
}

#[test]
fn a_round_whose_over_long_probes_all_failed_is_not_clean_however_good_the_rest() {
    let results = [
        recalled_by(Role::Donor),
        recalled_by(Role::Victim),
        recalled_by(Role::Victim),
        failed(Role::Overlong),
        failed(Role::Overlong),
    ];
    let (verdict, _) = judge_round(&results, &Compared::default(), 0.5);
    assert_eq!(
        verdict.reason(),
        Some("only 0 of 2 overlong probes were conclusive")
    );
    let mut refusing = results;
    refusing[3] = refused(Role::Overlong);
    refusing[4] = refused(Role::Overlong);
    assert_eq!(
        judge_round(&refusing, &Compared::default(), 0.5).0,
        RoundVerdict::Clean
    );
}

#[test]
fn a_leak_even_in_an_answer_to_a_calibration_request_makes_the_round_a_leak() {
    let mut leaking = result(Role::Calibration, Outcome::Answered, Verdict::Leak, 0);
    leaking.findings.push(Finding::Leak {
        donor_tenant: tenant(2),
        donor_probe: probe(3),
        key: KeyRing::from_root(&[1; 32]).minting().id(),
        slots: vec![Slot::new(0).unwrap()],
        seen_in: SeenIn::Text,
        is_over_limit: false,
    });
    let (verdict, counts) = judge_round(
        &[leaking, recalled_by(Role::Peer)],
        &Compared::default(),
        0.5,
    );
    assert_eq!(
        (verdict, counts.leaks, counts.probes),
        (RoundVerdict::Leak, 1, 1)
    );
}

#[test]
fn a_limit_violation_without_a_leak_is_a_finding() {
    let mut violating = recalled_by(Role::Overlong);
    violating.findings.push(Finding::LimitViolation {
        limit: 1,
        prompt_tokens: 2,
    });
    assert_eq!(
        judge_round(&[violating], &Compared::default(), 0.5).0,
        RoundVerdict::Finding
    );
}

mod signatures;
mod together;

/// Judges an answer to a prompt of 5,000 tokens of which the endpoint reports so many, and which gave back
/// the canary of this slot of 10.
fn counted(reported: u64, slot: u64) -> Vec<Finding> {
    judge(&Case {
        tenant: tenant(1),
        probe: probe(7),
        role: Role::Victim,
        asked: &[Slot::new(slot).unwrap()],
        slots: 10,
        context_tokens: LIMIT,
        measured_limit: None,
        estimated_tokens: 5_000,
        exchange: &exchange(Outcome::Answered, reported),
        seen: &[seen(1, 7, slot, true)],
    })
    .1
}

#[test]
fn a_count_far_off_is_an_anomaly_if_all_was_read_and_else_a_truncation() {
    let (estimated, anomaly) = (5_000, "usage_anomaly");
    let kinds = |reported, slot| -> Vec<&str> {
        counted(reported, slot).iter().map(Finding::kind).collect()
    };
    assert_eq!(kinds(1, 3), [anomaly]);
    assert_eq!(kinds(9_000, 3), [anomaly]);
    assert_eq!(kinds(3_000, 0), [anomaly], "its head was read");
    assert_eq!(kinds(3_000, 9), ["truncation"]);
    for fine in [4_600, 5_000, 7_400] {
        assert_eq!(counted(fine, 9), []);
    }
    assert_eq!(
        counted(3_000, 9),
        [Finding::Truncation {
            estimated,
            reported: 3_000
        }]
    );
}
