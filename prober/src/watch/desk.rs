//! The desk of an endpoint, while its lease lasts: one round at a time, until nothing is due.

use super::keep::{keep, valid_until};
use super::next::{Costs, seed_number};
use crate::config::Config;
use crate::errors;
use crate::plan::{Order, SkipReason, Skipped, Timetable};
use crate::round::{Executor, RoundError, RoundOrder, Session, Tenure};
use crate::store::{Decided, Lease, SkippedRound, StoreError};
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// An endpoint that this prober has leased.
pub(super) struct Desk {
    pub(super) config: Arc<Config>,
    pub(super) timetable: Arc<Timetable>,
    pub(super) session: Session,
    /// When it is cancelled, no further round begins: another configuration holds.
    pub(super) retired: CancellationToken,
}

/// How far a desk came.
#[derive(Default)]
pub(super) struct Served {
    /// How far its grids are decided upon, as far as is known.
    pub(super) decided: Decided,
    /// Rounds that could not be recorded.
    pub(super) unrecorded: u32,
    /// Whether something may be due still: the lease was lost, or the database failed.
    pub(super) gave_up: bool,
}

impl Desk {
    /// Decides upon everything that is due, carries out what is to be, and gives the lease back.
    pub(super) async fn serve(
        &self,
        executor: Executor,
        lease: Lease,
        asked_at: Instant,
    ) -> Served {
        let duration = self.config.fleet.lease;
        let tenure = Arc::new(Tenure::new(lease, valid_until(asked_at, duration)));
        let keeper = keep(executor.store.clone(), Arc::clone(&tenure), duration);
        let keeper = AbortOnDropHandle::new(tokio::spawn(keeper));
        let held = executor.metrics.leased(&self.session.endpoint.name);
        let executor = Executor {
            tenure: Some(Arc::clone(&tenure)),
            ..executor
        };
        let mut served = Served::default();
        if let Err(error) = self.decide(&executor, &tenure, &mut served).await {
            served.gave_up = true;
            tracing::warn!(
                endpoint = self.session.endpoint.name,
                error = errors::chain(&error),
                "what is due could not be decided upon"
            );
        }
        executor.wait_until_recorded(&tenure).await;
        if !tenure.is_held(Instant::now()) {
            executor.metrics.lease_lost(&self.session.endpoint.name);
        }
        drop(keeper);
        let given_back = async {
            let _turn = executor.store.turn().await;
            executor.store.give_back(&tenure.lease).await
        };
        if let Err(error) = given_back.await {
            tracing::warn!(
                endpoint = self.session.endpoint.name,
                error = errors::chain(&error),
                "a lease could not be given back; it expires"
            );
        }
        drop(held);
        served
    }

    async fn decide(
        &self,
        executor: &Executor,
        tenure: &Tenure,
        served: &mut Served,
    ) -> Result<(), StoreError> {
        let endpoint = &self.session.endpoint.name;
        loop {
            if executor.stop.is_cancelled() || self.retired.is_cancelled() {
                return Ok(());
            }
            if !executor.may_begin() {
                served.gave_up = true;
                return Ok(());
            }
            if !tenure.is_held(Instant::now()) {
                return Err(StoreError::LeaseLost);
            }
            served.decided = executor.decided(&self.session).await?;
            let now = executor.clock.now();
            let due = self.timetable.due(endpoint, &served.decided, now);
            if due.orders.is_empty() {
                return Ok(());
            }
            for skipped in due.skipped {
                self.skip(executor, tenure, skipped).await?;
            }
            let mut costs = Costs::new(&self.config, &self.session);
            let next = costs.next(executor, &self.timetable, due.orders).await?;
            let Some((order, admitted)) = next else {
                return Ok(());
            };
            let passed = match admitted {
                Ok(()) => self.run((executor, tenure), &order, served).await?,
                Err(reason) => Some(Skipped::order(&order, reason)),
            };
            if let Some(skipped) = passed {
                self.skip(executor, tenure, skipped).await?;
            }
        }
    }

    /// Carries an order out; what is to be skipped because of it.
    async fn run(
        &self,
        (executor, tenure): (&Executor, &Tenure),
        order: &Order,
        served: &mut Served,
    ) -> Result<Option<Skipped>, StoreError> {
        let round = RoundOrder {
            scenario: &self.config.scenarios[order.scenario_index],
            seed: seed_number(order),
            due_at: Some(order.tick.at),
            replay: None,
        };
        match executor.run(&self.session, &round).await {
            Ok(_) => {}
            Err(RoundError::LeaseLost) => return Err(StoreError::LeaseLost),
            // A round by hand was faster with the rest of the budget.
            Err(RoundError::OverBudget { .. }) => {
                return Ok(Some(Skipped::order(order, SkipReason::OverBudget)));
            }
            Err(RoundError::Store { source, report }) => {
                served.unrecorded += 1;
                let metrics = &executor.metrics;
                metrics.round_unrecorded(&order.endpoint, &order.scenario);
                // The last resort: what the store did not take stands in the log, without any response text.
                let report = report
                    .as_ref()
                    .and_then(|report| serde_json::to_string(report).ok());
                tracing::error!(
                    endpoint = order.endpoint,
                    scenario = order.scenario,
                    error = errors::chain(&source),
                    round.report = report,
                    "a round is not completely recorded"
                );
            }
        }
        // Its end may wait in the spool. If the lease were lost before that is recorded, its tick would be undecided
        // again, and with it every later one: none of these may have an outcome by then.
        executor.wait_until_recorded(tenure).await;
        if !executor.may_begin() {
            return Ok(None);
        }
        // However it ended, the next one may begin.
        Ok(self.timetable.passed(order, executor.clock.now()))
    }

    async fn skip(
        &self,
        executor: &Executor,
        tenure: &Tenure,
        skipped: Skipped,
    ) -> Result<(), StoreError> {
        tracing::warn!(
            endpoint = skipped.endpoint,
            scenario = skipped.scenario,
            rounds.skipped = skipped.count(),
            reason = skipped.reason.as_str(),
            "skipped: {}",
            skipped.reason
        );
        executor.metrics.rounds_skipped(
            &skipped.endpoint,
            &skipped.scenario,
            skipped.reason,
            skipped.count(),
        );
        // One row for a run of skipped ticks: an outage of a week must not write a row for each.
        let row = SkippedRound {
            lease: tenure.lease.clone(),
            scenario: self.config.scenarios[skipped.scenario_index]
                .recipe
                .as_str(),
            name: skipped.scenario.clone(),
            due_at: skipped.first.at,
            last_due_at: skipped.last.at,
            ticks: skipped.count(),
            skipped_at: executor.clock.now(),
            reason: skipped.reason.to_string(),
        };
        executor.record_skip(&row).await
    }
}
