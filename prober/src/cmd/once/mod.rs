//! `prober once`

mod junit;
mod sarif;
#[cfg(test)]
mod tests;

use super::{CommandError, ConfigArg, exit, keeper, location, print, progress, say, signals};
use crate::clock::SystemClock;
use crate::config::{Config, Endpoint, Scenario};
use crate::metrics::Metrics;
use crate::round::{
    Executor, FindingReport, RoundError, RoundOrder, RoundReport, SEED_BITS, Session,
};
use crate::store::Store;
use canary_gen::key_file;
use ring::rand::SecureRandom as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long a failing database is waited for before the round is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Which round to run.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// Name of the endpoint; may be left out if the scenario has only one.
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Name of the scenario; may be left out if there is only one.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// Of all choices: the same seed gives the same schedule. Default: random.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << SEED_BITS))]
    seed: Option<u64>,
    /// How the result is written (docs/once.md).
    #[arg(long, value_enum, default_value_t = RoundFormat::Text)]
    format: RoundFormat,
}

/// How the result of a round is written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum RoundFormat {
    /// Sentences for people.
    Text,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0, for tools that gather findings.
    Sarif,
    /// JUnit's XML, for pipelines that show tests.
    Junit,
}

/// Runs one round and prints its result.
///
/// # Errors
/// When configuration, key ring, store or the choice of the round are wrong.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let (endpoint, scenario) = choose(&config, args.endpoint.as_deref(), args.scenario.as_deref())?;
    crate::logging::start(config.log);
    let ring = key_file::load(&config.key_ring_file)?;
    let stop = signals::stop_token()?;
    let store = Store::open(&location(&config)).await?;
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
        scenario,
        seed: args.seed.unwrap_or_else(random_seed),
        due_at: None,
        replay: None,
    };
    let ended = executor.run(&session, &order).await;
    drop(executor);
    store.close().await;
    conclude(ended, args.format)
}

/// Prints what is known of a round; its exit code.
pub(super) fn conclude(
    ended: Result<RoundReport, RoundError>,
    format: RoundFormat,
) -> Result<ExitCode, CommandError> {
    match ended {
        Ok(report) => {
            let code = code(&report);
            show(&report, code, format)?;
            Ok(ExitCode::from(code))
        }
        // The database went away, but a leak that was proven must not be lost with it.
        Err(RoundError::Store {
            source,
            report: Some(report),
        }) => {
            say(&format!(
                "prober: not everything is in the store: {}",
                crate::errors::chain(&source)
            ));
            let code = if report.leaks > 0 {
                exit::FINDING
            } else {
                exit::ERROR
            };
            show(&report, code, format)?;
            Ok(ExitCode::from(code))
        }
        Err(error @ RoundError::OverBudget { .. }) => {
            say(&format!("prober: {}", crate::errors::chain(&error)));
            Ok(ExitCode::from(exit::OVER_BUDGET))
        }
        Err(error) => Err(error.into()),
    }
}

/// The exit code of a round.
fn code(report: &RoundReport) -> u8 {
    match report.verdict {
        "leak" | "finding" => exit::FINDING,
        "clean" => exit::CLEAN,
        _ => exit::INCONCLUSIVE,
    }
}

/// A seed nobody can foresee.
pub(super) fn random_seed() -> u64 {
    let mut bytes = [0; 8];
    match ring::rand::SystemRandom::new().fill(&mut bytes) {
        Ok(()) => u64::from_be_bytes(bytes) >> (64 - SEED_BITS),
        // Foreseeable, but a round still runs, and its seed is told.
        Err(_) => 1,
    }
}

fn choose<'a>(
    config: &'a Config,
    endpoint: Option<&str>,
    scenario: Option<&str>,
) -> Result<(&'a Endpoint, &'a Scenario), CommandError> {
    let fits = |wanted: Option<&str>, name: &str| wanted.is_none_or(|wanted| wanted == name);
    let pairs: Vec<_> = config
        .scenarios
        .iter()
        .filter(|candidate| fits(scenario, &candidate.name))
        .flat_map(|scenario| scenario.endpoints.iter().map(move |name| (name, scenario)))
        .filter(|(name, _)| fits(endpoint, name))
        .filter_map(|(name, scenario)| Some((config.endpoint(name)?, scenario)))
        .collect();
    match pairs[..] {
        [pair] => Ok(pair),
        [] => Err(CommandError::Choice(format!(
            "no scenario of the configuration fits --endpoint and --scenario (it has: {})",
            list(config.scenarios.iter().flat_map(pair_names))
        ))),
        _ => Err(CommandError::Choice(format!(
            "one round is run at a time: choose with --endpoint and --scenario among: {}",
            list(
                pairs
                    .iter()
                    .map(|(endpoint, scenario)| format!("{} at {}", scenario.name, endpoint.name))
            )
        ))),
    }
}

fn pair_names(scenario: &Scenario) -> impl Iterator<Item = String> + '_ {
    scenario
        .endpoints
        .iter()
        .map(|endpoint| format!("{} at {endpoint}", scenario.name))
}

fn list(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn show(report: &RoundReport, code: u8, format: RoundFormat) -> Result<(), CommandError> {
    let text = match format {
        RoundFormat::Json => serde_json::to_string(report)?,
        RoundFormat::Text => report.to_string(),
        RoundFormat::Sarif => sarif::log(report, code)?.to_string(),
        RoundFormat::Junit => {
            junit::document(report).map_err(CommandError::io("write the result as XML"))?
        }
    };
    print(&text)
}

/// A finding in sentences, for tools that take text.
fn sentences(finding: &FindingReport) -> String {
    let text = finding.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join("\n")
}
