//! The desk of an endpoint in `prober run`: one round at a time, and who is next where a budget is short.

use crate::budget::{Cost, end_of_day};
use crate::config::Config;
use crate::plan::{Claim, Order, Planner, SkipReason, choose};
use crate::round::{Executor, RoundOrder, SEED_BITS, Session};
use crate::store::{Standing, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::MutexGuard;

/// An endpoint's session, and the orders that wait for it.
pub(super) struct Desk {
    pub(super) session: Session,
    /// The right to use the session: one round at a time.
    turn: tokio::sync::Mutex<()>,
    waiting: Mutex<Vec<Order>>,
}

/// Which order a task carries out, once it has been chosen: known even if the task panics.
pub(super) type Chosen = Arc<OnceLock<Order>>;

impl Desk {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            turn: tokio::sync::Mutex::new(()),
            waiting: Mutex::new(Vec::new()),
        }
    }

    /// Puts an order into the row. Whoever does so must serve the desk once.
    pub(super) fn wait(&self, order: Order) {
        self.waiting().push(order);
    }

    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Takes the order that is next out of the row; whether the budget allows it.
    ///
    /// Must be called with the turn in hand. What costs the store a look, and schedules to be made, is done only
    /// where there is a budget.
    pub(super) async fn next(
        &self,
        config: &Config,
        label: &str,
        executor: &Executor,
    ) -> Result<Option<(Order, Result<(), SkipReason>)>, StoreError> {
        let budget = &self.session.endpoint.budget;
        let mut costs = Costs {
            config,
            session: &self.session,
            known: HashMap::new(),
        };
        let (mut spent, mut fresh, mut upcoming) = Default::default();
        if budget.is_limited() {
            let now = executor.clock.now();
            if let Some(standing) = executor.standing(&self.session).await? {
                spent = standing.spent;
                fresh = not_run_since_change(config, Some(&standing));
            }
            // The grid is the same whoever walks it.
            let rest = Planner::new(config, label, now);
            upcoming = costs.claims(&rest.upcoming(&self.session.endpoint.name, end_of_day(now)));
        }
        let mut waiting = self.waiting();
        let due = if budget.is_limited() {
            costs.claims(&waiting)
        } else {
            let recipe = |order: &Order| &config.scenarios[order.scenario_index].recipe;
            let free = |order| Claim::new(order, recipe(order), Cost::default());
            waiting.iter().map(free).collect()
        };
        let next = choose(budget, spent, &due, &upcoming, &fresh);
        Ok(next.map(|(place, admitted)| (waiting.remove(place), admitted)))
    }

    /// Takes any order out of the row, to give it up.
    pub(super) fn give_up(&self) -> Option<Order> {
        self.waiting().pop()
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Order>> {
        // A list of orders is never left half written.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What rounds cost at most. Those of one scenario cost nearly the same, so one of each is reckoned.
struct Costs<'a> {
    config: &'a Config,
    session: &'a Session,
    /// By place of the scenario.
    known: HashMap<usize, Cost>,
}

impl Costs<'_> {
    fn claims(&mut self, orders: &[Order]) -> Vec<Claim> {
        orders.iter().map(|order| self.claim(order)).collect()
    }

    fn claim(&mut self, order: &Order) -> Claim {
        let scenario = &self.config.scenarios[order.scenario_index];
        let known = self.known.entry(order.scenario_index);
        let cost = known.or_insert_with(|| {
            self.session.cost_at_most(&RoundOrder {
                scenario,
                seed: seed_number(order),
                due_at: None,
                replay: None,
            })
        });
        Claim::new(order, &scenario.recipe, *cost)
    }
}

/// Names of the scenarios that have not run since the endpoint last changed: all where nothing is known of it.
pub(super) fn not_run_since_change(
    config: &Config,
    standing: Option<&Standing>,
) -> HashSet<String> {
    let has_run = |name: &str| standing.is_some_and(|known| known.has_run_since_change(name));
    let names = config.scenarios.iter().map(|scenario| &scenario.name);
    names.filter(|name| !has_run(name)).cloned().collect()
}

/// The seed of an order's round, as rounds are recorded.
pub(super) fn seed_number(order: &Order) -> u64 {
    order.seed.choices().below(1 << SEED_BITS)
}
