//! The executor of rounds: the only module that knows every station.
//!
//! ```text
//! schedule ─▶ weave ─▶ pre-flight scan ─▶ record as sent ─▶ send, scan while reading ─▶ judge ─▶ record
//! ```

mod lengths;
mod limits;
mod listener;
mod preflight;
mod probe;
mod report;
mod session;
mod text;

pub use limits::LimitReport;
pub use preflight::Preflight;
pub use report::{DonorReport, FindingReport, RoundReport};
pub use session::{Session, SessionError, State as SessionState};
pub(crate) use text::grouped;

use crate::clock::Clock;
use crate::config::Scenario;
use crate::ids::RoundId;
use crate::judge::{ProbeResult, RoundVerdict, judge_round};
use crate::length::CountError;
use crate::scenario::{self, Need, PlannedProbe, Role};
use crate::store::{NewProbe, NewRound, RoundEnd, SkippedRound, Store, StoreError};
use canary_gen::{KeyRing, ProbeNumber, Seed};
use futures_util::future::join_all;
use probe::Judged;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// How long a failing database is still waited for once we have been asked to stop.
const PATIENCE_WHEN_STOPPING: Duration = Duration::from_secs(10);

/// Seeds of rounds have so many bits: every JSON reader keeps a number below 2⁵³ exactly.
pub const SEED_BITS: u32 = 53;

/// What happens in a round, for whoever shows progress. Holds no response text.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A round has begun.
    Started {
        /// Name of the endpoint.
        endpoint: &'a str,
        /// Name of the scenario.
        scenario: &'a str,
        /// How many probes it will send.
        probes: usize,
    },
    /// A probe has been judged.
    Judged {
        /// Name of the endpoint.
        endpoint: &'a str,
        /// What the probe was for.
        role: Role,
        /// Name of its tenant.
        tenant: &'a str,
        /// Length of its prompt, in tokens.
        tokens: u64,
        /// The verdict's name.
        verdict: &'static str,
        /// The verdict's reason.
        reason: Option<&'static str>,
    },
}

/// Whoever shows progress.
pub type Observer = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// What a round is made of.
#[derive(Clone, Debug)]
pub struct RoundOrder<'a> {
    /// Which scenario, with its settings.
    pub scenario: &'a Scenario,
    /// Reproduces the schedule; of [`SEED_BITS`] bits.
    pub seed: u64,
    /// Its place on the time grid; `None` if started by hand.
    pub due_at: Option<OffsetDateTime>,
}

/// Why a round could not be carried through.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    /// The database failed for longer than we wait. Nothing of the report is lost: it is in here.
    #[error("record the round")]
    Store {
        /// What failed.
        source: StoreError,
        /// What is known of the round so far, if it had begun.
        report: Option<Box<RoundReport>>,
    },
}

/// Carries rounds out.
#[derive(Clone)]
pub struct Executor {
    /// Where facts go.
    pub store: Store,
    /// Mints and recognises canaries.
    pub ring: KeyRing,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// How long a failing database is waited for before the round is given up.
    pub patience: Duration,
    /// Shows progress.
    pub observer: Observer,
    /// When it is cancelled, no further step begins; the probes under way end within their limits,
    /// and the round is recorded as far as it got.
    pub stop: CancellationToken,
}

/// A round under way.
struct Running<'a> {
    executor: &'a Executor,
    session: &'a Session,
    scenario: &'a Scenario,
    id: RoundId,
    report: RoundReport,
    results: Vec<ProbeResult>,
}

impl Executor {
    /// Carries out one round.
    ///
    /// # Errors
    /// When the database keeps failing. Whatever an endpoint does is no error but a verdict.
    pub async fn run(
        &self,
        session: &Session,
        order: &RoundOrder<'_>,
    ) -> Result<RoundReport, RoundError> {
        let begun = Instant::now();
        let plan = session.order(order.scenario, Seed::from_number(order.seed));
        let main = scenario::schedule(&plan);
        let id = self.begin(session, order).await.map_err(without_report)?;
        let settled = session.settle_lengths(&main, id).await;
        let need = |form, layout| session.need(form, layout);
        let calibration = scenario::calibration(&plan, &main, need);
        let steps: Vec<&Vec<PlannedProbe>> = calibration.steps.iter().chain(&main.steps).collect();
        let numbers = self
            .number(session, id, &steps)
            .await
            .map_err(without_report)?;
        (self.observer)(&Event::Started {
            endpoint: &session.endpoint.name,
            scenario: &order.scenario.name,
            probes: numbers.len(),
        });
        let mut running = Running {
            executor: self,
            session,
            scenario: order.scenario,
            id,
            report: session.empty_report(id, order),
            results: Vec::with_capacity(numbers.len()),
        };
        let cut_short = match settled {
            Ok(()) => {
                let calibrating = calibration.steps.len();
                running.steps(&steps, &numbers, calibrating).await
            }
            Err(error) => Err(CutShort::uncounted(&error)),
        };
        running.end(cut_short, begun).await
    }

    /// Records that a due round did not happen.
    ///
    /// # Errors
    /// When the database fails for longer than we wait.
    pub async fn record_skip(&self, skipped: &SkippedRound) -> Result<(), StoreError> {
        self.patiently(|| self.store.skip_round(skipped)).await
    }

    async fn begin(
        &self,
        session: &Session,
        order: &RoundOrder<'_>,
    ) -> Result<RoundId, StoreError> {
        let key = self.ring.minting().id();
        let round = NewRound {
            endpoint: session.registered.id,
            scenario: order.scenario.recipe.as_str(),
            name: order.scenario.name.clone(),
            seed: order.seed,
            key,
            due_at: order.due_at,
            started_at: self.clock.now(),
        };
        self.patiently(|| self.store.register_key(key, round.started_at))
            .await?;
        self.patiently(|| self.store.begin_round(&round)).await
    }

    async fn number(
        &self,
        session: &Session,
        round: RoundId,
        steps: &[&Vec<PlannedProbe>],
    ) -> Result<Vec<ProbeNumber>, StoreError> {
        let probes: Vec<NewProbe> = steps
            .iter()
            .enumerate()
            .flat_map(|(step, probes)| probes.iter().map(move |probe| (step, probe)))
            .map(|(step, probe)| NewProbe {
                tenant: session.registered.tenants[probe.tenant].id,
                step: step as u32,
                role: probe.role.as_str(),
                form: probe.form,
                layout: probe.layout,
                seed: probe.seed,
                tokens: probe.tokens,
            })
            .collect();
        let now = self.clock.now();
        self.patiently(|| self.store.plan_probes(round, &probes, now))
            .await
    }

    /// Repeats an act of the store until it succeeds, fails for good, or patience ends. Every act
    /// given to it may be repeated without doing harm.
    async fn patiently<T, F>(&self, act: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        const FIRST_PAUSE: Duration = Duration::from_millis(100);
        const LONGEST_PAUSE: Duration = Duration::from_secs(5);
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let turn = self.store.turn().await;
            let result = act().await;
            drop(turn);
            match result {
                Err(error) if error.is_transient() && begun.elapsed() + pause < self.patience() => {
                    tracing::warn!(error = %crate::errors::chain(&error), retry.after_ms = pause.as_millis() as u64, "the database failed; trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                result => return result,
            }
        }
    }

    fn patience(&self) -> Duration {
        if self.stop.is_cancelled() {
            self.patience.min(PATIENCE_WHEN_STOPPING)
        } else {
            self.patience
        }
    }
}

fn without_report(source: StoreError) -> RoundError {
    RoundError::Store {
        source,
        report: None,
    }
}

impl Running<'_> {
    /// Carries out step after step; tells why it ended before the last one, if it did.
    async fn steps(
        &mut self,
        steps: &[&Vec<PlannedProbe>],
        numbers: &[ProbeNumber],
        calibration_steps: usize,
    ) -> Result<(), CutShort> {
        let mut rest = numbers;
        for (index, &step) in steps.iter().enumerate() {
            if self.executor.stop.is_cancelled() {
                return Err(CutShort::Reason("stopped before its end".to_owned()));
            }
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
            // A task each: scanning a response keeps a thread busy, and there may be a thousand.
            let probes = step.iter().zip(these).map(|(&planned, &number)| {
                let (executor, session, id) =
                    (self.executor.clone(), self.session.clone(), self.id);
                AbortOnDropHandle::new(tokio::spawn(async move {
                    probe::run(&executor, &session, id, &planned, number).await
                }))
            });
            // The others of the step are judged and recorded even if one could not be.
            let mut failure = None;
            for judged in join_all(probes).await {
                match judged {
                    Ok(Ok(judged)) => self.take(judged),
                    Ok(Err(error)) => failure = failure.or(Some(CutShort::from(error))),
                    Err(error) => failure = failure.or(Some(CutShort::panicked(error))),
                }
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        Ok(())
    }

    fn take(&mut self, judged: Judged) {
        self.report.measured_limit_tokens = judged.limit.or(self.report.measured_limit_tokens);
        if let Some(error) = judged.length_error {
            let worst = self.report.length_error.unwrap_or(0.0);
            self.report.length_error = Some(worst.max(error));
        }
        self.report.findings.extend(judged.findings);
        self.results.push(judged.result);
    }

    fn last_outcome(&self) -> &'static str {
        self.results
            .last()
            .map_or("nothing was sent", |result| match &result.outcome {
                crate::endpoint::Outcome::Answered => "no `usage.prompt_tokens` in its answers",
                other => other.as_str(),
            })
    }

    async fn end(
        mut self,
        steps: Result<(), CutShort>,
        begun: Instant,
    ) -> Result<RoundReport, RoundError> {
        let (mut verdict, counts) = judge_round(&self.results, self.scenario.min_sensitivity);
        let mut failure = None;
        match steps {
            Ok(()) => {}
            // What was proven stays proven; what was not is not clean.
            Err(CutShort::Reason(reason))
                if matches!(verdict, RoundVerdict::Clean | RoundVerdict::Inconclusive(_)) =>
            {
                verdict = RoundVerdict::Inconclusive(reason);
            }
            Err(CutShort::Reason(_)) => {}
            Err(CutShort::Store(error)) => failure = Some(error),
        }
        self.report.set_verdict(&verdict, &counts);
        self.report.lengths_by = self.session.lengths().as_str();
        self.report.duration_ms = begun.elapsed().as_millis() as u64;
        let executor = self.executor;
        let end = RoundEnd {
            round: self.id,
            verdict,
            counts,
            finished_at: executor.clock.now(),
        };
        if failure.is_none() {
            failure = executor
                .patiently(|| executor.store.finish_round(&end))
                .await
                .err();
        }
        if let Some(source) = failure {
            return Err(RoundError::Store {
                source,
                report: Some(Box::new(self.report)),
            });
        }
        self.report.recorded = true;
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
            "round ended"
        );
        Ok(report)
    }
}

/// Why a round ended before its last step.
enum CutShort {
    /// For a reason that makes it inconclusive.
    Reason(String),
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

    fn uncounted(error: &CountError) -> Self {
        Self::Reason(format!("lengths could not be counted: {error}"))
    }
}

impl From<probe::ProbeError> for CutShort {
    fn from(error: probe::ProbeError) -> Self {
        match error {
            probe::ProbeError::Store(error) => Self::Store(error),
            probe::ProbeError::Void(preflight) => Self::Reason(format!("void: {preflight}")),
            probe::ProbeError::Weaver => Self::Reason("void: weaving a document failed".to_owned()),
        }
    }
}
