//! How a session measures and reaches lengths.

use super::Session;
use crate::endpoint::Tokenizing;
use crate::ids::RoundId;
use crate::length::{Costs, CountError, Counter, FileTokenizer, Steered, Tokenizer, sample, steer};
use crate::scenario::{Need, Schedule};
use canary_gen::{DocumentSpec, Form, KeyRing, Layout};

/// How lengths are measured at present.
#[derive(Clone, Default)]
pub(super) enum Lengths {
    /// Nothing was tried yet.
    #[default]
    Unsettled,
    /// Estimated from what answers report.
    Usage,
    /// Counted word by word.
    Counted(Box<Counting>),
}

/// What is known for counting.
#[derive(Clone)]
pub(super) struct Counting {
    /// `None`: the endpoint's own, asked as the tenant whose words they are.
    file: Option<FileTokenizer>,
    costs: Costs,
    /// What the chat template adds, in tokens, as the last answer told.
    template: Option<i64>,
    /// Of what samples were counted, so that a first document comes near at once.
    sampled: Vec<(Form, &'static str)>,
}

impl Lengths {
    /// The name in output.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Unsettled | Self::Usage => "usage",
            Self::Counted(counting) => counting.name(),
        }
    }
}

impl Session {
    /// Finds out how lengths can be measured, before the first document of these kinds is woven.
    ///
    /// # Errors
    /// When the configuration demands a way that there is not.
    pub(super) async fn settle_lengths(
        &self,
        main: &Schedule,
        round: RoundId,
    ) -> Result<(), CountError> {
        let mut counting = match (&self.endpoint.tokenizer, self.lengths()) {
            (Tokenizer::Usage, _) | (_, Lengths::Usage) => return Ok(()),
            (_, Lengths::Counted(counting)) => counting,
            (Tokenizer::File(file), Lengths::Unsettled) => Counting::new(Some(file.clone())),
            (Tokenizer::Auto | Tokenizer::Endpoint, Lengths::Unsettled) => Counting::new(None),
        };
        for (form, layout) in main.kinds() {
            if let Err(error) = self.sample(&mut counting, form, layout, round).await {
                if !matches!(self.endpoint.tokenizer, Tokenizer::Auto) {
                    return Err(error);
                }
                tracing::info!(endpoint = self.endpoint.name, %error, "lengths are estimated from usage");
                self.set_lengths(Lengths::Usage);
                return Ok(());
            }
        }
        self.set_lengths(Lengths::Counted(counting));
        Ok(())
    }

    /// Learns the measure from documents that nobody is ever sent.
    async fn sample(
        &self,
        counting: &mut Counting,
        form: Form,
        layout: Layout,
        round: RoundId,
    ) -> Result<(), CountError> {
        let kind = (form, layout.as_str());
        if counting.sampled.contains(&kind) {
            return Ok(());
        }
        let sample = sample(
            &self.counter(counting, 0, round),
            counting.costs.clone(),
            form,
            layout,
        )
        .await?;
        for (document, tokens) in &sample.documents {
            self.observe(form, layout, document, *tokens);
        }
        counting.costs = counting.costs.with(&sample.known);
        counting.sampled.push(kind);
        Ok(())
    }

    /// What must be learnt from small documents before this form and layout can be steered.
    pub(super) fn need(&self, form: Form, layout: Layout) -> Need {
        match self.lengths() {
            Lengths::Counted(counting) if counting.template.is_some() => Need::Nothing,
            Lengths::Counted(_) => Need::Template,
            _ if self.is_calibrated(form, layout) => Need::Nothing,
            _ => Need::Measure,
        }
    }

    /// Makes a document of its wanted length by counting; `None` where lengths are estimated, or words
    /// could not be counted.
    pub(super) async fn steer(
        &self,
        ring: &KeyRing,
        spec: DocumentSpec,
        tenant: usize,
        round: RoundId,
    ) -> Option<Steered> {
        let Lengths::Counted(counting) = self.lengths() else {
            return None;
        };
        match steer(
            &self.counter(&counting, tenant, round),
            counting.costs,
            ring,
            spec,
            counting.template,
        )
        .await
        {
            Ok(steered) => {
                self.change_counting(|counting| {
                    counting.costs = counting.costs.with(&steered.known)
                });
                Some(steered)
            }
            Err(error) => {
                tracing::warn!(
                    endpoint = self.endpoint.name,
                    probe.id = spec.probe.get(),
                    %error,
                    "the length of a document is estimated, not counted"
                );
                None
            }
        }
    }

    /// Whoever counts for a tenant (its place in the endpoint's list): no tenant's words ever go out in
    /// the request of another.
    fn counter(&self, counting: &Counting, tenant: usize, round: RoundId) -> Counter {
        match &counting.file {
            Some(file) => Counter::File(file.clone()),
            None => Counter::Endpoint(Tokenizing::new(
                &self.clients[tenant],
                &self.target,
                &self.endpoint.tenants[tenant].extras,
                &round.get().to_string(),
            )),
        }
    }

    /// Learns what the template adds to a counted text.
    pub(super) fn learn_template(&self, counted: u64, prompt_tokens: u64) {
        let template = prompt_tokens as i64 - counted as i64;
        self.change_counting(|counting| counting.template = Some(template));
    }

    /// What the template adds, as far as it is known, in tokens.
    pub(super) fn template(&self) -> Option<i64> {
        match self.lengths() {
            Lengths::Counted(counting) => counting.template,
            _ => None,
        }
    }

    fn change_counting(&self, change: impl FnOnce(&mut Counting)) {
        self.change_lengths(|lengths| {
            if let Lengths::Counted(counting) = lengths {
                change(counting);
            }
        });
    }
}

impl Counting {
    fn new(file: Option<FileTokenizer>) -> Box<Self> {
        Box::new(Self {
            file,
            costs: Costs::default(),
            template: None,
            sampled: Vec::new(),
        })
    }

    fn name(&self) -> &'static str {
        match self.file {
            Some(_) => "file",
            None => "endpoint",
        }
    }
}
