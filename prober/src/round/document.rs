//! Documents of a round: each is determined once, by whoever comes first of those that send it.

use super::{Executor, Session};
use crate::endpoint::Prompt;
use crate::ids::RoundId;
use crate::scenario::PlannedProbe;
use canary_gen::document::Summary;
use canary_gen::{Document, DocumentSpec, Head, ProbeNumber};
use std::sync::{Arc, OnceLock};
use tokio::sync::OnceCell;

/// A document that one or more probes of a round send.
pub(super) struct Shared {
    planned: PlannedProbe,
    /// What its canaries say: the first probe that sends it.
    number: ProbeNumber,
    head: Option<Head>,
    determined: OnceCell<Determined>,
}

/// What determines a document's bytes.
#[derive(Clone, Copy)]
pub(super) struct Determined {
    pub(super) spec: DocumentSpec,
    /// Its counted length, the chat template left out; `None` where lengths are estimated.
    pub(super) counted: Option<u64>,
}

impl Shared {
    pub(super) fn new(planned: PlannedProbe, number: ProbeNumber, head: Option<Head>) -> Self {
        Self {
            planned,
            number,
            head,
            determined: OnceCell::new(),
        }
    }

    pub(super) async fn determined(
        &self,
        executor: &Executor,
        session: &Session,
        round: RoundId,
    ) -> Determined {
        let determine = || self.determine(executor, session, round);
        *self.determined.get_or_init(determine).await
    }

    async fn determine(
        &self,
        executor: &Executor,
        session: &Session,
        round: RoundId,
    ) -> Determined {
        let planned = &self.planned;
        let spec = DocumentSpec {
            seed: planned.seed,
            tenant: session.registered.tenants[planned.tenant].number,
            probe: self.number,
            head: self.head,
            question: planned.question,
            form: planned.form,
            layout: planned.layout,
            tokens: planned.tokens,
            closing: 0,
            measure: session.measure(planned.form, planned.layout),
        };
        let steered = session
            .steer(&executor.ring, spec, planned.tenant, round)
            .await;
        Determined {
            spec: steered.as_ref().map_or(spec, |steered| steered.spec),
            counted: steered.map(|steered| steered.tokens),
        }
    }
}

/// A document as a prompt. Whoever has woven it to its end knows its measures.
pub(super) struct DocumentPrompt {
    pub(super) document: Document,
    pub(super) measured: Arc<OnceLock<Summary>>,
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
