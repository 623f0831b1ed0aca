//! `prober limits`

use super::once::{PATIENCE, random_seed};
use super::{CommandError, ConfigArg, Format, exit, keeper, location, print, progress, signals};
use crate::clock::SystemClock;
use crate::config::{Config, Endpoint, Scenario};
use crate::metrics::Metrics;
use crate::round::{Executor, LimitReport, RoundOrder, SEED_BITS, Session};
use crate::scenario::Recipe;
use crate::store::Store;
use canary_gen::{Form, key_file};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Room for an answer: what is asked for is not the answer but whether there is one.
const ANSWER_TOKENS: u32 = 32;
/// The budget without `--budget`, in advertised windows.
const WINDOWS: u64 = 12;

/// Whose limit to find.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// Name of the endpoint; all of them, one after the other, if left out.
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Tokens that may be sent to each endpoint. Default: twelve times its advertised window.
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
    /// Of all documents: the same seed gives the same ones. Default: random.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << SEED_BITS))]
    seed: Option<u64>,
    /// Sentences for people, or one JSON object an endpoint (docs/limits.md).
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Finds the limits and prints them.
///
/// # Errors
/// When configuration, key ring or store are wrong, or there is no such endpoint.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let endpoints = choose(&config, args.endpoint.as_deref())?;
    crate::logging::start(config.log);
    let ring = key_file::load(&config.key_ring_file)?;
    let stop = signals::stop_token()?;
    let store = Store::open(&location(&config)).await?;
    let clock = Arc::new(SystemClock);
    let executor = Executor {
        store: store.clone(),
        spool: None,
        ring,
        evidence: keeper(&config),
        incidents: config.incidents,
        clock: clock.clone(),
        patience: PATIENCE,
        observer: progress::bars(),
        metrics: Metrics::new(),
        tenure: None,
        stop,
    };
    let seed = args.seed.unwrap_or_else(random_seed);
    let mut code = exit::CLEAN;
    for endpoint in endpoints {
        let session = Session::open(&store, endpoint, clock.as_ref()).await?;
        let budget = args.budget.unwrap_or(WINDOWS * endpoint.context_tokens);
        let scenario = scenario(endpoint, budget);
        let order = RoundOrder {
            scenario: &scenario,
            seed,
            due_at: None,
            replay: None,
        };
        let report = executor.find_limit(&session, &order).await?;
        match args.format {
            Format::Json => print(&serde_json::to_string(&report)?)?,
            Format::Text => print(&report.to_string())?,
        }
        code = worse(code, exit_code(&report));
        if executor.stop.is_cancelled() {
            break;
        }
    }
    drop(executor);
    store.close().await;
    Ok(ExitCode::from(code))
}

pub(super) fn choose<'a>(
    config: &'a Config,
    name: Option<&str>,
) -> Result<Vec<&'a Endpoint>, CommandError> {
    let fits = |endpoint: &&Endpoint| name.is_none_or(|name| name == endpoint.name);
    let chosen: Vec<&Endpoint> = config.endpoints.iter().filter(fits).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = config
            .endpoints
            .iter()
            .map(|known| known.name.as_str())
            .collect();
        return Err(CommandError::Choice(format!(
            "no endpoint of the configuration has the name of --endpoint (it has: {})",
            names.join(", ")
        )));
    }
    Ok(chosen)
}

fn scenario(endpoint: &Endpoint, budget_tokens: u64) -> Scenario {
    Scenario {
        name: "limits".to_owned(),
        endpoints: vec![endpoint.name.clone()],
        every: Duration::ZERO,
        jitter: Duration::ZERO,
        form: Form::Code,
        // A small model need not repeat anything for its limit to be found.
        min_sensitivity: 0.0,
        max_answer_tokens: ANSWER_TOKENS,
        recipe: Recipe::Limits { budget_tokens },
    }
}

fn exit_code(report: &LimitReport) -> u8 {
    match report.conclusion {
        _ if report.findings.iter().any(|finding| finding.kind == "leak") => exit::FINDING,
        "as_advertised" => exit::CLEAN,
        "unknown" => exit::INCONCLUSIVE,
        _ => exit::FINDING,
    }
}

/// A finding outweighs a doubt.
fn worse(one: u8, other: u8) -> u8 {
    match (one, other) {
        (exit::FINDING, _) | (_, exit::CLEAN) => one,
        _ => other,
    }
}
