//! One probe on its way through the stations. Never retried.

use super::document::{Determined, DocumentPrompt, Shared};
use super::fact::{Fact, JudgedProbe, Recorded};
use super::keep::seal;
use super::learn::learn;
use super::listener::{Heard, Listener};
use super::locate::Received;
use super::preflight::{Check, Preflight};
use super::report::{FindingReport, Receiver, finding, name_incidents};
use super::together::Place;
use super::{Event, Executor, Refusal, Session};
use crate::budget::{self, Cost, Measured};
use crate::endpoint::{self, Exchange, Outcome, Prepared, SharedId};
use crate::evidence::{Binding, Keeper, Sealed};
use crate::ids::RoundId;
use crate::judge::{self, Case, ProbeResult};
use crate::scenario::{Cancel, Need, PlannedProbe, Recipe, Role};
use crate::store::{FindingRecord, ProbeRecord, SentRecord, StoreError, Usage};
use canary_gen::document::Summary;
use canary_gen::{Document, DocumentSpec, ProbeNumber, Question, Slot};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

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

/// Why a probe could not be carried through.
pub(super) enum ProbeError {
    Store(StoreError),
    Void(Preflight),
    /// The day's budget does not allow it; nothing was sent.
    OverBudget,
    /// It may not be sent.
    Refused(Refusal),
    /// The weaver panicked; the panic is in the log.
    Weaver,
}

impl From<Refusal> for ProbeError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for ProbeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A probe on its way.
pub(super) struct Going {
    pub(super) executor: Executor,
    pub(super) session: Session,
    pub(super) round: RoundId,
    /// What the round does, of which fields that carry a name are a part.
    pub(super) recipe: Recipe,
    pub(super) planned: PlannedProbe,
    pub(super) number: ProbeNumber,
    pub(super) document: Arc<Shared>,
}

/// A woven and checked probe, ready to go.
struct Ready {
    prepared: Prepared,
    document: Summary,
    preflight: Preflight,
}

impl Going {
    /// Weaves, checks, sends, scans, judges and records the probe.
    pub(super) async fn go(self, place: Place) -> Result<Judged, ProbeError> {
        let Self {
            executor,
            session,
            round,
            planned,
            number,
            ..
        } = &self;
        let determined = self.document.determined(executor, session, *round).await;
        let Determined { spec, counted } = determined;
        let ready = self.weave(spec).await?;
        if !ready.preflight.is_good() {
            tracing::error!(
                probe.id = number.get(),
                "{}; nothing was sent",
                ready.preflight
            );
            return Err(ProbeError::Void(ready.preflight));
        }
        let tokens_estimated = match (counted, session.template()) {
            (Some(counted), Some(template)) => counted.saturating_add_signed(template),
            _ => ready.document.tokens as u64,
        };
        let sent = SentRecord {
            probe: *number,
            measure: spec.measure,
            head_units: spec.head.map(|head| head.units),
            closing: spec.closing,
            tokens_estimated,
            slots: ready.document.slots,
            asked: ready.document.asked,
            request_bytes: ready.prepared.content_length(),
            sent_at: executor.clock.now(),
        };
        executor.may_send()?;
        let reserved = self.reserve(&sent, counted.is_some()).await?;
        executor.put(Fact::Sent(sent.clone())).await?;
        place.begin().await;
        sleep(Duration::from_millis(planned.after_ms.into())).await;
        executor.may_send()?;
        let (exchange, heard) = self.send(ready.prepared).await;
        let woven = (&ready.document, tokens_estimated);
        let limit = learn(executor, session, planned, woven, counted, &exchange).await?;
        let cost = budget::settled(
            &session.endpoint.budget.prices,
            reserved,
            tokens_estimated,
            session.endpoint.context_tokens,
            &exchange,
        );
        self.conclude((&sent, cost), spec, exchange, heard, limit)
            .await
    }

    /// Charges what it may cost at most, before it leaves.
    async fn reserve(&self, sent: &SentRecord, is_counted: bool) -> Result<Cost, ProbeError> {
        let Self {
            executor,
            session,
            planned,
            ..
        } = self;
        let measured = if is_counted && session.template().is_some() {
            Measured::Counted
        } else if session.need(planned.form, planned.layout) == Need::Nothing {
            Measured::Estimated
        } else {
            Measured::Guessed
        };
        let budget = &session.endpoint.budget;
        let prompt = measured.at_most(sent.tokens_estimated);
        let cost = budget.prices.cost(prompt, planned.max_answer_tokens.into());
        let reserve = || {
            let store = &executor.store;
            store.reserve(session.id(), sent.probe, cost, budget, sent.sent_at)
        };
        match executor.directly(reserve).await? {
            Some(true) => return Ok(cost),
            Some(false) => {}
            None if budget.is_limited() => return Err(Refusal::BudgetUnknown.into()),
            None => {
                let charged = Fact::Charged {
                    endpoint: session.id(),
                    probe: sent.probe,
                    cost,
                    at: sent.sent_at,
                };
                executor.put(charged).await?;
                return Ok(cost);
            }
        }
        tracing::warn!(
            endpoint = session.endpoint.name,
            probe.id = sent.probe.get(),
            tokens.at_most = cost.tokens(),
            "the day's budget does not allow a probe; it is not sent"
        );
        Err(ProbeError::OverBudget)
    }

    /// Weaves the document once to learn its length, and scans every byte that will leave. On a thread
    /// of its own: a million tokens take a while.
    async fn weave(&self, spec: DocumentSpec) -> Result<Ready, ProbeError> {
        let ring = self.executor.ring.clone();
        let target = self.session.target.clone();
        let planned = self.planned;
        let extras = self.session.endpoint.tenants[planned.tenant].extras.clone();
        let round = self.round;
        let shared_id = planned.shared_id.map(|id| SharedId {
            id: format!("{id:016x}"),
            fields: match &self.recipe {
                Recipe::Identity { id_fields, .. } => id_fields.clone(),
                _ => Vec::new(),
            },
        });
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
                shared_id: shared_id.as_ref(),
            };
            let observe = &mut |bytes: &[u8]| check.push(bytes);
            let most = planned.max_answer_tokens;
            let prepared = endpoint::prepare(&target, &sender, prompt, most, observe);
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

    /// Sends it and listens, to the end or until its client goes away.
    async fn send(&self, prepared: Prepared) -> (Exchange, Heard) {
        let keeper = self.executor.evidence.as_ref();
        let recorder = keeper.map(Keeper::recorder);
        let mut listener = Listener::new(self.executor.ring.clone(), recorder);
        let begun = Instant::now();
        let client = &self.session.clients[self.planned.tenant];
        let leaving = match self.planned.cancel {
            None => None,
            Some(Cancel::AfterMs(ms)) => {
                Some(Leaving::At(begun + Duration::from_millis(ms.into())))
            }
            Some(Cancel::AfterPieces(pieces)) => Some(Leaving::When(listener.after_pieces(pieces))),
        };
        let leave = async {
            match leaving {
                None => std::future::pending().await,
                Some(Leaving::At(moment)) => sleep_until(moment).await,
                Some(Leaving::When(heard)) => heard.cancelled().await,
            }
        };
        let exchange = tokio::select! {
            exchange = endpoint::send(client, prepared, &mut listener) => exchange,
            () = leave => Exchange::cancelled(begun.elapsed()),
            () = self.executor.must_not_send() => Exchange::cancelled(begun.elapsed()),
        };
        (exchange, listener.finish())
    }

    async fn conclude(
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

/// When a client goes away.
enum Leaving {
    At(Instant),
    When(CancellationToken),
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
