//! What tests of the store record.

use super::ledger::NOW;
use canary_gen::{Form, KeyId, ProbeNumber, Seed, TenantNumber};
use prober::budget::Cost;
use prober::ids::{EndpointId, RoundId};
use prober::incident::Rules;
use prober::scenario::{Order, Recipe};
use prober::store::{Access, EndpointFacts, NewRound, ProbeRecord, Usage};
use time::{Duration, OffsetDateTime};

/// When findings make an incident.
pub(crate) const RULES: Rules = Rules {
    reopen_within: Duration::days(7),
    clean_for: Duration::hours(24),
};

/// An endpoint that nobody sends anything.
pub(crate) fn facts() -> EndpointFacts {
    EndpointFacts {
        name: "glm".to_owned(),
        api: "openai-chat",
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        model: "m".to_owned(),
        context_tokens: 1_000,
        tenants: vec!["acme".to_owned(), "globex".to_owned()],
    }
}

/// What its rounds' schedules depend on.
pub(crate) fn plan() -> Order {
    Order {
        recipe: Recipe::Limits { budget_tokens: 0 },
        seed: Seed::from_number(1),
        tenants: 2,
        context_tokens: 1_000,
        measured_limit: None,
        page_tokens: 64,
        form: Form::Code,
        max_answer_tokens: 16,
    }
}

/// A round at it.
pub(crate) fn new_round(endpoint: EndpointId, key: KeyId, started_at: OffsetDateTime) -> NewRound {
    NewRound {
        endpoint,
        scenario: "crosstalk",
        name: "crosstalk".to_owned(),
        seed: 1,
        plan: serde_json::json!({ "tenants": 2 }),
        replay_of: None,
        key,
        due_at: None,
        started_at,
        lease: None,
    }
}

/// A probe that was answered and proved nothing.
pub(crate) fn judged(tenant: TenantNumber, round: RoundId, probe: ProbeNumber) -> ProbeRecord {
    ProbeRecord {
        probe,
        round,
        own: (tenant, probe),
        finished_at: NOW,
        outcome: "answered".into(),
        status: Some(200),
        finish_reason: None,
        usage: Usage::default(),
        response_bytes: 100,
        ttft_ms: None,
        duration_ms: 10,
        own_canaries: 0,
        verdict: "inconclusive".into(),
        reason: Some("no_recall".into()),
        seen: Vec::new(),
        cost: Cost::default(),
        findings: Vec::new(),
        evidence: None,
    }
}

/// Somebody who reads evidence, with a reason.
pub(crate) fn access(reason: &str, at: OffsetDateTime) -> Access {
    Access {
        who: "Ada".to_owned(),
        login: "ada at lab".to_owned(),
        reason: reason.to_owned(),
        at,
    }
}
