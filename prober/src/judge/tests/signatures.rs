//! What findings have in common that one defect makes.

use super::*;

/// The signature of a leak to a prompt of so many tokens at an endpoint whose refusals named a limit.
fn leak(tokens: u64, measured_limit: Option<u64>, found: &[Seen]) -> String {
    let (_, findings) = judge(&Case {
        tenant: tenant(1),
        probe: probe(7),
        role: Role::Peer,
        asked: &[],
        slots: 10,
        context_tokens: LIMIT,
        measured_limit,
        estimated_tokens: tokens,
        // The founding defect reports one token.
        exchange: &exchange(Outcome::Answered, 1),
        seen: found,
    });
    findings[0].signature(Some("other_tenant"))
}

#[test]
fn a_leak_says_whether_its_prompt_was_over_the_measured_or_else_the_advertised_limit() {
    let found = [seen(2, 5, 9, true)];
    for (tokens, measured, length) in [
        (LIMIT, None, "within_limit"),
        (LIMIT + LIMIT / 10, None, "over_limit"),
        (LIMIT, Some(LIMIT / 2), "over_limit"),
        (LIMIT / 2, Some(LIMIT / 2), "within_limit"),
    ] {
        assert_eq!(
            leak(tokens, measured, &found),
            format!("other_tenant/{length}/text"),
            "{tokens} {measured:?}"
        );
    }
}

#[test]
fn a_leak_says_where_it_stood_and_nothing_that_is_chance() {
    let at = |place: &str, in_answer| Seen {
        place: place.to_owned(),
        ..seen(2, 5, 9, in_answer)
    };
    for (place, in_answer, name) in [
        ("choices[0].message.content", true, "text"),
        ("choices[0].delta.reasoning_content", true, "reasoning"),
        (
            "choices[0].delta.tool_calls[0].function.arguments",
            true,
            "tool_call",
        ),
        ("header x-request-id", false, "header"),
        ("header names", false, "header"),
        ("trailer grpc-message", false, "header"),
        ("error.message", false, "elsewhere"),
        ("raw body", false, "elsewhere"),
    ] {
        let signature = leak(500, None, &[at(place, in_answer)]);
        assert_eq!(signature, format!("other_tenant/within_limit/{name}"));
    }
    // Another donor, other slots, more of them, and an echo in a header beside the answer.
    let many = [
        at("header x-echo", false),
        seen(2, 5, 3, true),
        seen(2, 5, 4, true),
    ];
    let one = [seen(9, 8, 1, true)];
    assert_eq!(leak(500, None, &many), leak(500, None, &one));
}

#[test]
fn every_finding_has_a_signature_that_the_database_takes() {
    let anomaly = |reported| Finding::UsageAnomaly {
        estimated: 500,
        reported,
    };
    let prefix = |cached_tokens| Finding::SharedPrefixCache {
        cached_tokens,
        usual_tokens: None,
        readers: 8,
        hits: 8,
        chance: 1e-9,
    };
    let divergence = |beside| Finding::Divergence {
        beside,
        differing: 8,
        differing_alone: 0,
        sets: 8,
        chance: 1e-9,
    };
    let violation = Finding::LimitViolation {
        limit: 1,
        prompt_tokens: 2,
    };
    let truncation = Finding::Truncation {
        estimated: 500,
        reported: 100,
    };
    let shared = Finding::SharedResponse { first: probe(1) };
    for (finding, signature) in [
        (violation, "answered"),
        (anomaly(1), "fewer"),
        (anomaly(5_000), "more"),
        (truncation, "fewer"),
        (prefix(Some(64)), "counted"),
        (prefix(None), "faster"),
        (shared, "same_id"),
        (divergence(true), "beside"),
        (divergence(false), "after"),
    ] {
        assert_eq!(finding.signature(None), signature);
    }
}
