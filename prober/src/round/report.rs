//! What a round tells: the object that `prober once --format json` prints (docs/once.md).

use crate::judge::{Finding, RoundCounts, RoundVerdict};
use crate::store::{FindingRecord, Relation};
use canary_gen::ProbeNumber;
use serde::Serialize;
use time::OffsetDateTime;

/// The result of one round.
#[derive(Clone, Debug, Serialize)]
pub struct RoundReport {
    /// Id of the round in the store.
    pub round: i64,
    /// Name of the endpoint.
    pub endpoint: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Reproduces the schedule.
    pub seed: u64,
    /// `leak`, `finding`, `clean` or `inconclusive`.
    pub verdict: &'static str,
    /// Why it is inconclusive.
    pub reason: Option<String>,
    /// Probes judged, calibration left out.
    pub probes: u32,
    /// Probes whose response held a foreign canary.
    pub leaks: u32,
    /// Probes that were clean by recall or refusal.
    pub clean: u32,
    /// Probes refused as too long: the right answer to an over-long prompt.
    pub rejected: u32,
    /// Probes that proved nothing.
    pub inconclusive: u32,
    /// Own-canary recall over the probes that answered; `null` when none did.
    pub sensitivity: Option<f64>,
    /// The advertised context window, in tokens.
    pub context_tokens: u64,
    /// The limit the endpoint named when it refused a prompt, in tokens.
    pub measured_limit_tokens: Option<u64>,
    /// How lengths were measured: `usage` (estimated from what answers report), `endpoint` (counted with
    /// its `/tokenize`) or `file` (with a tokenizer file).
    pub lengths_by: &'static str,
    /// How far the worst prompt that was answered was off its wanted length, as a share of it, by the
    /// endpoint's own count; `null` when no answer told any.
    pub length_error: Option<f64>,
    /// From the first request to the last verdict, in milliseconds.
    pub duration_ms: u64,
    /// Whether everything is in the store.
    pub recorded: bool,
    /// What was found, in the order it was proven.
    pub findings: Vec<FindingReport>,
}

impl RoundReport {
    /// Takes over the verdict and its numbers.
    pub(super) fn set_verdict(&mut self, verdict: &RoundVerdict, counts: &RoundCounts) {
        self.verdict = verdict.as_str();
        self.reason = verdict.reason().map(str::to_owned);
        self.probes = counts.probes;
        self.leaks = counts.leaks;
        self.clean = counts.clean;
        self.rejected = counts.rejected;
        self.inconclusive = counts.inconclusive;
        self.sensitivity = counts.sensitivity();
    }
}

/// One finding. Holds no response text and no canary.
#[derive(Clone, Debug, Serialize)]
pub struct FindingReport {
    /// `leak` or `limit_violation`.
    pub kind: &'static str,
    /// `confirmed`.
    pub certainty: &'static str,
    /// The probe whose response proves it.
    pub probe: u64,
    /// Whose probe that was.
    pub tenant: String,
    /// Length of that prompt, in tokens: as reported, or by the estimate.
    pub prompt_tokens: u64,
    /// When it was proven.
    #[serde(with = "time::serde::rfc3339")]
    pub found_at: OffsetDateTime,
    /// For a leak: whose canaries came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub donor: Option<DonorReport>,
    /// For a limit violation: the advertised limit, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_tokens: Option<u64>,
}

/// Whose canaries came out, and from which part of the context.
#[derive(Clone, Debug, Serialize)]
pub struct DonorReport {
    /// `other_tenant`, `same_tenant` or `unknown`.
    pub relation: &'static str,
    /// The donor's name; `null` if this store does not know it.
    pub tenant: Option<String>,
    /// The endpoint the canaries were planted at.
    pub endpoint: Option<String>,
    /// The probe that planted them.
    pub probe: u64,
    /// When that was sent.
    #[serde(with = "time::serde::rfc3339::option")]
    pub planted_at: Option<OffsetDateTime>,
    /// The slots that leaked.
    pub slots: Vec<u64>,
    /// Estimated tokens of the donor's context at which the first and the last leaked slot begin.
    pub tokens: Option<(u64, u64)>,
    /// The same in pages of the endpoint's `page_tokens`, counted from 0.
    pub pages: Option<(u64, u64)>,
}

/// Who received it, for the report of a finding.
pub(super) struct Receiver<'a> {
    pub(super) probe: ProbeNumber,
    pub(super) tenant: &'a str,
    pub(super) prompt_tokens: u64,
    pub(super) found_at: OffsetDateTime,
    pub(super) page_tokens: u32,
}

pub(super) fn finding(record: &FindingRecord, receiver: &Receiver<'_>) -> FindingReport {
    let mut report = FindingReport {
        kind: record.finding.kind(),
        certainty: "confirmed",
        probe: receiver.probe.get(),
        tenant: receiver.tenant.to_owned(),
        prompt_tokens: receiver.prompt_tokens,
        found_at: receiver.found_at,
        donor: None,
        limit_tokens: None,
    };
    match &record.finding {
        Finding::Leak {
            donor_probe, slots, ..
        } => {
            let page = u64::from(receiver.page_tokens.max(1));
            let donor = record.donor.as_ref();
            report.donor = Some(DonorReport {
                relation: record.relation.unwrap_or(Relation::Unknown).as_str(),
                tenant: donor.map(|donor| donor.tenant_name.clone()),
                endpoint: donor.map(|donor| donor.endpoint_name.clone()),
                probe: donor_probe.get(),
                planted_at: donor.and_then(|donor| donor.planted_at),
                slots: slots.iter().map(|slot| slot.get()).collect(),
                tokens: record.tokens,
                pages: record
                    .tokens
                    .map(|(first, last)| (first / page, last / page)),
            });
        }
        Finding::LimitViolation { limit, .. } => report.limit_tokens = Some(*limit),
    }
    report
}
