//! One probe on its way through the stations. Never retried.

use super::listener::Listener;
use super::preflight::{Check, Preflight};
use super::report::{FindingReport, Receiver, finding};
use super::{Event, Executor, Session};
use crate::endpoint::{self, Exchange, Outcome, Prepared, Prompt};
use crate::ids::RoundId;
use crate::judge::{self, Case, Finding, ProbeResult};
use crate::scenario::{PlannedProbe, Role};
use crate::store::{
    DonorRecord, FindingRecord, ProbeRecord, Relation, SentRecord, StoreError, Usage,
};
use canary_gen::document::Summary;
use canary_gen::{Document, DocumentSpec, ProbeNumber, Slot, TenantNumber};
use std::sync::{Arc, OnceLock};

/// What a probe adds to its round.
pub(super) struct Judged {
    pub(super) result: ProbeResult,
    pub(super) findings: Vec<FindingReport>,
    /// The limit a refusal named, in tokens.
    pub(super) limit: Option<u64>,
    /// How far the prompt was off its wanted length by the endpoint's own count, as a share of it.
    pub(super) length_error: Option<f64>,
}

/// Why a probe could not be carried through.
pub(super) enum ProbeError {
    Store(StoreError),
    Void(Preflight),
    /// The weaver panicked; the panic is in the log.
    Weaver,
}

/// A document as a prompt. Whoever has woven it to its end knows its measures.
struct DocumentPrompt {
    document: Document,
    measured: Arc<OnceLock<Summary>>,
}

impl Prompt for DocumentPrompt {
    fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send> {
        let mut weaver = self.document.weave();
        let measured = Arc::clone(&self.measured);
        Box::new(std::iter::from_fn(move || {
            let chunk = weaver.next();
            if chunk.is_none() {
                measured.get_or_init(|| weaver.summary());
            }
            chunk
        }))
    }
}

/// A woven and checked probe, ready to go.
struct Ready {
    prepared: Prepared,
    document: Summary,
    preflight: Preflight,
}

/// Weaves, checks, sends, scans, judges and records one probe.
pub(super) async fn run(
    executor: &Executor,
    session: &Session,
    round: RoundId,
    planned: &PlannedProbe,
    number: ProbeNumber,
) -> Result<Judged, ProbeError> {
    let tenant = &session.registered.tenants[planned.tenant];
    let spec = DocumentSpec {
        seed: planned.seed,
        tenant: tenant.number,
        probe: number,
        form: planned.form,
        layout: planned.layout,
        tokens: planned.tokens,
        closing: 0,
        measure: session.measure(planned.form, planned.layout),
    };
    let steered = session
        .steer(&executor.ring, spec, planned.tenant, round)
        .await;
    let spec = steered.as_ref().map_or(spec, |steered| steered.spec);
    let ready = weave(executor, session, round, planned, spec).await?;
    if !ready.preflight.is_good() {
        tracing::error!(
            probe.id = number.get(),
            "{}; nothing was sent",
            ready.preflight
        );
        return Err(ProbeError::Void(ready.preflight));
    }
    let counted = steered.as_ref().map(|steered| steered.tokens);
    let tokens_estimated = match (counted, session.template()) {
        (Some(counted), Some(template)) => counted.saturating_add_signed(template),
        _ => ready.document.tokens as u64,
    };
    let sent = SentRecord {
        probe: number,
        measure: spec.measure,
        closing: spec.closing,
        tokens_estimated,
        slots: ready.document.slots,
        asked: ready.document.asked,
        request_bytes: ready.prepared.content_length(),
        sent_at: executor.clock.now(),
    };
    executor
        .patiently(|| executor.store.record_sent(&sent))
        .await
        .map_err(ProbeError::Store)?;

    let mut listener = Listener::new(executor.ring.clone());
    let exchange = endpoint::send(
        &session.clients[planned.tenant],
        ready.prepared,
        &mut listener,
    )
    .await;
    let seen = listener.finish();

    let case = Case {
        tenant: tenant.number,
        probe: number,
        role: planned.role,
        asked: ready.document.asked.is_some(),
        context_tokens: session.endpoint.context_tokens,
        estimated_tokens: sent.tokens_estimated,
        exchange: &exchange,
        seen: &seen,
    };
    let (verdict, findings) = judge::judge(&case);
    let own_canaries = judge::recalled(&case);
    let asked = case.asked;
    let limit = learn(
        executor,
        session,
        planned,
        &ready.document,
        counted,
        &exchange,
    )
    .await?;
    let length_error = length_error(planned, &exchange);
    let findings = locate(executor, tenant.number, findings).await?;
    let record = ProbeRecord {
        probe: number,
        round,
        tenant: tenant.number,
        finished_at: executor.clock.now(),
        outcome: exchange.outcome.as_str(),
        status: exchange.status,
        finish_reason: exchange.finish_reason.clone(),
        usage: usage(&exchange),
        response_bytes: exchange.response_bytes,
        ttft_ms: exchange.ttft.map(|time| time.as_millis() as u64),
        duration_ms: exchange.duration.as_millis() as u64,
        own_canaries,
        verdict: verdict.as_str(),
        reason: verdict.reason(),
        seen,
        findings,
    };
    executor
        .patiently(|| executor.store.record_probe(&record))
        .await
        .map_err(ProbeError::Store)?;
    let receiver = Receiver {
        probe: number,
        tenant: &tenant.name,
        prompt_tokens: record.usage.prompt.unwrap_or(sent.tokens_estimated),
        found_at: record.finished_at,
        page_tokens: session.endpoint.page_tokens,
    };
    let reports: Vec<FindingReport> = record
        .findings
        .iter()
        .map(|found| finding(found, &receiver))
        .collect();
    log(session, &record, &reports);
    (executor.observer)(&Event::Judged {
        endpoint: &session.endpoint.name,
        role: planned.role,
        tenant: &tenant.name,
        tokens: receiver.prompt_tokens,
        verdict: record.verdict,
        reason: record.reason,
    });
    Ok(Judged {
        result: ProbeResult {
            role: planned.role,
            asked,
            outcome: exchange.outcome,
            verdict,
            own_canaries,
            findings: record
                .findings
                .into_iter()
                .map(|found| found.finding)
                .collect(),
        },
        findings: reports,
        limit,
        length_error,
    })
}

/// Weaves the document once to learn its length, and scans every byte that will leave. On a thread
/// of its own: a million tokens take a while.
async fn weave(
    executor: &Executor,
    session: &Session,
    round: RoundId,
    planned: &PlannedProbe,
    spec: DocumentSpec,
) -> Result<Ready, ProbeError> {
    let ring = executor.ring.clone();
    let target = session.target.clone();
    let extras = session.endpoint.tenants[planned.tenant].extras.clone();
    let max_answer_tokens = planned.max_answer_tokens;
    let woven = tokio::task::spawn_blocking(move || {
        let measured = Arc::new(OnceLock::new());
        let prompt = Arc::new(DocumentPrompt {
            document: Document::new(spec, ring.clone()),
            measured: Arc::clone(&measured),
        });
        let mut check = Check::new(ring, spec.form, spec.tenant, spec.probe);
        let sender = endpoint::Sender {
            extras: &extras,
            round: &round.get().to_string(),
        };
        let observe = &mut |bytes: &[u8]| check.push(bytes);
        let prepared = endpoint::prepare(&target, &sender, prompt, max_answer_tokens, observe);
        // Preparing went through the document to its end.
        let document = measured.get().copied().unwrap_or_default();
        Ready {
            prepared,
            document,
            preflight: check.finish(document.contents.canaries),
        }
    })
    .await;
    woven.map_err(|error| {
        tracing::error!(error = %error, "weaving a document failed");
        ProbeError::Weaver
    })
}

/// Learns token costs and limits from what the endpoint reported.
async fn learn(
    executor: &Executor,
    session: &Session,
    planned: &PlannedProbe,
    document: &Summary,
    counted: Option<u64>,
    exchange: &Exchange,
) -> Result<Option<u64>, ProbeError> {
    if let (Outcome::Answered, Some(usage), Some(counted)) =
        (&exchange.outcome, &exchange.usage, counted)
    {
        session.learn_template(counted, usage.prompt_tokens);
    }
    if let (Outcome::Answered, Some(usage)) = (&exchange.outcome, &exchange.usage)
        && !session.observe(planned.form, planned.layout, document, usage.prompt_tokens)
    {
        tracing::warn!(
            endpoint = session.endpoint.name,
            tokens.reported = usage.prompt_tokens,
            tokens.estimated = document.tokens as u64,
            "the endpoint reports an absurd prompt length"
        );
    }
    let Outcome::RejectedTooLong {
        limit: Some(limit), ..
    } = exchange.outcome
    else {
        return Ok(None);
    };
    if session.learn_limit(limit) {
        executor
            .patiently(|| {
                executor
                    .store
                    .record_measured_limit(session.registered.id, limit)
            })
            .await
            .map_err(ProbeError::Store)?;
    }
    Ok(Some(limit))
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

/// Tells who planted what leaked, and from which part of that context it came.
async fn locate(
    executor: &Executor,
    receiver: TenantNumber,
    findings: Vec<Finding>,
) -> Result<Vec<FindingRecord>, ProbeError> {
    let mut records = Vec::with_capacity(findings.len());
    for finding in findings {
        let Finding::Leak {
            donor_tenant,
            donor_probe,
            ref slots,
        } = finding
        else {
            records.push(FindingRecord {
                finding,
                donor: None,
                relation: None,
                tokens: None,
            });
            continue;
        };
        let donor = executor
            .patiently(|| executor.store.donor(donor_tenant, donor_probe))
            .await
            .map_err(ProbeError::Store)?;
        let relation = match &donor {
            None => Relation::Unknown,
            Some(_) if donor_tenant == receiver => Relation::SameTenant,
            Some(_) => Relation::OtherTenant,
        };
        let tokens = token_range(executor, donor.as_ref(), slots).await;
        records.push(FindingRecord {
            finding,
            donor,
            relation: Some(relation),
            tokens,
        });
    }
    Ok(records)
}

async fn token_range(
    executor: &Executor,
    donor: Option<&DonorRecord>,
    slots: &[Slot],
) -> Option<(u64, u64)> {
    let document = Document::new(donor?.document?, executor.ring.clone());
    let (first, last) = (*slots.first()?, *slots.last()?);
    let range = move || Some((document.token_of(first)?, document.token_of(last)?));
    tokio::task::spawn_blocking(range).await.ok().flatten()
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
        verdict = record.verdict,
        reason = record.reason,
        outcome = record.outcome,
        tokens.prompt = record.usage.prompt,
        response.bytes = record.response_bytes,
        duration_ms = record.duration_ms,
        "probe judged"
    );
}
