//! The executor of rounds: the only module that knows every station.
//!
//! ```text
//! schedule ─▶ weave ─▶ pre-flight scan ─▶ reserve, record as sent ─▶ send, scan while reading ─▶ judge ─▶ record
//! ```

mod afford;
mod conclude;
mod document;
mod fact;
mod keep;
mod learn;
mod lengths;
mod limits;
mod listener;
mod locate;
mod preflight;
mod probe;
mod report;
mod running;
mod session;
mod spooling;
mod tenure;
mod text;
mod together;

pub use fact::{Fact, JudgedProbe, Recorded};
pub use limits::LimitReport;
pub use locate::Received;
pub use preflight::Preflight;
pub use report::{
    DivergenceReport, DonorReport, FindingReport, HistoryReport, PartReport, PrefixReport,
    RoundReport,
};
pub(crate) use session::order_at;
pub use session::{Session, SessionError, State as SessionState};
pub use tenure::Tenure;
pub(crate) use text::grouped;

use crate::backoff::Backoff;
use crate::budget::Cost;
use crate::clock::Clock;
use crate::config::Scenario;
use crate::evidence::Keeper;
use crate::ids::RoundId;
use crate::incident;
use crate::metrics::Metrics;
use crate::scenario::{self, Order, PlannedProbe, Role, Schedule};
use crate::spool::Spooler;
use crate::store::{NewProbe, NewRound, SkippedRound, Store, StoreError};
use canary_gen::{KeyRing, ProbeNumber, Seed};
use keep::Kept;
use running::{CutShort, Running};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

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
    /// The round it repeats, if any.
    pub replay: Option<Replay>,
}

/// A round to be repeated.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Which one.
    pub of: RoundId,
    /// What its scenario looked at.
    pub plan: Order,
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
    /// Another prober has the endpoint now. Nothing was sent, and there is no round.
    #[error("the lease of the endpoint was lost before the round began")]
    LeaseLost,
    /// The day's budget does not allow it. Nothing was sent, and there is no round.
    #[error(
        "the budget of endpoint `{endpoint}` does not allow the round: it takes up to {needs}, and {spent} were spent today (wait for the next day in UTC, or raise `budget`)"
    )]
    OverBudget {
        /// The name of the endpoint.
        endpoint: String,
        /// What the round costs at most.
        needs: Cost,
        /// What was spent today.
        spent: Cost,
    },
}

/// Carries rounds out.
#[derive(Clone)]
pub struct Executor {
    /// Where facts go.
    pub store: Store,
    /// Where they wait while the database is away; `None` waits with them.
    pub spool: Option<Spooler>,
    /// Mints and recognises canaries.
    pub ring: KeyRing,
    /// Keeps the responses behind findings, sealed; `None` keeps none.
    pub evidence: Option<Keeper>,
    /// Which findings open an incident, or open it again.
    pub incidents: incident::Rules,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// How long a failing database is waited for before the round is given up.
    pub patience: Duration,
    /// Shows progress.
    pub observer: Observer,
    /// Is told what happens, for Prometheus.
    pub metrics: Metrics,
    /// The right to probe the endpoint, for rounds that are due; `None` for those started by hand.
    pub tenure: Option<Arc<Tenure>>,
    /// When it is cancelled, no further step begins; the probes under way end within their limits,
    /// and the round is recorded as far as it got.
    pub stop: CancellationToken,
}

impl Executor {
    /// Carries out one round.
    ///
    /// # Errors
    /// When the database keeps failing, or the endpoint's budget does not allow the round. Whatever an
    /// endpoint does is no error but a verdict.
    pub async fn run(
        &self,
        session: &Session,
        order: &RoundOrder<'_>,
    ) -> Result<RoundReport, RoundError> {
        let begun = Instant::now();
        let plan = order.plan(session);
        let main = scenario::schedule(&plan);
        self.afford(session, &plan, &main).await?;
        let id = match self.begin(session, order, &plan).await {
            Err(StoreError::LeaseLost) => return Err(RoundError::LeaseLost),
            begun => begun.map_err(without_report)?,
        };
        let settled = session.settle_lengths(&main, id).await;
        let need = |form, layout| session.need(form, layout);
        let calibration = scenario::calibration(&plan, &main, need);
        let calibrating = calibration.steps.len();
        let Schedule { steps } = main.after(calibration);
        let numbers = self.number(session, id, &steps).await;
        let numbers = numbers.map_err(without_report)?;
        (self.observer)(&Event::Started {
            endpoint: &session.endpoint.name,
            scenario: &order.scenario.name,
            probes: numbers.len(),
        });
        let mut running = Running {
            executor: self,
            session,
            scenario: order.scenario,
            name: Arc::from(order.scenario.name.as_str()),
            recipe: plan.recipe,
            id,
            report: session.empty_report(id, order),
            results: Vec::with_capacity(numbers.len()),
            documents: Vec::with_capacity(numbers.len()),
            kept: Kept::default(),
            head_unit: None,
        };
        let cut_short = match settled {
            Ok(()) => running.steps(&steps, &numbers, calibrating).await,
            Err(error) => Err(CutShort::uncounted(&error)),
        };
        running.end(cut_short, begun).await
    }

    /// Records that a due round did not happen.
    ///
    /// # Errors
    /// When the database fails for longer than we wait.
    pub async fn record_skip(&self, skipped: &SkippedRound) -> Result<(), StoreError> {
        let skipped = || {
            let skipped = self.store.skip_round(skipped);
            self.metrics.timed("skip", skipped)
        };
        self.patiently(skipped).await
    }

    async fn begin(
        &self,
        session: &Session,
        order: &RoundOrder<'_>,
        plan: &Order,
    ) -> Result<RoundId, StoreError> {
        let key = self.ring.minting().id();
        let round = NewRound {
            endpoint: session.registered.id,
            scenario: plan.recipe.as_str(),
            name: order.scenario.name.clone(),
            seed: order.seed,
            // Numbers and texts of our own: nothing in it cannot be written.
            plan: serde_json::to_value(plan).unwrap_or_default(),
            replay_of: order.replay.as_ref().map(|replay| replay.of),
            key,
            due_at: order.due_at,
            started_at: self.clock.now(),
            lease: self.tenure.as_ref().map(|tenure| tenure.lease.clone()),
        };
        self.patiently(|| self.store.register_key(key, round.started_at))
            .await?;
        let begun = || {
            let begun = self.store.begin_round(&round);
            self.metrics.timed("begin", begun)
        };
        self.patiently(begun).await
    }

    async fn number(
        &self,
        session: &Session,
        round: RoundId,
        steps: &[Vec<PlannedProbe>],
    ) -> Result<Vec<ProbeNumber>, StoreError> {
        let probes: Vec<NewProbe> = steps
            .iter()
            .enumerate()
            .flat_map(|(step, probes)| probes.iter().map(move |probe| (step, probe)))
            .map(|(step, &planned)| NewProbe {
                tenant: session.registered.tenants[planned.tenant].id,
                step: step as u32,
                planned,
            })
            .collect();
        let now = self.clock.now();
        let planned = || {
            let planned = self.store.plan_probes(round, &probes, now);
            self.metrics.timed("plan", planned)
        };
        self.patiently(planned).await
    }

    /// Whether requests may leave: nobody else can have the endpoint, and what they bring can be kept.
    fn may_send(&self) -> Result<(), Refusal> {
        let tenure = self.tenure.as_ref();
        if !tenure.is_none_or(|tenure| tenure.is_held(Instant::now())) {
            return Err(Refusal::LeaseLost);
        }
        match &self.spool {
            Some(spool) if spool.is_full() => Err(Refusal::SpoolFull),
            _ => Ok(()),
        }
    }

    /// Waits until requests must not go on.
    async fn must_not_send(&self) {
        match &self.tenure {
            Some(tenure) => tenure.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Repeats an act of the store until it succeeds, fails for good, or patience ends. Every act
    /// given to it may be repeated without doing harm.
    async fn patiently<T, F>(&self, act: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let begun = Instant::now();
        let mut backoff = Backoff::new();
        loop {
            let turn = self.store.turn().await;
            let result = act().await;
            drop(turn);
            match result {
                Err(error) if error.is_transient() => {
                    let pause = backoff.pause();
                    if begun.elapsed() + pause >= self.patience() {
                        return Err(error);
                    }
                    tracing::warn!(error = %crate::errors::chain(&error), retry.after_ms = pause.as_millis() as u64, "the database failed; trying again");
                    tokio::time::sleep(pause).await;
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

/// Why no request may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// Another prober may have the endpoint.
    LeaseLost,
    /// What the request would bring could not be kept.
    SpoolFull,
    /// The database is away, so that nobody knows what is left of the budget.
    BudgetUnknown,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseLost => "the lease of its endpoint was lost before its end",
            Self::SpoolFull => "the spool was full, so that nothing more was sent",
            Self::BudgetUnknown => {
                "the database was away, so that nobody knew what was left of the budget"
            }
        })
    }
}

impl RoundOrder<'_> {
    /// What the scenario looks at: as it is now, or as it was.
    fn plan(&self, session: &Session) -> Order {
        let seed = Seed::from_number(self.seed);
        match &self.replay {
            Some(replay) => Order {
                seed,
                ..replay.plan.clone()
            },
            None => session.order(self.scenario, seed),
        }
    }
}
