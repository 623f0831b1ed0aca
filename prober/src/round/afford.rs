//! What a round may cost, and whether the budget of its endpoint allows it.

use super::{Executor, RoundError, RoundOrder, Session, without_report};
use crate::budget::{Cost, day_of, of_schedule};
use crate::scenario::{self, Order, Schedule};
use crate::store::{Decided, Standing, StoreError};

impl Session {
    /// What a round costs at most, calibration included where this session has learnt nothing yet.
    #[must_use]
    pub fn cost_at_most(&self, order: &RoundOrder<'_>) -> Cost {
        let plan = order.plan(self);
        self.cost_of(&plan, &scenario::schedule(&plan))
    }

    fn cost_of(&self, plan: &Order, main: &Schedule) -> Cost {
        let need = |form, layout| self.need(form, layout);
        let calibration = scenario::calibration(plan, main, need);
        let prices = &self.endpoint.budget.prices;
        of_schedule(prices, &calibration).plus(of_schedule(prices, main))
    }
}

impl Executor {
    /// What is known of a session's endpoint today.
    ///
    /// # Errors
    /// When the database fails for longer than we wait.
    pub async fn standing(&self, session: &Session) -> Result<Option<Standing>, StoreError> {
        let name = &session.endpoint.name;
        let day = day_of(self.clock.now());
        self.patiently(|| self.store.standing(name, day)).await
    }

    /// How far the time grids of a session's endpoint are decided upon.
    ///
    /// # Errors
    /// When the database fails for longer than we wait.
    pub async fn decided(&self, session: &Session) -> Result<Decided, StoreError> {
        let id = session.id();
        let mut decided = self
            .patiently(async || self.store.decided(&[id]).await)
            .await?;
        Ok(decided.remove(&id).unwrap_or_default())
    }

    /// Refuses a round that does not fit into what is left of the day's budget.
    pub(super) async fn afford(
        &self,
        session: &Session,
        plan: &Order,
        main: &Schedule,
    ) -> Result<(), RoundError> {
        let budget = &session.endpoint.budget;
        if !budget.is_limited() {
            return Ok(());
        }
        let day = day_of(self.clock.now());
        let needs = session.cost_of(plan, main);
        let spent = self
            .patiently(|| self.store.spent(session.id(), day))
            .await
            .map_err(without_report)?;
        if budget.allows(spent.plus(needs)) {
            return Ok(());
        }
        Err(RoundError::OverBudget {
            endpoint: session.endpoint.name.clone(),
            needs,
            spent,
        })
    }
}
