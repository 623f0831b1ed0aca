//! `prober plan`

mod report;

use super::{CommandError, ConfigArg, Format, exit, location, print};
use crate::budget::{Cost, day_of, of_schedule};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, Endpoint};
use crate::plan::{Claim, Order, Timetable, forecast};
use crate::round::order_at;
use crate::scenario;
use crate::store::{Standing, Store};
use crate::watch::{not_run_since_change, seed_number};
use canary_gen::{Seed, key_file};
use report::{EndpointPlan, Plan, ScenarioPlan};
use std::process::ExitCode;
use time::{Duration, OffsetDateTime};

/// Why nothing is known of today.
const NOT_STARTED: &str = "the embedded database is not started for this";

/// What is to be planned.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  prober plan --config prober.toml --endpoint glm-prod --hours 24

Shows for each endpoint and scenario: the rounds that are due, what they send and cost at most, how many of
them the endpoint's budget allows, and why the others will be skipped. Today's spending is read from the
database if it is a server that can be reached; nothing is started, changed or sent.

What it shows is what rounds cost at most. A round that is answered shortly, or whose over-long prompts are
refused, costs less, and then more rounds run. Not foreseen: rounds that are skipped because the one before
them still runs, and calibration, which a prober that runs already has behind it.")]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// Name of the endpoint; all of them if left out.
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// How far to look ahead, in hours; a day has 24, whatever is left of today.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=168))]
    hours: u16,
    /// A table for people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Tells what the next hours will send and cost.
///
/// # Errors
/// When the configuration or the key ring is wrong, or there is no such endpoint.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let endpoints = super::limits::choose(&config, args.endpoint.as_deref())?;
    // Phases and jitters of the grid differ between key rings.
    let ring = key_file::load(&config.key_ring_file)?;
    let label = ring.minting().id().to_string();
    let now = SystemClock.now();
    let until = now.saturating_add(Duration::hours(args.hours.into()));
    let (store, assumed) = match Store::look(&location(&config)).await {
        Ok(Some(store)) => (Some(store), None),
        Ok(None) => (None, Some(NOT_STARTED.to_owned())),
        Err(error) => (None, Some(crate::errors::chain(&error))),
    };
    let mut plan = Plan {
        from: now,
        until,
        endpoints: Vec::new(),
    };
    let timetable = Timetable::new(&config, &label);
    for endpoint in endpoints {
        let (standing, assumed) = standing(store.as_ref(), endpoint, now, assumed.clone()).await;
        let orders = timetable.upcoming(&endpoint.name, now, until);
        let outlook = Outlook {
            config: &config,
            endpoint,
            standing,
            now,
        };
        plan.endpoints.push(outlook.plan(&orders, assumed));
    }
    if let Some(store) = store {
        store.close().await;
    }
    match args.format {
        Format::Json => print(&serde_json::to_string(&plan)?)?,
        Format::Text => print(&plan.to_string())?,
    }
    Ok(ExitCode::from(exit::CLEAN))
}

/// What the store knows of an endpoint, or why nothing is known.
async fn standing(
    store: Option<&Store>,
    endpoint: &Endpoint,
    now: OffsetDateTime,
    assumed: Option<String>,
) -> (Option<Standing>, Option<String>) {
    let Some(store) = store else {
        return (None, assumed);
    };
    match store.standing(&endpoint.name, day_of(now)).await {
        Ok(Some(standing)) => (Some(standing), None),
        Ok(None) => (None, Some("it was never probed".to_owned())),
        Err(error) => (None, Some(crate::errors::chain(&error))),
    }
}

/// Everything that an endpoint's plan depends on.
struct Outlook<'a> {
    config: &'a Config,
    endpoint: &'a Endpoint,
    standing: Option<Standing>,
    now: OffsetDateTime,
}

impl Outlook<'_> {
    fn plan(&self, orders: &[Order], assumed: Option<String>) -> EndpointPlan {
        let rounds: Vec<(Claim, u64)> = orders.iter().map(|order| self.round(order)).collect();
        let claims: Vec<Claim> = rounds.iter().map(|(claim, _)| claim.clone()).collect();
        let standing = self.standing.as_ref();
        let fresh = not_run_since_change(self.config, standing);
        let spent = standing.map_or(Cost::default(), |standing| standing.spent);
        let budget = &self.endpoint.budget;
        let fates = forecast(budget, spent, self.now, &claims, &fresh);
        let mut scenarios: Vec<ScenarioPlan> = Vec::new();
        for ((claim, probes), fate) in rounds.iter().zip(fates) {
            let known = scenarios
                .iter()
                .position(|plan| plan.scenario == claim.scenario);
            let place = known.unwrap_or_else(|| {
                scenarios.push(ScenarioPlan::new(&claim.scenario));
                scenarios.len() - 1
            });
            scenarios[place].add(claim.cost, *probes, fate);
        }
        scenarios.sort_by(|one, other| one.scenario.cmp(&other.scenario));
        EndpointPlan::new(self.endpoint, spent, assumed, scenarios)
    }

    /// A round, and how many probes it has.
    fn round(&self, order: &Order) -> (Claim, u64) {
        let scenario = &self.config.scenarios[order.scenario_index];
        let standing = self.standing.as_ref();
        let limit = standing.and_then(|known| known.measured_limit);
        let seed = Seed::from_number(seed_number(order));
        let schedule = scenario::schedule(&order_at(self.endpoint, scenario, limit, seed));
        let probes = schedule.steps.iter().map(Vec::len).sum::<usize>();
        let cost = of_schedule(&self.endpoint.budget.prices, &schedule);
        (Claim::new(order, &scenario.recipe, cost), probes as u64)
    }
}
