//! One probe on its way through the stations. Never retried.

use super::conclude::Judged;
use super::document::{Determined, DocumentPrompt, Shared};
use super::fact::Fact;
use super::learn::learn;
use super::listener::{Heard, Listener};
use super::preflight::{Check, Preflight};
use super::together::Place;
use super::{Executor, Refusal, Session};
use crate::budget::{self, Cost, Measured};
use crate::endpoint::{self, Exchange, Prepared, SharedId};
use crate::evidence::Keeper;
use crate::ids::RoundId;
use crate::metrics::{Moved, Scanned, Text};
use crate::scenario::{Cancel, Need, PlannedProbe, Recipe};
use crate::store::{SentRecord, StoreError};
use canary_gen::document::Summary;
use canary_gen::{Document, DocumentSpec, ProbeNumber};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

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
    /// The name of the round's scenario.
    pub(super) scenario: Arc<str>,
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
    scanned: Scanned,
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
        executor.metrics.scanned(Text::Request, ready.scanned);
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
        let sent_bytes = ready.prepared.sent();
        let (exchange, heard) = self.send(ready.prepared).await;
        self.count(&sent, &exchange, &heard, sent_bytes.get());
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
            let reserved = store.reserve(session.id(), sent.probe, cost, budget, sent.sent_at);
            executor.metrics.timed("reserve", reserved)
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
            let (preflight, scanned) = check.finish(document.contents.canaries);
            Ready {
                prepared,
                document,
                scanned,
                preflight,
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
        let in_flight = self
            .executor
            .metrics
            .request_begun(&self.session.endpoint.name);
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
        drop(in_flight);
        (exchange, listener.finish())
    }

    /// Tells the metrics of it.
    fn count(&self, sent: &SentRecord, exchange: &Exchange, heard: &Heard, sent_bytes: u64) {
        let metrics = &self.executor.metrics;
        let usage = exchange.usage.as_ref();
        let is_whole = sent_bytes == sent.request_bytes;
        let estimated = if is_whole { sent.tokens_estimated } else { 0 };
        let moved = Moved {
            sent_bytes,
            received_bytes: heard.body_bytes,
            sent_tokens: usage.map_or(estimated, |usage| usage.prompt_tokens),
            received_tokens: usage.map_or(0, |usage| usage.completion_tokens),
        };
        metrics.request_ended(&self.session.endpoint.name, exchange, moved);
        metrics.scanned(Text::Response, heard.scanned);
    }
}

/// When a client goes away.
enum Leaving {
    At(Instant),
    When(CancellationToken),
}
