//! `prober replay`

use super::once::{PATIENCE, RoundFormat, conclude};
use super::{CommandError, ConfigArg, keeper, location, progress, say, signals};
use crate::clock::SystemClock;
use crate::config::{Config, Scenario};
use crate::ids::RoundId;
use crate::metrics::Metrics;
use crate::round::{Executor, Replay, RoundOrder, RoundReport, Session};
use crate::scenario::Order;
use crate::store::{RoundRecord, Store};
use canary_gen::key_file;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Which round to repeat.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// The round's number, as `once` and `run` tell it.
    #[arg(value_name = "ROUND")]
    round: i64,
    /// Repeat it at this endpoint instead of the one it was run at.
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// How the result is written (docs/once.md).
    #[arg(long, value_enum, default_value_t = RoundFormat::Text)]
    format: RoundFormat,
}

/// Runs the schedule of a recorded round again, as a round of its own, and prints its result.
///
/// # Errors
/// When configuration, key ring or store are wrong, or the round cannot be repeated.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    crate::logging::start(config.log);
    let ring = key_file::load(&config.key_ring_file)?;
    let stop = signals::stop_token()?;
    let store = Store::open(&location(&config)).await?;
    let of = RoundId(args.round);
    let recorded = store.round(of).await?.ok_or_else(|| {
        CommandError::Choice(format!("there is no round {} in the store", args.round))
    })?;
    let plan = plan_of(&recorded)?;
    let name = args.endpoint.as_deref().unwrap_or(&recorded.endpoint);
    let endpoint = config.endpoint(name).ok_or_else(|| {
        CommandError::Choice(format!(
            "round {} was run at endpoint `{name}`, which the configuration does not have (choose one with --endpoint)",
            args.round
        ))
    })?;
    if plan.tenants > endpoint.tenants.len() {
        return Err(CommandError::Choice(format!(
            "round {} takes {} tenants, endpoint `{name}` has {}",
            args.round,
            plan.tenants,
            endpoint.tenants.len()
        )));
    }
    let scenario = scenario_of(&config, &recorded, &plan);
    let clock = Arc::new(SystemClock);
    let session = Session::open(&store, endpoint, clock.as_ref()).await?;
    let executor = Executor {
        store: store.clone(),
        spool: None,
        ring,
        evidence: keeper(&config),
        incidents: config.incidents,
        clock,
        patience: PATIENCE,
        observer: progress::bars(),
        metrics: Metrics::new(),
        tenure: None,
        stop,
    };
    let order = RoundOrder {
        scenario: &scenario,
        seed: recorded.seed,
        due_at: None,
        replay: Some(Replay { of, plan }),
    };
    let ended = executor.run(&session, &order).await;
    drop(executor);
    store.close().await;
    if let Ok(report) = &ended {
        say(&compared(&recorded, report));
    }
    conclude(ended, args.format)
}

fn plan_of(recorded: &RoundRecord) -> Result<Order, CommandError> {
    let unknown = || {
        CommandError::Choice(
            "the round was recorded by a version that did not keep what a replay needs, or keeps it otherwise"
                .to_owned(),
        )
    };
    let plan = recorded.plan.clone().ok_or_else(unknown)?;
    let plan: Order = serde_json::from_value(plan).map_err(|_| unknown())?;
    if plan.recipe.as_str() == "limits" {
        return Err(CommandError::Choice(
            "a search for a limit has no schedule to repeat (run `prober limits` again)".to_owned(),
        ));
    }
    Ok(plan)
}

/// The scenario as it was, with what does not change the schedule as it is configured now.
fn scenario_of(config: &Config, recorded: &RoundRecord, plan: &Order) -> Scenario {
    let now = config.scenario(&recorded.endpoint, &recorded.name);
    Scenario {
        name: recorded.name.clone(),
        endpoints: vec![recorded.endpoint.clone()],
        every: now.map_or(Duration::ZERO, |(_, scenario)| scenario.every),
        jitter: Duration::ZERO,
        form: plan.form,
        min_sensitivity: now.map_or(0.5, |(_, scenario)| scenario.min_sensitivity),
        max_answer_tokens: plan.max_answer_tokens,
        recipe: plan.recipe.clone(),
    }
}

/// Whether the replay found what the round had found.
fn compared(recorded: &RoundRecord, report: &RoundReport) -> String {
    let mut found: Vec<&str> = report.findings.iter().map(|finding| finding.kind).collect();
    found.sort_unstable();
    found.dedup();
    let kinds = |kinds: &[&str]| match kinds {
        [] => "nothing".to_owned(),
        kinds => kinds.join(", "),
    };
    let before: Vec<&str> = recorded.findings.iter().map(String::as_str).collect();
    let same = if before == found {
        "the same"
    } else {
        "not the same"
    };
    format!(
        "prober: {same} as in the round it repeats: {} then ({}), {} now ({})",
        kinds(&before),
        recorded.verdict.as_deref().unwrap_or("not ended"),
        kinds(&found),
        report.verdict
    )
}
