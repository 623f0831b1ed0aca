//! `prober demo`: the founding incident, replayed and caught.
//!
//! Two simulated endpoints of the same size, one healthy, one with the incident's fault, are probed
//! through real sockets with the configuration, store and code of the service itself.

mod report;
mod stage;

use super::{CommandError, exit, keeper, location, print, progress, say, signals};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{self, Config};
use crate::metrics::Metrics;
use crate::round::{Executor, RoundOrder, RoundReport, SEED_BITS, Session};
use crate::store::Store;
use canary_gen::key_file;
use report::Outcome;
use stage::Stage;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(10);

/// How to show it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Leave database and endpoints running afterwards and tell how to look at them.
    #[arg(long)]
    keep: bool,
    /// Where to keep keys, configuration and the embedded database [default: a temporary folder].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Of all choices: the same seed gives the same schedules.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1 << SEED_BITS))]
    seed: u64,
}

/// Replays the incident. Exit code 0 only if the leak was proven and the control stayed clean.
///
/// # Errors
/// When the stage could not be set up or the store failed.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let begun = Instant::now();
    let stop = signals::stop_token()?;
    let mut stage = Stage::set_up(args.data_dir).await?;
    let config = config::load(&stage.config_file).map_err(CommandError::Config)?;
    crate::logging::start(config.log);
    say(&format!(
        "starting the database ({})",
        stage::describe(&config)
    ));
    let store = Store::open(&location(&config)).await?;
    let played = play(&config, &store, args.seed, &stop).await;
    let outcome = match played {
        Ok(rounds) => Outcome {
            rounds,
            begun,
            counts: store.counts().await?,
        },
        Err(error) => {
            store.close().await;
            return Err(error);
        }
    };
    print(&outcome.to_string())?;
    if args.keep && !stop.is_cancelled() {
        store.release().await;
        stage.keep();
        say(&stage.how_to_look(store.embedded_url().as_deref()));
        stop.cancelled().await;
    }
    store.close().await;
    stage.tear_down().await;
    Ok(ExitCode::from(if outcome.is_proven() {
        exit::CLEAN
    } else {
        exit::FINDING
    }))
}

/// A round with the moment it began, to tell how long a proof took.
struct Played {
    report: RoundReport,
    began_at: OffsetDateTime,
    began_after: Duration,
}

impl Played {
    fn proven_after(&self, found_at: OffsetDateTime) -> Duration {
        (found_at - self.began_at)
            .try_into()
            .unwrap_or(Duration::ZERO)
    }
}

async fn play(
    config: &Config,
    store: &Store,
    seed: u64,
    stop: &CancellationToken,
) -> Result<Vec<Played>, CommandError> {
    let begun = Instant::now();
    let clock = Arc::new(SystemClock);
    let executor = Executor {
        store: store.clone(),
        spool: None,
        ring: key_file::load(&config.key_ring_file)?,
        evidence: keeper(config),
        incidents: config.incidents,
        clock: clock.clone(),
        patience: PATIENCE,
        observer: progress::bars(),
        metrics: Metrics::new(),
        tenure: None,
        stop: stop.clone(),
    };
    let mut sessions = Vec::new();
    for endpoint in &config.endpoints {
        sessions.push(Session::open(store, endpoint, clock.as_ref()).await?);
    }
    let mut rounds = Vec::new();
    for scenario in &config.scenarios {
        for session in &sessions {
            let began_after = begun.elapsed();
            say(&format!("{} at {} …", scenario.name, session.endpoint.name));
            let began_at = clock.now();
            let order = RoundOrder {
                scenario,
                seed,
                due_at: None,
                replay: None,
            };
            let report = executor.run(session, &order).await?;
            say(&format!(
                "{} at {}: {} after {:.1} s",
                scenario.name,
                session.endpoint.name,
                report.verdict,
                report.duration_ms as f64 / 1_000.0
            ));
            rounds.push(Played {
                report,
                began_at,
                began_after,
            });
        }
    }
    Ok(rounds)
}
