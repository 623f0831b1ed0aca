//! Which rounds are due now.

use super::grid::{Grid, Tick};
use crate::config::{Config, Scenario};
use canary_gen::Seed;
use std::collections::HashMap;
use std::fmt;
use time::OffsetDateTime;

/// One round that is to be run: what the executor is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The name of the endpoint.
    pub endpoint: String,
    /// The name of the scenario; unique at that endpoint.
    pub scenario: String,
    /// The scenario's place in [`Config::scenarios`].
    pub scenario_index: usize,
    /// When it was due.
    pub tick: Tick,
    /// Of all the round's choices: a function of the root label, endpoint, scenario and cell.
    pub seed: Seed,
}

/// Ticks of one endpoint and scenario that were not run, in a row and for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The name of the endpoint.
    pub endpoint: String,
    /// The name of the scenario.
    pub scenario: String,
    /// The scenario's place in [`Config::scenarios`].
    pub scenario_index: usize,
    /// The first tick that was skipped.
    pub first: Tick,
    /// The last tick that was skipped; `first` when there is one only.
    pub last: Tick,
    /// Why.
    pub reason: SkipReason,
}

impl Skipped {
    /// An order that is not carried out.
    #[must_use]
    pub fn order(order: &Order, reason: SkipReason) -> Self {
        Self {
            endpoint: order.endpoint.clone(),
            scenario: order.scenario.clone(),
            scenario_index: order.scenario_index,
            first: order.tick,
            last: order.tick,
            reason,
        }
    }

    /// How many ticks were skipped, at least 1.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.last.number.abs_diff(self.first.number) + 1
    }
}

/// Why a tick was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// The round before it was still running.
    StillRunning,
    /// Nobody was free in time, and a later tick was due already.
    Late,
    /// What is left of the day's budget is less than it may cost.
    OverBudget,
    /// What is left of the day's budget is kept for rounds of a higher rank.
    KeptForOthers,
}

impl SkipReason {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::StillRunning,
        Self::Late,
        Self::OverBudget,
        Self::KeptForOthers,
    ];

    /// The name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StillRunning => "still_running",
            Self::Late => "late",
            Self::OverBudget => "over_budget",
            Self::KeptForOthers => "kept_for_others",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StillRunning => "the round before it was still running",
            Self::Late => "a later round was due before it could be started",
            Self::OverBudget => "what is left of the day's budget is less than it may cost",
            Self::KeptForOthers => {
                "what is left of the day's budget is kept for over-long rounds and those after a change"
            }
        })
    }
}

/// What to do now at an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Rounds to run, the longest due first; at most one for each scenario.
    pub orders: Vec<Order>,
    /// Rounds that will not be run.
    pub skipped: Vec<Skipped>,
}

/// By name of the scenario: until when its ticks have an outcome.
type Decided = HashMap<String, OffsetDateTime>;

/// The time grids of all pairs of endpoint and scenario. Remembers nothing: how far a grid is decided upon comes in.
#[derive(Debug)]
pub struct Timetable {
    lines: Vec<Line>,
}

/// One pair of endpoint and scenario.
#[derive(Debug)]
struct Line {
    endpoint: String,
    scenario: String,
    scenario_index: usize,
    seed: Seed,
    grid: Grid,
}

impl Timetable {
    /// That of every scenario at each of its endpoints.
    ///
    /// `root_label` parts the seeds, phases and jitters of this installation from those of others
    /// that watch the same endpoints (the minting key's id does); it must be the same for all probers
    /// that share a database, and after a restart.
    #[must_use]
    pub fn new(config: &Config, root_label: &str) -> Self {
        let root = Seed::from_number(0).child("plan/v1").child(root_label);
        let pairs = config
            .scenarios
            .iter()
            .enumerate()
            .flat_map(|(index, scenario)| {
                let endpoints = scenario.endpoints.iter();
                endpoints.map(move |endpoint| (index, scenario, endpoint))
            });
        let lines =
            pairs.map(|(index, scenario, endpoint)| Line::new(root, endpoint, index, scenario));
        Self {
            lines: lines.collect(),
        }
    }

    /// What is to be done with every tick up to `now` that is not decided upon: of several of one scenario the
    /// latest is ordered and the others are skipped. A scenario that `decided` does not name has nothing due.
    #[must_use]
    pub fn due(&self, endpoint: &str, decided: &Decided, now: OffsetDateTime) -> Due {
        let mut due = Due::default();
        for (line, decided) in self.of(endpoint, decided) {
            let ticks = line.grid.missed(line.grid.last_until(decided), now);
            let Some(latest) = ticks.clone().next_back() else {
                continue;
            };
            due.skipped
                .extend(line.skip(ticks.start..latest, SkipReason::Late));
            due.orders.push(line.order(line.grid.tick(latest)));
        }
        due.orders.sort_by_key(|order| order.tick.at);
        due
    }

    /// The ticks that passed while an order was carried out.
    #[must_use]
    pub fn passed(&self, order: &Order, now: OffsetDateTime) -> Option<Skipped> {
        let line = self
            .lines
            .iter()
            .find(|line| line.endpoint == order.endpoint && line.scenario == order.scenario)?;
        line.skip(line.grid.missed(order.tick, now), SkipReason::StillRunning)
    }

    /// When the next tick of an endpoint comes that is not decided upon; may lie in the past. `None` if there is
    /// none.
    #[must_use]
    pub fn next(&self, endpoint: &str, decided: &Decided) -> Option<OffsetDateTime> {
        self.of(endpoint, decided)
            .map(|(line, decided)| line.grid.next_after(decided).at)
            .min()
    }

    /// The orders of an endpoint after a moment and before another, the earliest first.
    #[must_use]
    pub fn upcoming(
        &self,
        endpoint: &str,
        after: OffsetDateTime,
        until: OffsetDateTime,
    ) -> Vec<Order> {
        let lines = self.lines.iter().filter(|line| line.endpoint == endpoint);
        let mut orders: Vec<Order> = lines.flat_map(|line| line.upcoming(after, until)).collect();
        orders.sort_by_key(|order| order.tick.at);
        orders
    }

    /// Names of the scenarios at an endpoint.
    #[must_use]
    pub fn scenarios(&self, endpoint: &str) -> Vec<String> {
        let lines = self.lines.iter().filter(|line| line.endpoint == endpoint);
        lines.map(|line| line.scenario.clone()).collect()
    }

    fn of<'a>(
        &'a self,
        endpoint: &'a str,
        decided: &'a Decided,
    ) -> impl Iterator<Item = (&'a Line, OffsetDateTime)> {
        let lines = self
            .lines
            .iter()
            .filter(move |line| line.endpoint == endpoint);
        lines.filter_map(|line| Some((line, *decided.get(&line.scenario)?)))
    }
}

impl Line {
    fn new(root: Seed, endpoint: &str, scenario_index: usize, scenario: &Scenario) -> Self {
        let seed = root.child(endpoint).child(&scenario.name);
        Self {
            endpoint: endpoint.to_owned(),
            scenario: scenario.name.clone(),
            scenario_index,
            seed,
            grid: Grid::new(scenario.every, scenario.jitter, seed.child("grid")),
        }
    }

    fn order(&self, tick: Tick) -> Order {
        Order {
            endpoint: self.endpoint.clone(),
            scenario: self.scenario.clone(),
            scenario_index: self.scenario_index,
            tick,
            seed: self.seed.child_number("cell", tick.number.cast_unsigned()),
        }
    }

    fn upcoming(
        &self,
        after: OffsetDateTime,
        until: OffsetDateTime,
    ) -> impl Iterator<Item = Order> + '_ {
        let numbers = self.grid.next_after(after).number..;
        numbers
            .map(|number| self.grid.tick(number))
            .take_while(move |tick| tick.at < until)
            .map(|tick| self.order(tick))
    }

    fn skip(&self, ticks: std::ops::Range<i64>, reason: SkipReason) -> Option<Skipped> {
        let last = ticks.clone().next_back()?;
        Some(Skipped {
            endpoint: self.endpoint.clone(),
            scenario: self.scenario.clone(),
            scenario_index: self.scenario_index,
            first: self.grid.tick(ticks.start),
            last: self.grid.tick(last),
            reason,
        })
    }
}

#[cfg(test)]
mod tests;
