//! What `prober plan` prints.

use crate::budget::{Budget, Cost};
use crate::config::Endpoint;
use crate::plan::SkipReason;
use crate::round::grouped;
use serde::{Serialize, Serializer};
use std::fmt;
use time::OffsetDateTime;

/// The object that `--format json` prints (docs/budgets.md).
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    #[serde(with = "time::serde::rfc3339")]
    pub(super) from: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub(super) until: OffsetDateTime,
    pub(super) endpoints: Vec<EndpointPlan>,
}

/// What an endpoint will be sent.
#[derive(Debug, Serialize)]
pub(super) struct EndpointPlan {
    endpoint: String,
    tokens_per_day: Option<u64>,
    /// Money as decimal text, exact.
    money_per_day: Option<String>,
    currency: String,
    spent_today: Sum,
    /// Why nothing is known of today; `null` if it is.
    assumed: Option<String>,
    scenarios: Vec<ScenarioPlan>,
    /// All scenarios together.
    total: ScenarioPlan,
}

/// Rounds of a scenario.
#[derive(Debug, Serialize)]
pub(super) struct ScenarioPlan {
    pub(super) scenario: String,
    /// On the grid.
    due: Sum,
    /// What the budget allows of it.
    runs: Sum,
    /// And what it does not.
    skipped: Skips,
}

/// Rounds, and what they cost at most.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Sum {
    rounds: u64,
    probes: u64,
    #[serde(flatten, serialize_with = "written")]
    cost: Cost,
}

/// Rounds that are skipped, by reason.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Skips {
    over_budget: u64,
    kept_for_others: u64,
}

#[derive(Serialize)]
struct Written {
    prompt_tokens: u64,
    answer_tokens: u64,
    money: String,
}

fn written<S: Serializer>(cost: &Cost, to: S) -> Result<S::Ok, S::Error> {
    let written = Written {
        prompt_tokens: cost.prompt_tokens,
        answer_tokens: cost.answer_tokens,
        money: cost.money.to_string(),
    };
    written.serialize(to)
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self {
            rounds: self.rounds + other.rounds,
            probes: self.probes + other.probes,
            cost: self.cost.plus(other.cost),
        }
    }
}

impl ScenarioPlan {
    pub(super) fn new(scenario: &str) -> Self {
        Self {
            scenario: scenario.to_owned(),
            due: Sum::default(),
            runs: Sum::default(),
            skipped: Skips::default(),
        }
    }

    /// Adds a round and what becomes of it.
    pub(super) fn add(&mut self, cost: Cost, probes: u64, fate: Option<SkipReason>) {
        let round = Sum {
            rounds: 1,
            probes,
            cost,
        };
        self.due = self.due.plus(round);
        match fate {
            None => self.runs = self.runs.plus(round),
            Some(SkipReason::KeptForOthers) => self.skipped.kept_for_others += 1,
            Some(_) => self.skipped.over_budget += 1,
        }
    }

    fn plus(mut self, other: &Self) -> Self {
        self.due = self.due.plus(other.due);
        self.runs = self.runs.plus(other.runs);
        self.skipped.over_budget += other.skipped.over_budget;
        self.skipped.kept_for_others += other.skipped.kept_for_others;
        self
    }
}

impl EndpointPlan {
    pub(super) fn new(
        endpoint: &Endpoint,
        spent: Cost,
        assumed: Option<String>,
        scenarios: Vec<ScenarioPlan>,
    ) -> Self {
        let Budget {
            tokens_per_day,
            money_per_day,
            currency,
            ..
        } = &endpoint.budget;
        Self {
            endpoint: endpoint.name.clone(),
            tokens_per_day: *tokens_per_day,
            money_per_day: money_per_day.map(|money| money.to_string()),
            currency: currency.clone(),
            spent_today: Sum {
                cost: spent,
                ..Sum::default()
            },
            assumed,
            total: scenarios
                .iter()
                .fold(ScenarioPlan::new("all together"), ScenarioPlan::plus),
            scenarios,
        }
    }

    fn limits(&self) -> String {
        let tokens = self
            .tokens_per_day
            .map(|tokens| format!("{} tokens", grouped(tokens)));
        let money = self
            .money_per_day
            .as_ref()
            .map(|money| format!("{money} {}", self.currency));
        let limits: Vec<String> = tokens.into_iter().chain(money).collect();
        if limits.is_empty() {
            "no budget: everything that is due runs".to_owned()
        } else {
            format!("at most {} a day (UTC)", limits.join(" and "))
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |at: OffsetDateTime| {
            let at = at.to_offset(time::UtcOffset::UTC);
            format!("{} {:02}:{:02}", at.date(), at.hour(), at.minute())
        };
        write!(
            f,
            "From {} to {} UTC, at most:",
            shown(self.from),
            shown(self.until)
        )?;
        for endpoint in &self.endpoints {
            write!(f, "\n\n{endpoint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for EndpointPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.endpoint, self.limits())?;
        match &self.assumed {
            None => {
                let spent = self.spent_today.cost;
                let tokens = grouped(spent.tokens());
                let money = spent.money;
                writeln!(
                    f,
                    "  spent today: {tokens} tokens, {money} {}",
                    self.currency
                )?;
            }
            Some(why) => writeln!(f, "  assumed that nothing was spent today ({why})")?,
        }
        let header = [
            "",
            "rounds",
            "probes",
            "prompt tokens",
            "answer tokens",
            "money",
            "run",
            "skipped",
        ];
        let rows = self
            .scenarios
            .iter()
            .chain([&self.total])
            .map(ScenarioPlan::row);
        let rows: Vec<[String; 8]> = std::iter::once(header.map(str::to_owned))
            .chain(rows)
            .collect();
        let width = |column: usize| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: [usize; 8] = std::array::from_fn(width);
        for (number, row) in rows.iter().enumerate() {
            write!(f, "  {:<1$}", row[0], widths[0])?;
            for (cell, width) in row[1..7].iter().zip(&widths[1..7]) {
                write!(f, "  {cell:>width$}")?;
            }
            write!(f, "  {}", row[7])?;
            if number + 1 < rows.len() {
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

impl ScenarioPlan {
    fn row(&self) -> [String; 8] {
        let Skips {
            over_budget,
            kept_for_others,
        } = self.skipped;
        let reasons = [
            (over_budget, "over budget"),
            (kept_for_others, "kept for others"),
        ];
        let skipped: Vec<String> = reasons
            .iter()
            .filter(|(rounds, _)| *rounds > 0)
            .map(|(rounds, reason)| format!("{rounds} {reason}"))
            .collect();
        [
            self.scenario.clone(),
            grouped(self.due.rounds),
            grouped(self.due.probes),
            grouped(self.due.cost.prompt_tokens),
            grouped(self.due.cost.answer_tokens),
            self.due.cost.money.to_string(),
            grouped(self.runs.rounds),
            if skipped.is_empty() {
                "-".to_owned()
            } else {
                skipped.join(", ")
            },
        ]
    }
}
