//! What a round tells: the object that `prober once --format json` prints (docs/once.md).

use crate::bounds::{self, Confidence, Sensitivity, Tally};
use crate::ids::IncidentId;
use crate::judge::{Finding, RoundCounts, RoundVerdict};
use crate::store::{DonorRecord, FindingRecord, History, Part, Relation};
use canary_gen::{ProbeNumber, Slot};
use serde::Serialize;
use time::OffsetDateTime;

/// How sure bounds on rates are.
const CONFIDENCE: f64 = 0.95;

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
    /// The round whose schedule it repeated.
    pub replay_of: Option<i64>,
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
    /// Probes whose client went away, as planned.
    pub cancelled: u32,
    /// Probes that proved nothing.
    pub inconclusive: u32,
    /// Own-canary recall over the probes that answered; `null` when none did.
    pub sensitivity: Option<f64>,
    /// Of the canaries asked for in each tenth of the prompt, from its beginning: how many came back, and how
    /// many were asked for.
    pub sensitivity_by_depth: Vec<(u64, u64)>,
    /// The upper bound on the rate of leaks that follows from this round alone (Clopper and Pearson, 95 %),
    /// divided by the least sensitivity; `null` when no response could have told.
    pub leak_rate_at_most: Option<f64>,
    /// All rounds of this scenario at this endpoint together, this one included.
    pub history: Option<HistoryReport>,
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
    /// Tokens of all prompts that were sent, calibration included: as reported, or by the estimate.
    pub prompt_tokens: u64,
    /// Tokens of all answers, as far as they were reported.
    pub completion_tokens: u64,
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
        self.cancelled = counts.cancelled;
        self.sensitivity = counts.sensitivity();
        let parts = counts.by_depth.parts().iter();
        self.sensitivity_by_depth = parts.map(|part| (part.repeated(), part.asked())).collect();
        self.leak_rate_at_most = at_most(counts.responses(), counts.recall());
    }
}

/// What all rounds of a scenario at an endpoint prove together.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryReport {
    /// How many there were.
    pub rounds: u64,
    /// Responses that could have told of a leak.
    pub responses: u64,
    /// Those that did.
    pub leaks: u64,
    /// The upper bound on the rate of leaks, 95 %, divided by the least sensitivity. It holds however often one
    /// looks (a confidence sequence); `null` when no response could have told.
    pub leak_rate_at_most: Option<f64>,
}

impl From<History> for HistoryReport {
    fn from(history: History) -> Self {
        let tally = |hits, trials| Tally::new(hits, trials).unwrap_or_default();
        let responses = tally(history.leaks, history.responses);
        let recall = tally(history.recalled, history.asked);
        let each = confidence().for_each_of_two();
        let least = bounds::anytime(recall, each).lower;
        let upper = bounds::anytime_upper(responses, each);
        Self {
            rounds: history.rounds,
            responses: history.responses,
            leaks: history.leaks,
            leak_rate_at_most: (history.responses > 0)
                .then(|| bounds::corrected(upper, least).get()),
        }
    }
}

fn at_most(responses: Tally, recall: Sensitivity) -> Option<f64> {
    let each = confidence().for_each_of_two();
    let upper = bounds::upper_bound(responses, each);
    (responses.trials() > 0).then(|| bounds::corrected(upper, recall.lower(each)).get())
}

fn confidence() -> Confidence {
    Confidence::new(CONFIDENCE).expect("0.95 is a confidence")
}

/// One finding. Holds no response text and no canary.
#[derive(Clone, Debug, Serialize)]
pub struct FindingReport {
    /// `leak`, `limit_violation`, `usage_anomaly`, `truncation`, `shared_prefix_cache`, `shared_response` or
    /// `divergence`.
    pub kind: &'static str,
    /// What it shows of the mechanism: findings of one endpoint, kind and signature are one incident.
    pub signature: String,
    /// `confirmed` or `suspected`.
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
    /// Whether the response that proves it is kept, sealed (docs/evidence.md).
    pub evidence: bool,
    /// The incident that it belongs to (docs/incidents.md); `null` if the database did not tell.
    pub incident: Option<i64>,
    /// For a leak: whose canaries came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub donor: Option<DonorReport>,
    /// For a limit violation: the advertised limit, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_tokens: Option<u64>,
    /// For a usage anomaly or a truncation: the length the endpoint reported, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_tokens: Option<u64>,
    /// For a shared prefix cache: what shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<PrefixReport>,
    /// For a shared response: the probe of another tenant that had got it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_probe: Option<u64>,
    /// For a divergence: how often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<DivergenceReport>,
}

/// What shows that a prefix cache is shared.
#[derive(Clone, Debug, Serialize)]
pub struct PrefixReport {
    /// The most tokens the endpoint counted as cached of a beginning only another tenant had sent.
    pub cached_tokens: Option<u64>,
    /// As many of a beginning that nobody had sent.
    pub usual_tokens: Option<u64>,
    /// Requests with another tenant's beginning.
    pub readers: u64,
    /// Those with more cached tokens than usual.
    pub hits: u64,
    /// How likely such times to the first token are without a shared cache.
    pub chance: f64,
}

/// How often equal requests had different answers.
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceReport {
    /// Beside strangers' requests; else after one.
    pub beside: bool,
    /// In so many sets.
    pub differing: u64,
    /// Without a stranger, in so many.
    pub differing_alone: u64,
    /// Of so many.
    pub sets: u64,
    /// How likely that is if strangers make no difference.
    pub chance: f64,
}

/// Whose canaries came out, and from which part of the context.
#[derive(Clone, Debug, Serialize)]
pub struct DonorReport {
    /// `other_tenant`, `same_tenant`, `other_endpoint`, `retired_key` or `unknown`.
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
    /// How long before the proof that was, in milliseconds.
    pub age_ms: Option<u64>,
    /// Length of the donor's prompt, in tokens.
    pub context_tokens: Option<u64>,
    /// The slots that leaked, in the order in which they came out.
    pub slots: Vec<u64>,
    /// Estimated tokens of the donor's context at which the first and the last leaked slot begin.
    pub tokens: Option<(u64, u64)>,
    /// The same in pages of the endpoint's `page_tokens`, counted from 0.
    pub pages: Option<(u64, u64)>,
    /// The leak map: parts of the donor's context in the order in which they came out.
    pub map: Vec<PartReport>,
}

/// A part of a donor's context that came out in one go; first and last of each, both included.
#[derive(Clone, Debug, Serialize)]
pub struct PartReport {
    /// Slots.
    pub slots: (u64, u64),
    /// Estimated tokens at which these begin.
    pub tokens: Option<(u64, u64)>,
    /// The same in pages, counted from 0.
    pub pages: Option<(u64, u64)>,
}

/// Who received it, for the report of a finding.
pub(super) struct Receiver<'a> {
    pub(super) probe: ProbeNumber,
    pub(super) tenant: &'a str,
    pub(super) prompt_tokens: u64,
    pub(super) found_at: OffsetDateTime,
    pub(super) page_tokens: u32,
    /// Whether the response is kept.
    pub(super) is_kept: bool,
}

pub(super) fn finding(record: &FindingRecord, receiver: &Receiver<'_>) -> FindingReport {
    let mut report = FindingReport {
        kind: record.finding.kind(),
        signature: (record.finding).signature(record.relation.map(Relation::as_str)),
        certainty: record.finding.certainty(),
        probe: receiver.probe.get(),
        tenant: receiver.tenant.to_owned(),
        prompt_tokens: receiver.prompt_tokens,
        found_at: receiver.found_at,
        evidence: receiver.is_kept,
        incident: None,
        donor: None,
        limit_tokens: None,
        reported_tokens: None,
        prefix: None,
        first_probe: None,
        divergence: None,
    };
    match record.finding {
        Finding::Leak {
            donor_probe,
            ref slots,
            ..
        } => report.donor = Some(donor(record, receiver, donor_probe, slots)),
        Finding::LimitViolation { limit, .. } => report.limit_tokens = Some(limit),
        Finding::UsageAnomaly {
            estimated,
            reported,
        }
        | Finding::Truncation {
            estimated,
            reported,
        } => {
            report.prompt_tokens = estimated;
            report.reported_tokens = Some(reported);
        }
        Finding::SharedPrefixCache {
            cached_tokens,
            usual_tokens,
            readers,
            hits,
            chance,
        } => {
            report.prefix = Some(PrefixReport {
                cached_tokens,
                usual_tokens,
                readers,
                hits,
                chance,
            });
        }
        Finding::SharedResponse { first } => report.first_probe = Some(first.get()),
        Finding::Divergence {
            beside,
            differing,
            differing_alone,
            sets,
            chance,
        } => {
            report.divergence = Some(DivergenceReport {
                beside,
                differing,
                differing_alone,
                sets,
                chance,
            });
        }
    }
    report
}

/// Names the incidents of findings, in their order.
pub(super) fn name_incidents(findings: &mut [FindingReport], incidents: &[IncidentId]) {
    for (finding, incident) in findings.iter_mut().zip(incidents) {
        finding.incident = Some(incident.get());
    }
}

fn donor(
    record: &FindingRecord,
    receiver: &Receiver<'_>,
    probe: ProbeNumber,
    slots: &[Slot],
) -> DonorReport {
    let page = u64::from(receiver.page_tokens.max(1));
    let pages =
        |tokens: Option<(u64, u64)>| tokens.map(|(first, last)| (first / page, last / page));
    let donor = record.donor.as_ref();
    let planted_at = donor.and_then(|donor| donor.planted_at);
    let age = planted_at.map(|planted| receiver.found_at - planted);
    let part = |part: &Part| PartReport {
        slots: (part.slots.0.get(), part.slots.1.get()),
        tokens: part.tokens,
        pages: pages(part.tokens),
    };
    let known = || record.map.iter().filter_map(|part| part.tokens);
    let first = known().map(|(first, _)| first).min();
    let tokens = first.zip(known().map(|(_, last)| last).max());
    let document = |donor: &DonorRecord| donor.document;
    DonorReport {
        relation: record.relation.unwrap_or(Relation::Unknown).as_str(),
        tenant: donor.map(|donor| donor.tenant_name.clone()),
        endpoint: donor.map(|donor| donor.endpoint_name.clone()),
        probe: probe.get(),
        planted_at,
        age_ms: age.and_then(|age| u64::try_from(age.whole_milliseconds()).ok()),
        context_tokens: donor.and_then(document).map(|document| document.tokens),
        slots: slots.iter().map(|slot| slot.get()).collect(),
        tokens,
        pages: pages(tokens),
        map: record.map.iter().map(part).collect(),
    }
}
