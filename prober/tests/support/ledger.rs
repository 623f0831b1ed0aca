//! Findings that are recorded without anything having been sent.

use super::TestDatabase;
use super::records::{RULES, facts, judged, new_round, plan};
use canary_gen::{KeyId, KeyRing, ProbeNumber, Seed, Slot, TenantNumber};
use prober::ids::{IncidentId, RoundId};
use prober::incident::{Act, Refusal, State};
use prober::judge::{Finding, RoundCounts, RoundVerdict, SeenIn};
use prober::scenario::{PlannedProbe, Role};
use prober::store::{
    By, EndpointFacts, FindingRecord, IncidentRecord, NewProbe, NewRound, ProbeRecord,
    RegisteredEndpoint, Relation, RoundEnd, Store,
};
use time::OffsetDateTime;
use time::macros::datetime;

/// When whatever does not matter happens.
pub(crate) const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

pub(crate) fn key() -> KeyId {
    KeyRing::from_root(&[1; 32]).minting().id()
}

/// A leak of a stranger's canary to a prompt over the limit.
pub(crate) fn leak() -> FindingRecord {
    let finding = Finding::Leak {
        donor_tenant: TenantNumber::new(1).unwrap(),
        donor_probe: ProbeNumber::new(1).unwrap(),
        key: key(),
        slots: vec![Slot::new(3).unwrap()],
        seen_in: SeenIn::Text,
        is_over_limit: true,
    };
    FindingRecord {
        relation: Some(Relation::OtherTenant),
        ..finding.into()
    }
}

pub(crate) fn violation() -> FindingRecord {
    let finding = Finding::LimitViolation {
        limit: 1_000,
        prompt_tokens: 1_200,
    };
    finding.into()
}

pub(crate) fn anomaly(reported: u64) -> FindingRecord {
    let finding = Finding::UsageAnomaly {
        estimated: 1_000,
        reported,
    };
    finding.into()
}

pub(crate) fn by(who: &str, at: OffsetDateTime) -> By {
    By {
        who: who.to_owned(),
        note: None,
        at,
    }
}

/// A store that knows an endpoint.
pub(crate) struct Ledger {
    pub(crate) store: Store,
    pub(crate) endpoint: RegisteredEndpoint,
}

impl Ledger {
    pub(crate) async fn open(database: &TestDatabase) -> Self {
        Self::at(database, "glm").await
    }

    pub(crate) async fn at(database: &TestDatabase, endpoint: &str) -> Self {
        let store = Store::open(&database.location()).await.unwrap();
        let facts = EndpointFacts {
            name: endpoint.to_owned(),
            ..facts()
        };
        let endpoint = store.register_endpoint(&facts, NOW).await.unwrap();
        store.register_key(key(), NOW).await.unwrap();
        Self { store, endpoint }
    }

    /// Begins a round of a scenario, with a probe.
    pub(crate) async fn begin(&self, scenario: &str, at: OffsetDateTime) -> (RoundId, ProbeNumber) {
        let round = NewRound {
            name: scenario.to_owned(),
            ..new_round(self.endpoint.id, key(), at)
        };
        let round = self.store.begin_round(&round).await.unwrap();
        let probe = NewProbe {
            tenant: self.endpoint.tenants[0].id,
            step: 0,
            planned: PlannedProbe::new(&plan(), 0, Role::Peer, 300, Seed::from_number(1)),
        };
        let probes = self.store.plan_probes(round, &[probe], at).await.unwrap();
        (round, probes[0])
    }

    pub(crate) async fn end(
        &self,
        (round, probe): (RoundId, ProbeNumber),
        verdict: RoundVerdict,
        findings: Vec<FindingRecord>,
        at: OffsetDateTime,
    ) -> Vec<IncidentId> {
        let record = ProbeRecord {
            finished_at: at,
            findings,
            ..judged(self.endpoint.tenants[0].number, round, probe)
        };
        let end = RoundEnd {
            round,
            verdict,
            counts: RoundCounts::default(),
            findings: Vec::new(),
            evidence: Vec::new(),
            finished_at: at,
        };
        let incidents = self.store.record_probe(&record, &RULES).await.unwrap();
        self.store.finish_round(&end, &RULES).await.unwrap();
        incidents
    }

    /// A round that begins and finds these at a moment.
    pub(crate) async fn find(
        &self,
        findings: Vec<FindingRecord>,
        at: OffsetDateTime,
    ) -> Vec<IncidentId> {
        let round = self.begin("crosstalk", at).await;
        self.end(round, RoundVerdict::Finding, findings, at).await
    }

    /// A clean round of a scenario.
    pub(crate) async fn clean(&self, scenario: &str, at: OffsetDateTime) {
        let round = self.begin(scenario, at).await;
        self.end(round, RoundVerdict::Clean, vec![], at).await;
    }

    pub(crate) async fn incident(&self, id: IncidentId) -> IncidentRecord {
        self.store.incident(id).await.unwrap().unwrap()
    }

    pub(crate) async fn change(&self, id: IncidentId, act: Act, by: &By) -> Result<State, Refusal> {
        let changed = self.store.change_incident(id, act, by).await;
        changed.unwrap().unwrap()
    }

    /// What became of an incident, and who did it.
    pub(crate) async fn story(&self, id: IncidentId) -> Vec<(String, Option<String>)> {
        let events = self.store.incident_events(id).await.unwrap();
        let story = events.into_iter().map(|event| (event.what, event.who));
        story.collect()
    }
}
