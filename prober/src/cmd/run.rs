//! `prober run`

use super::once::random_seed;
use super::upkeep::keep_up;
use super::{CommandError, ConfigArg, exit, keeper, location, progress, signals};
use crate::clock::{Clock, SystemClock};
use crate::config::name;
use crate::round::Executor;
use crate::store::Store;
use crate::watch::{Instance, Watch};
use canary_gen::key_file;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// A record waits as long as it takes for the database; nobody is there to run it again.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// Where this prober stands, such as a region: it takes endpoints only whose labels are all among its own, these
    /// and those of the configuration. May be given several times.
    #[arg(long = "label", value_name = "LABEL", value_parser = name)]
    labels: Vec<String>,
}

/// Runs rounds on the time grid until told to stop, then drains.
///
/// # Errors
/// When configuration, key ring or store are wrong at the start, or a round could not be recorded.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let mut config = args.config.load()?;
    config.fleet.labels.extend(args.labels);
    let config = Arc::new(config);
    crate::logging::start(config.log);
    let ring = key_file::load(&config.key_ring_file)?;
    let stop = signals::stop_token()?;
    let instance = Instance::open(&config.data_dir, random_seed())?;
    let store = Store::open(&location(&config)).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let label = ring.minting().id().to_string();
    let executor = Executor {
        store: store.clone(),
        ring,
        evidence: keeper(&config),
        incidents: config.incidents,
        clock: Arc::clone(&clock),
        patience: PATIENCE,
        observer: progress::none(),
        tenure: None,
        stop: stop.clone(),
    };
    let watch = Watch::open(Arc::clone(&config), executor, instance.name.clone(), &label).await?;
    tracing::info!(
        endpoints = watch.endpoints(),
        endpoints.of_others = config.endpoints.len() - watch.endpoints(),
        scenarios = config.scenarios.len(),
        key.id = label,
        prober = instance.name,
        "watching"
    );
    let upkeep = keep_up(&store, &config, clock.as_ref(), &stop);
    let (unrecorded, ()) = tokio::join!(watch.until_stopped(), upkeep);
    store.close().await;
    tracing::info!(rounds.unrecorded = unrecorded, "stopped");
    Ok(ExitCode::from(if unrecorded == 0 {
        exit::CLEAN
    } else {
        exit::ERROR
    }))
}
