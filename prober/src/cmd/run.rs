//! `prober run`

use super::desk::{Chosen, Desk, seed_number};
use super::upkeep::keep_up;
use super::{CommandError, ConfigArg, exit, location, progress, signals};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Scenario};
use crate::errors;
use crate::plan::{Order, Planner, SkipReason, Skipped};
use crate::round::{Executor, RoundError, RoundOrder, Session};
use crate::store::{SkippedRound, Store, StoreError};
use canary_gen::key_file;
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::task::{Id, JoinError, JoinSet};

/// A record waits as long as it takes for the database; nobody is there to run it again.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Wake up at least so often: the clock may have been set.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
}

/// Runs rounds on the time grid until told to stop, then drains.
///
/// # Errors
/// When configuration, key ring or store are wrong at the start, or a round could not be recorded.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let config = Arc::new(args.config.load()?);
    crate::logging::start(config.log);
    let ring = key_file::load(&config.key_ring_file)?;
    let stop = signals::stop_token()?;
    let store = Store::open(&location(&config)).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut desks = HashMap::new();
    for endpoint in &config.endpoints {
        let session = Session::open(&store, endpoint, clock.as_ref()).await?;
        desks.insert(endpoint.name.clone(), Arc::new(Desk::new(session)));
    }
    let label = ring.minting().id().to_string();
    let executor = Executor {
        store: store.clone(),
        ring,
        clock: Arc::clone(&clock),
        patience: PATIENCE,
        observer: progress::none(),
        stop,
    };
    let planner = Planner::new(&config, &label, clock.now());
    tracing::info!(
        endpoints = config.endpoints.len(),
        scenarios = config.scenarios.len(),
        key.id = label,
        "watching"
    );
    let watch = Watch {
        config,
        label,
        desks,
        executor,
        planner,
        tasks: JoinSet::new(),
        orders: HashMap::new(),
        unrecorded: 0,
    };
    let (retention, stop) = (watch.config.retention, watch.executor.stop.clone());
    let upkeep = keep_up(&store, retention, clock.as_ref(), &stop);
    let (unrecorded, ()) = tokio::join!(watch.until_stopped(), upkeep);
    store.close().await;
    tracing::info!(rounds.unrecorded = unrecorded, "stopped");
    Ok(ExitCode::from(if unrecorded == 0 {
        exit::CLEAN
    } else {
        exit::ERROR
    }))
}

struct Watch {
    config: Arc<Config>,
    /// Of this installation's grid.
    label: String,
    desks: HashMap<String, Arc<Desk>>,
    executor: Executor,
    planner: Planner,
    tasks: JoinSet<Ended>,
    /// What each round's task was asked to do: known even if it panics.
    orders: HashMap<Id, Chosen>,
    unrecorded: u32,
}

/// What a task has done: a round, or the record of skipped ones.
enum Ended {
    Round(Result<(), Box<RoundError>>),
    Skip(Result<(), StoreError>),
    /// The budget does not allow it.
    NotPaid(SkipReason),
    /// It could not be told which round is next.
    NotChosen(StoreError),
}

impl Watch {
    async fn until_stopped(mut self) -> u32 {
        let stop = self.executor.stop.clone();
        while !stop.is_cancelled() {
            let due = self.planner.due(self.executor.clock.now());
            for skipped in due.skipped {
                self.skip(skipped);
            }
            for order in due.orders {
                self.start(order);
            }
            let pause = self.until_next_tick();
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => {}
                Some(ended) = self.tasks.join_next_with_id() => self.note(ended),
            }
        }
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.note(ended);
        }
        self.unrecorded
    }

    fn until_next_tick(&self) -> Duration {
        let wait = self
            .planner
            .next_tick()
            .map(|at| at - self.executor.clock.now());
        // A tick in the past is due at once.
        wait.map_or(LONGEST_SLEEP, |wait| {
            wait.try_into().unwrap_or(Duration::ZERO)
        })
        .min(LONGEST_SLEEP)
    }

    /// Puts an order into the row of its endpoint, and serves the row once: what is carried out is whichever is
    /// next when the endpoint is free.
    fn start(&mut self, order: Order) {
        let Some(desk) = self.desks.get(&order.endpoint).cloned() else {
            return;
        };
        desk.wait(order);
        let (config, label) = (Arc::clone(&self.config), self.label.clone());
        let executor = self.executor.clone();
        let chosen = Chosen::default();
        let choice = Arc::clone(&chosen);
        let task = self
            .tasks
            .spawn(async move { serve(&desk, &config, &label, &executor, &choice).await });
        self.orders.insert(task.id(), chosen);
    }

    fn skip(&mut self, skipped: Skipped) {
        tracing::warn!(
            endpoint = skipped.endpoint,
            scenario = skipped.scenario,
            rounds.skipped = skipped.count(),
            reason = skipped.reason.as_str(),
            "skipped: {}",
            skipped.reason
        );
        let Some(desk) = self.desks.get(&skipped.endpoint) else {
            return;
        };
        let scenario = self.config.scenario(&skipped.endpoint, &skipped.scenario);
        let Some((_, scenario)) = scenario else {
            return;
        };
        // One row for a run of skipped ticks: an outage of a week must not write a row for each.
        let reason = format!("{} ({} in a row)", skipped.reason, skipped.count());
        let row = skipped_row(
            &desk.session,
            scenario,
            skipped.first.at,
            self.executor.clock.now(),
            reason,
        );
        let executor = self.executor.clone();
        self.tasks
            .spawn(async move { Ended::Skip(executor.record_skip(&row).await) });
    }

    fn skip_one(&mut self, order: Option<&Order>, reason: SkipReason) {
        if let Some(order) = order {
            self.skip(Skipped {
                endpoint: order.endpoint.clone(),
                scenario: order.scenario.clone(),
                first: order.tick,
                last: order.tick,
                reason,
            });
        }
    }

    fn note(&mut self, ended: Result<(Id, Ended), JoinError>) {
        let (id, ended) = match ended {
            Ok((id, ended)) => (id, Ok(ended)),
            Err(error) => (error.id(), Err(error)),
        };
        let chosen = self.orders.remove(&id);
        let order = chosen.as_ref().and_then(|chosen| chosen.get());
        // However a round ended, the next one may begin.
        if let Some(skipped) =
            order.and_then(|order| self.planner.finished(order, self.executor.clock.now()))
        {
            self.skip(skipped);
        }
        let endpoint = order.map(|order| order.endpoint.as_str());
        let scenario = order.map(|order| order.scenario.as_str());
        match ended {
            Ok(Ended::Round(Ok(())) | Ended::Skip(Ok(()))) => {}
            Ok(Ended::NotPaid(reason)) => self.skip_one(order, reason),
            Ok(Ended::NotChosen(error)) => {
                self.unrecorded += 1;
                tracing::error!(
                    endpoint,
                    scenario,
                    error = errors::chain(&error),
                    "what was spent could not be looked up; the round was not run"
                );
            }
            Ok(Ended::Round(Err(error))) => {
                self.unrecorded += 1;
                let report = match &*error {
                    RoundError::Store { report, .. } => report,
                    RoundError::OverBudget { .. } => &None,
                };
                // The last resort: what the store did not take stands in the log, without any response text.
                let report = report
                    .as_ref()
                    .and_then(|report| serde_json::to_string(report).ok());
                let error = errors::chain(&*error);
                tracing::error!(
                    endpoint,
                    scenario,
                    error,
                    round.report = report,
                    "a round is not completely recorded"
                );
            }
            Ok(Ended::Skip(Err(error))) => {
                tracing::error!(
                    endpoint,
                    scenario,
                    error = errors::chain(&error),
                    "a skipped round is not recorded"
                );
            }
            Err(error) => {
                self.unrecorded += 1;
                tracing::error!(
                    endpoint,
                    scenario,
                    panicked = error.is_panic(),
                    "a round ended abnormally"
                );
            }
        }
    }
}

/// Carries out whichever order is next at an endpoint, once it is free.
async fn serve(
    desk: &Desk,
    config: &Config,
    label: &str,
    executor: &Executor,
    choice: &Chosen,
) -> Ended {
    let _turn = desk.turn().await;
    if executor.stop.is_cancelled() {
        let Some(order) = desk.give_up() else {
            return Ended::Skip(Ok(()));
        };
        let scenario = &config.scenarios[order.scenario_index];
        let reason = "the prober was stopped".to_owned();
        let (due_at, now) = (order.tick.at, executor.clock.now());
        let row = skipped_row(&desk.session, scenario, due_at, now, reason);
        return Ended::Skip(executor.record_skip(&row).await);
    }
    let (order, admitted) = match desk.next(config, label, executor).await {
        Ok(Some(next)) => next,
        Ok(None) => return Ended::Skip(Ok(())),
        Err(error) => {
            // It is given up, so that its line goes on.
            if let Some(order) = desk.give_up() {
                let _ = choice.set(order);
            }
            return Ended::NotChosen(error);
        }
    };
    let order = choice.get_or_init(|| order);
    if let Err(reason) = admitted {
        return Ended::NotPaid(reason);
    }
    let round = RoundOrder {
        scenario: &config.scenarios[order.scenario_index],
        seed: seed_number(order),
        due_at: Some(order.tick.at),
        replay: None,
    };
    match executor.run(&desk.session, &round).await {
        Ok(_) => Ended::Round(Ok(())),
        // Another prober was faster with the rest of the budget.
        Err(RoundError::OverBudget { .. }) => Ended::NotPaid(SkipReason::OverBudget),
        Err(error) => Ended::Round(Err(Box::new(error))),
    }
}

fn skipped_row(
    session: &Session,
    scenario: &Scenario,
    due_at: OffsetDateTime,
    skipped_at: OffsetDateTime,
    reason: String,
) -> SkippedRound {
    SkippedRound {
        endpoint: session.id(),
        scenario: scenario.recipe.as_str(),
        name: scenario.name.clone(),
        due_at,
        skipped_at,
        reason,
    }
}
