//! Which round is due now.

use super::grid::{Grid, Tick};
use crate::config::{Config, Scenario};
use canary_gen::Seed;
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
    /// The first tick that was skipped.
    pub first: Tick,
    /// The last tick that was skipped; `first` when there is one only.
    pub last: Tick,
    /// Why.
    pub reason: SkipReason,
}

impl Skipped {
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
    /// Nobody asked in time, and a later tick was due already.
    Late,
    /// What is left of the day's budget is less than it may cost.
    OverBudget,
    /// What is left of the day's budget is kept for rounds of a higher rank.
    KeptForOthers,
}

impl SkipReason {
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

/// What to do now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Rounds to start, the longest due first; at most one for each endpoint and scenario.
    pub orders: Vec<Order>,
    /// Rounds that will not be run.
    pub skipped: Vec<Skipped>,
}

/// Walks the grids of all pairs of endpoint and scenario. An order counts as running from the moment
/// it is handed out until [`Planner::finished`].
#[derive(Debug)]
pub struct Planner {
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
    /// The last tick that was decided upon: handed out, skipped, or before this planner's time.
    decided: Tick,
    running: Option<Tick>,
}

impl Planner {
    /// A planner of every scenario at each of its endpoints. Ticks up to `now` are the past: the
    /// first orders are those due after it.
    ///
    /// `root_label` parts the seeds, phases and jitters of this installation from those of others
    /// that watch the same endpoints (the minting key's id does); it must be the same for all probers
    /// that share a database, and after a restart.
    #[must_use]
    pub fn new(config: &Config, root_label: &str, now: OffsetDateTime) -> Self {
        let root = Seed::from_number(0).child("plan/v1").child(root_label);
        let pairs = config
            .scenarios
            .iter()
            .enumerate()
            .flat_map(|(index, scenario)| {
                let endpoints = scenario.endpoints.iter();
                endpoints.map(move |endpoint| (index, scenario, endpoint))
            });
        let lines = pairs
            .map(|(index, scenario, endpoint)| Line::new(root, endpoint, index, scenario, now));
        Self {
            lines: lines.collect(),
        }
    }

    /// Decides upon every tick up to `now`. A line whose round is still running skips its ticks; of
    /// several passed ticks the latest is ordered and the others are skipped.
    pub fn due(&mut self, now: OffsetDateTime) -> Due {
        let mut due = Due::default();
        for line in &mut self.lines {
            line.decide(now, &mut due);
        }
        due.orders.sort_by_key(|order| order.tick.at);
        due
    }

    /// Notes that the round of `order` has ended at `now`, well or not. Ticks that passed while it
    /// ran are skipped. An order that is not running is ignored.
    pub fn finished(&mut self, order: &Order, now: OffsetDateTime) -> Option<Skipped> {
        let line = self.lines.iter_mut().find(|line| line.is_running(order))?;
        let skipped = line.skip_until(line.grid.last_until(now), SkipReason::StillRunning);
        line.running = None;
        skipped
    }

    /// When the next tick comes that [`Planner::due`] has not decided upon; `None` if there is
    /// nothing to plan. May lie in the past.
    #[must_use]
    pub fn next_tick(&self) -> Option<OffsetDateTime> {
        let next = |line: &Line| line.grid.tick(line.decided.number + 1).at;
        self.lines.iter().map(next).min()
    }

    /// How many rounds are running.
    #[must_use]
    pub fn running(&self) -> usize {
        let running = |line: &&Line| line.running.is_some();
        self.lines.iter().filter(running).count()
    }
}

impl Planner {
    /// The orders of an endpoint that are not decided upon and due before `until`, the earliest first. Decides
    /// nothing.
    #[must_use]
    pub fn upcoming(&self, endpoint: &str, until: OffsetDateTime) -> Vec<Order> {
        let lines = self.lines.iter().filter(|line| line.endpoint == endpoint);
        let mut orders: Vec<Order> = lines.flat_map(|line| line.upcoming(until)).collect();
        orders.sort_by_key(|order| order.tick.at);
        orders
    }
}

impl Line {
    fn new(
        root: Seed,
        endpoint: &str,
        scenario_index: usize,
        scenario: &Scenario,
        now: OffsetDateTime,
    ) -> Self {
        let seed = root.child(endpoint).child(&scenario.name);
        let grid = Grid::new(scenario.every, scenario.jitter, seed.child("grid"));
        Self {
            endpoint: endpoint.to_owned(),
            scenario: scenario.name.clone(),
            scenario_index,
            seed,
            decided: grid.last_until(now),
            grid,
            running: None,
        }
    }

    fn decide(&mut self, now: OffsetDateTime, due: &mut Due) {
        let latest = self.grid.last_until(now);
        if latest.number <= self.decided.number {
            return;
        }
        if self.running.is_some() {
            due.skipped
                .extend(self.skip_until(latest, SkipReason::StillRunning));
            return;
        }
        let before = self.grid.tick(latest.number - 1);
        due.skipped
            .extend(self.skip_until(before, SkipReason::Late));
        self.decided = latest;
        self.running = Some(latest);
        due.orders.push(self.order(latest));
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

    fn upcoming(&self, until: OffsetDateTime) -> impl Iterator<Item = Order> + '_ {
        let numbers = self.decided.number + 1..;
        numbers
            .map(|number| self.grid.tick(number))
            .take_while(move |tick| tick.at < until)
            .map(|tick| self.order(tick))
    }

    /// Decides to skip all undecided ticks up to and including `last`.
    fn skip_until(&mut self, last: Tick, reason: SkipReason) -> Option<Skipped> {
        if last.number <= self.decided.number {
            return None;
        }
        let first = self.grid.tick(self.decided.number + 1);
        self.decided = last;
        Some(Skipped {
            endpoint: self.endpoint.clone(),
            scenario: self.scenario.clone(),
            first,
            last,
            reason,
        })
    }

    fn is_running(&self, order: &Order) -> bool {
        self.running == Some(order.tick)
            && self.endpoint == order.endpoint
            && self.scenario == order.scenario
    }
}

#[cfg(test)]
mod tests;
