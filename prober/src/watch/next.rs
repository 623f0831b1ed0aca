//! Which round is next at an endpoint, where its budget is short.

use crate::budget::{Cost, end_of_day};
use crate::config::Config;
use crate::plan::{Claim, Order, SkipReason, Timetable, choose};
use crate::round::{Executor, RoundOrder, SEED_BITS, Session};
use crate::store::{Standing, StoreError};
use std::collections::{HashMap, HashSet};

/// What rounds cost at most. Those of one scenario cost nearly the same, so one of each is reckoned.
pub(super) struct Costs<'a> {
    config: &'a Config,
    session: &'a Session,
    /// By place of the scenario.
    known: HashMap<usize, Cost>,
}

impl<'a> Costs<'a> {
    pub(super) fn new(config: &'a Config, session: &'a Session) -> Self {
        Self {
            config,
            session,
            known: HashMap::new(),
        }
    }

    /// The order that is next of those that are due; whether the budget allows it.
    ///
    /// What costs the store a look, and schedules to be made, is done only where there is a budget.
    pub(super) async fn next(
        &mut self,
        executor: &Executor,
        timetable: &Timetable,
        mut due: Vec<Order>,
    ) -> Result<Option<(Order, Result<(), SkipReason>)>, StoreError> {
        let endpoint = &self.session.endpoint;
        let (mut spent, mut fresh, mut upcoming) = Default::default();
        let claims = if endpoint.budget.is_limited() {
            let now = executor.clock.now();
            if let Some(standing) = executor.standing(self.session).await? {
                spent = standing.spent;
                fresh = not_run_since_change(self.config, Some(&standing));
            }
            let rest = timetable.upcoming(&endpoint.name, now, end_of_day(now));
            upcoming = self.claims(&rest);
            self.claims(&due)
        } else {
            let recipe = |order: &Order| &self.config.scenarios[order.scenario_index].recipe;
            let free = |order| Claim::new(order, recipe(order), Cost::default());
            due.iter().map(free).collect()
        };
        let next = choose(&endpoint.budget, spent, &claims, &upcoming, &fresh);
        Ok(next.map(|(place, admitted)| (due.swap_remove(place), admitted)))
    }

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
pub(crate) fn not_run_since_change(
    config: &Config,
    standing: Option<&Standing>,
) -> HashSet<String> {
    let has_run = |name: &str| standing.is_some_and(|known| known.has_run_since_change(name));
    let names = config.scenarios.iter().map(|scenario| &scenario.name);
    names.filter(|name| !has_run(name)).cloned().collect()
}

/// The seed of an order's round, as rounds are recorded.
pub(crate) fn seed_number(order: &Order) -> u64 {
    order.seed.choices().below(1 << SEED_BITS)
}
