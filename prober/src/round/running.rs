//! A round under way: its steps, its end, and what its probes prove together.

use super::conclude::Judged;
use super::document::Shared;
use super::fact::Fact;
use super::keep::Kept;
use super::probe::{self, Going};
use super::report::{HistoryReport, Receiver, finding, name_incidents};
use super::{Executor, Refusal, RoundError, RoundReport, Session, together};
use crate::config::Scenario;
use crate::endpoint::Outcome;
use crate::evidence::Sealed;
use crate::ids::RoundId;
use crate::judge::{Compared, ProbeResult, RoundVerdict, compare, judge_round, witnesses};
use crate::length::CountError;
use crate::scenario::{Need, PlannedProbe, Recipe};
use crate::store::{JointFinding, RoundEnd, StoreError};
use canary_gen::ProbeNumber;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

/// Why a round ended before its last step when a probe of it could not be paid.
pub(super) const OVER_BUDGET: &str = "the budget of the day was spent";

/// A round under way.
pub(super) struct Running<'a> {
    pub(super) executor: &'a Executor,
    pub(super) session: &'a Session,
    pub(super) scenario: &'a Scenario,
    /// Its name, for the tasks of its probes.
    pub(super) name: Arc<str>,
    pub(super) recipe: Recipe,
    pub(super) id: RoundId,
    pub(super) report: RoundReport,
    pub(super) results: Vec<ProbeResult>,
    /// What each probe so far sent.
    pub(super) documents: Vec<Arc<Shared>>,
    /// Responses that probes may prove something with together, sealed.
    pub(super) kept: Kept,
    /// What a unit of a head costs, in tokens, by what was known when the first was woven: all heads of a
    /// round must be of one measure to be alike.
    pub(super) head_unit: Option<f64>,
}

impl Running<'_> {
    /// Carries out step after step; tells why it ended before the last one, if it did.
    pub(super) async fn steps(
        &mut self,
        steps: &[Vec<PlannedProbe>],
        numbers: &[ProbeNumber],
        calibration_steps: usize,
    ) -> Result<(), CutShort> {
        let mut rest = numbers;
        for (index, step) in steps.iter().enumerate() {
            if self.executor.stop.is_cancelled() {
                return Err(CutShort::Reason("stopped before its end".to_owned()));
            }
            self.executor.may_send()?;
            let steerable =
                |probe: &PlannedProbe| self.session.need(probe.form, probe.layout) == Need::Nothing;
            if index >= calibration_steps && !step.iter().all(steerable) {
                return Err(CutShort::Reason(format!(
                    "the endpoint's token count could not be learnt ({})",
                    self.last_outcome()
                )));
            }
            let (these, others) = rest.split_at(step.len());
            rest = others;
            self.step(step, these).await?;
        }
        Ok(())
    }

    async fn step(
        &mut self,
        step: &[PlannedProbe],
        numbers: &[ProbeNumber],
    ) -> Result<(), CutShort> {
        // A task each: scanning a response keeps a thread busy, and there may be a thousand.
        let mut probes = Vec::with_capacity(step.len());
        let places = together::places(step.len());
        for ((&planned, &number), place) in step.iter().zip(numbers).zip(places) {
            let document = match planned.repeats.and_then(|first| self.documents.get(first)) {
                Some(first) => Arc::clone(first),
                None => {
                    let head = planned.head.map(|head| {
                        let measure = self.session.measure(planned.form, planned.layout);
                        head.woven(*self.head_unit.get_or_insert(measure.per_unit))
                    });
                    Arc::new(Shared::new(planned, number, head))
                }
            };
            self.documents.push(Arc::clone(&document));
            let going = Going {
                executor: self.executor.clone(),
                session: self.session.clone(),
                round: self.id,
                scenario: Arc::clone(&self.name),
                recipe: self.recipe.clone(),
                planned,
                number,
                document,
            };
            probes.push(AbortOnDropHandle::new(tokio::spawn(going.go(place))));
        }
        // The others of the step are judged and recorded even if one could not be.
        let mut failure = None;
        for judged in join_all(probes).await {
            match judged {
                Ok(Ok(judged)) => self.take(judged),
                Ok(Err(error)) => failure = failure.or(Some(CutShort::from(error))),
                Err(error) => failure = failure.or(Some(CutShort::panicked(error))),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn take(&mut self, judged: Judged) {
        self.report.measured_limit_tokens = judged.limit.or(self.report.measured_limit_tokens);
        if let Some(error) = judged.length_error {
            let worst = self.report.length_error.unwrap_or(0.0);
            self.report.length_error = Some(worst.max(error));
        }
        self.report.prompt_tokens += judged.result.prompt_tokens;
        self.report.completion_tokens += judged.completion_tokens;
        self.report.findings.extend(judged.findings);
        self.results.push(judged.result);
        self.kept.put(judged.sealed);
    }

    fn last_outcome(&self) -> &'static str {
        self.results
            .last()
            .map_or("nothing was sent", |result| match &result.outcome {
                Outcome::Answered => "no `usage.prompt_tokens` in its answers",
                other => other.as_str(),
            })
    }

    pub(super) async fn end(
        mut self,
        steps: Result<(), CutShort>,
        begun: Instant,
    ) -> Result<RoundReport, RoundError> {
        let compared = compare(&self.results);
        let (mut verdict, counts) =
            judge_round(&self.results, &compared, self.scenario.min_sensitivity);
        let (reason, mut failure) = match steps {
            Ok(()) => (None, None),
            Err(CutShort::Reason(reason)) => (Some(reason), None),
            Err(CutShort::OverBudget) => (Some(OVER_BUDGET.to_owned()), None),
            Err(CutShort::Store(error)) => (None, Some(error)),
        };
        // What was proven stays proven; what was not is not clean.
        let is_proven = !matches!(verdict, RoundVerdict::Clean | RoundVerdict::Inconclusive(_));
        if let Some(reason) = reason.filter(|_| !is_proven) {
            verdict = RoundVerdict::Inconclusive(reason);
        }
        self.report.set_verdict(&verdict, &counts);
        self.report.lengths_by = self.session.lengths().as_str();
        self.report.duration_ms = begun.elapsed().as_millis() as u64;
        let executor = self.executor;
        let (endpoint, scenario) = (&self.session.endpoint.name, &self.scenario.name);
        executor
            .metrics
            .round_ended(endpoint, scenario, verdict.as_str(), begun.elapsed());
        let (findings, evidence) = self.show(compared);
        let end = RoundEnd {
            round: self.id,
            verdict,
            counts,
            findings,
            evidence,
            finished_at: executor.clock.now(),
        };
        if failure.is_none() {
            // What was proven together stands last in the report.
            let first = self.report.findings.len() - end.findings.len();
            match executor.put(Fact::Ended(Box::new(end))).await {
                Ok(Some(recorded)) => {
                    name_incidents(&mut self.report.findings[first..], &recorded.incidents);
                    self.report.recorded = true;
                }
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
        }
        if let Some(source) = failure {
            return Err(RoundError::Store {
                source,
                report: Some(Box::new(self.report)),
            });
        }
        if self.report.recorded {
            self.sum_up().await;
        }
        let report = self.report;
        tracing::info!(
            round.id = report.round,
            endpoint = report.endpoint,
            scenario = report.scenario,
            verdict = report.verdict,
            reason = report.reason,
            probes = report.probes,
            leaks = report.leaks,
            sensitivity = report.sensitivity,
            duration_ms = report.duration_ms,
            recorded = report.recorded,
            "round ended"
        );
        Ok(report)
    }
}

impl Running<'_> {
    /// Puts all rounds of before into the report.
    async fn sum_up(&mut self) {
        let (endpoint, name) = (self.session.id(), &self.report.scenario);
        match self.executor.store.history(endpoint, name).await {
            Ok(history) => self.report.history = Some(HistoryReport::from(history)),
            Err(error) => {
                tracing::warn!(error = %crate::errors::chain(&error), "the rounds of before could not be summed up")
            }
        }
    }

    /// Puts what several probes proved together into the report; what is to be recorded of it, and the
    /// responses that prove it.
    fn show(&mut self, compared: Compared) -> (Vec<JointFinding>, Vec<Sealed>) {
        let mut joints = Vec::with_capacity(compared.findings.len());
        let mut evidence = Vec::new();
        for (place, found) in compared.findings {
            let result = &self.results[place];
            let joint = JointFinding {
                shown_by: result.number,
                witnesses: witnesses(&self.results, place, &found),
                finding: found,
            };
            let proving = joint.witnesses.iter().chain([&result.number]);
            evidence.extend(proving.filter_map(|probe| self.kept.take(*probe)));
            let is_it = |sealed: &Sealed| sealed.of.probe == result.number;
            // That of a probe with a finding of its own is recorded already.
            let is_recorded = !result.findings.is_empty() && self.executor.evidence.is_some();
            let receiver = Receiver {
                probe: result.number,
                tenant: &self.session.registered.tenants[result.tenant].name,
                prompt_tokens: result.prompt_tokens,
                found_at: self.executor.clock.now(),
                page_tokens: self.session.endpoint.page_tokens,
                is_kept: is_recorded || evidence.iter().any(is_it),
            };
            let report = finding(&joint.clone().into(), &receiver);
            let metrics = &self.executor.metrics;
            metrics.found(&self.session.endpoint.name, &joint.finding);
            tracing::error!(
                finding.kind = report.kind,
                endpoint = self.session.endpoint.name,
                round.id = self.id.get(),
                probe.id = report.probe,
                tenant = report.tenant,
                "finding"
            );
            self.report.findings.push(report);
            joints.push(joint);
        }
        (joints, evidence)
    }
}

/// Why a round ended before its last step.
pub(super) enum CutShort {
    /// For a reason that makes it inconclusive.
    Reason(String),
    /// The day's budget does not allow a probe; inconclusive as well.
    OverBudget,
    /// Because the database kept failing.
    Store(StoreError),
}

impl CutShort {
    /// A panic goes on as if the probe had run in here.
    fn panicked(error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Self::Reason("a probe was cancelled".to_owned()),
        }
    }

    pub(super) fn uncounted(error: &CountError) -> Self {
        Self::Reason(format!("lengths could not be counted: {error}"))
    }
}

impl From<Refusal> for CutShort {
    fn from(refusal: Refusal) -> Self {
        Self::Reason(refusal.to_string())
    }
}

impl From<probe::ProbeError> for CutShort {
    fn from(error: probe::ProbeError) -> Self {
        match error {
            probe::ProbeError::Store(error) => Self::Store(error),
            probe::ProbeError::Void(preflight) => Self::Reason(format!("void: {preflight}")),
            probe::ProbeError::OverBudget => Self::OverBudget,
            probe::ProbeError::Refused(refusal) => refusal.into(),
            probe::ProbeError::Weaver => Self::Reason("void: weaving a document failed".to_owned()),
        }
    }
}
