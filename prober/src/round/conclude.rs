//! What came back for a probe: judged, recorded, reported.

use super::fact::{Fact, JudgedProbe, Recorded};
use super::keep::seal;
use super::listener::Heard;
use super::locate::Received;
use super::probe::{Going, ProbeError};
use super::report::{FindingReport, Receiver, finding, name_incidents};
use super::{Event, Executor, Session};
use crate::budget::Cost;
use crate::endpoint::{Exchange, Outcome};
use crate::evidence::{Binding, Sealed};
use crate::judge::{self, Case, Finding, ProbeResult, Verdict};
use crate::metrics;
use crate::scenario::{PlannedProbe, Role};
use crate::store::{FindingRecord, ProbeRecord, SentRecord, Usage};
use canary_gen::{DocumentSpec, Question, Slot};
use std::borrow::Cow;

/// In a list, a canary takes so many tokens more than itself.
const LIST_TOKENS: f64 = 3.0;

/// What a probe adds to its round.
pub(super) struct Judged {
    pub(super) result: ProbeResult,
    pub(super) findings: Vec<FindingReport>,
    /// The limit a refusal named, in tokens.
    pub(super) limit: Option<u64>,
    /// How far the prompt was off its wanted length by the endpoint's own count, as a share of it.
    pub(super) length_error: Option<f64>,
    /// Tokens of the answer, if they were reported.
    pub(super) completion_tokens: u64,
    /// Its response, if others may prove something with it.
    pub(super) sealed: Option<Sealed>,
}

impl Going {
    /// Judges the exchange, and records what the probe turned out to be.
    pub(super) async fn conclude(
        &self,
        (sent, cost): (&SentRecord, Cost),
        spec: DocumentSpec,
        exchange: Exchange,
        heard: Heard,
        limit: Option<u64>,
    ) -> Result<Judged, ProbeError> {
        let Self {
            executor,
            session,
            planned,
            ..
        } = self;
        let tenant = &session.registered.tenants[planned.tenant];
        let asked = asked_slots(&spec, sent, planned.max_answer_tokens);
        let case = Case {
            tenant: spec.tenant,
            probe: spec.probe,
            role: planned.role,
            asked: &asked,
            slots: sent.slots,
            context_tokens: session.endpoint.context_tokens,
            measured_limit: session.measured_limit(),
            estimated_tokens: sent.tokens_estimated,
            exchange: &exchange,
            seen: &heard.seen,
        };
        let (verdict, findings) = judge::judge(&case);
        let may_prove = !findings.is_empty() || judge::is_compared(planned.role);
        let recorder = heard.recorder.filter(|_| may_prove);
        let mut sealed = recorder.and_then(|recorder| {
            let of = Binding {
                probe: self.number,
                round: self.round,
            };
            seal(executor, of, &recorder)
        });
        self.count_verdict(&verdict, &findings);
        let own_canaries = judge::recalled(&case);
        let depths = judge::recall_by_depth(&case);
        let received = Received {
            endpoint: session.id(),
            tenant: tenant.number,
        };
        let record = ProbeRecord {
            probe: self.number,
            round: self.round,
            own: (spec.tenant, spec.probe),
            finished_at: executor.clock.now(),
            outcome: exchange.outcome.as_str().into(),
            status: exchange.status,
            finish_reason: exchange.finish_reason.clone(),
            usage: usage(&exchange),
            response_bytes: exchange.response_bytes,
            ttft_ms: exchange.ttft.map(|time| time.as_millis() as u64),
            duration_ms: exchange.duration.as_millis() as u64,
            own_canaries,
            verdict: verdict.as_str().into(),
            reason: verdict.reason().map(Cow::from),
            cost,
            evidence: sealed.take_if(|_| !findings.is_empty()),
            findings: Vec::new(),
            seen: heard.seen,
        };
        let receiver = Receiver {
            probe: self.number,
            tenant: &tenant.name,
            prompt_tokens: record.usage.prompt.unwrap_or(sent.tokens_estimated),
            found_at: record.finished_at,
            page_tokens: session.endpoint.page_tokens,
            is_kept: record.evidence.is_some(),
        };
        let judged = JudgedProbe {
            record: record.clone(),
            received,
            findings: findings.clone(),
        };
        let recorded = executor.put(Fact::Judged(Box::new(judged))).await?;
        let recorded = recorded.unwrap_or_else(|| Recorded {
            // Who planted what leaked is looked up when the database is back.
            findings: findings.iter().cloned().map(FindingRecord::from).collect(),
            ..Recorded::default()
        });
        let found = recorded.findings.iter();
        let mut reports: Vec<FindingReport> =
            found.map(|found| finding(found, &receiver)).collect();
        name_incidents(&mut reports, &recorded.incidents);
        log(session, &record, &reports);
        (executor.observer)(&Event::Judged {
            endpoint: &session.endpoint.name,
            role: planned.role,
            tenant: &tenant.name,
            tokens: receiver.prompt_tokens,
            verdict: verdict.as_str(),
            reason: verdict.reason(),
        });
        Ok(Judged {
            result: ProbeResult {
                number: self.number,
                document: spec.probe,
                tenant: planned.tenant,
                role: planned.role,
                set: planned.set,
                asked: !asked.is_empty(),
                depths,
                answer: heard.answer,
                response_id: exchange.response_id,
                cached_tokens: record.usage.cached,
                ttft: exchange.ttft,
                prompt_tokens: receiver.prompt_tokens,
                outcome: exchange.outcome.clone(),
                verdict,
                own_canaries,
                findings,
            },
            completion_tokens: record.usage.completion.unwrap_or(0),
            sealed,
            findings: reports,
            limit,
            length_error: length_error(planned, &exchange),
        })
    }
}

impl Going {
    /// Tells the metrics what it turned out to be. What only measures tokens is not counted.
    fn count_verdict(&self, verdict: &Verdict, findings: &[Finding]) {
        let Executor { metrics, clock, .. } = &self.executor;
        let endpoint = &self.session.endpoint.name;
        for finding in findings {
            metrics.found(endpoint, finding);
        }
        if self.planned.role == Role::Calibration && *verdict != Verdict::Leak {
            return;
        }
        metrics.judged(&metrics::JudgedProbe {
            endpoint,
            scenario: &self.scenario,
            verdict: verdict.as_str(),
            reason: verdict.reason(),
            at: clock.now(),
        });
    }
}

/// The slots that the question asks for, of a list as many as the answer has room for.
fn asked_slots(spec: &DocumentSpec, sent: &SentRecord, max_answer_tokens: u32) -> Vec<Slot> {
    match spec.question {
        Question::One => sent.asked.into_iter().collect(),
        Question::List => {
            let each = (spec.measure.per_canary + LIST_TOKENS).max(1.0);
            let room = ((f64::from(max_answer_tokens) / each) as u64).max(1);
            let slots = 0..u64::from(sent.slots).min(room);
            slots.filter_map(Slot::new).collect()
        }
    }
}

/// How far an answered prompt was off its wanted length. One of which the endpoint counts less than half
/// was cut, which says nothing of lengths.
fn length_error(planned: &PlannedProbe, exchange: &Exchange) -> Option<f64> {
    let usage = exchange.usage.as_ref()?;
    let is_measured = exchange.outcome == Outcome::Answered
        && planned.role != Role::Calibration
        && usage.prompt_tokens > planned.tokens / 2;
    let off = usage.prompt_tokens.abs_diff(planned.tokens);
    is_measured.then(|| off as f64 / planned.tokens.max(1) as f64)
}

fn usage(exchange: &Exchange) -> Usage {
    exchange
        .usage
        .as_ref()
        .map_or_else(Usage::default, |usage| Usage {
            prompt: Some(usage.prompt_tokens),
            completion: Some(usage.completion_tokens),
            cached: usage.cached_tokens,
        })
}

fn log(session: &Session, record: &ProbeRecord, findings: &[FindingReport]) {
    for finding in findings {
        let donor = finding.donor.as_ref();
        tracing::error!(
            finding.kind = finding.kind,
            incident.id = finding.incident,
            endpoint = session.endpoint.name,
            round.id = record.round.get(),
            probe.id = finding.probe,
            tenant = finding.tenant,
            donor.tenant = donor.and_then(|donor| donor.tenant.as_deref()),
            donor.probe.id = donor.map(|donor| donor.probe),
            donor.slots = donor.map(|donor| donor.slots.len()),
            "finding"
        );
    }
    tracing::info!(
        endpoint = session.endpoint.name,
        round.id = record.round.get(),
        probe.id = record.probe.get(),
        verdict = &*record.verdict,
        reason = record.reason.as_deref(),
        outcome = &*record.outcome,
        tokens.prompt = record.usage.prompt,
        response.bytes = record.response_bytes,
        duration_ms = record.duration_ms,
        "probe judged"
    );
}
