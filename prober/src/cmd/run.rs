//! `prober run`

use super::follow::follow;
use super::once::random_seed;
use super::upkeep::keep_up;
use super::{CommandError, ConfigArg, exit, keeper, location, progress, signals};
use crate::alert::Dispatcher;
use crate::backoff::Backoff;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, name};
use crate::drill::Conductor;
use crate::errors;
use crate::metrics::{Metrics, keep_surveying};
use crate::reload::Reloader;
use crate::round::{Executor, SEED_BITS};
use crate::serve::{self, Health};
use crate::spool::{Room, Spooler};
use crate::store::Store;
use crate::watch::{Instance, Watch};
use canary_gen::key_file;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A record waits as long as it takes for the database; nobody is there to run it again.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);

/// The disk keeps at most so many bytes for the records of what is under way.
const LARGEST_RESERVE: u64 = 16 << 20;

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
    config.fleet.labels.extend(args.labels.iter().cloned());
    let config = Arc::new(config);
    crate::logging::start(config.log);
    let ring = key_file::load(&config.key_ring_file)?;
    let stop = signals::stop_token()?;
    let instance = Instance::open(&config.data_dir, random_seed())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let metrics = Metrics::new();
    metrics.configure(&config, &[]);
    metrics.config_taken(clock.now(), false);
    let reloader = Reloader::new(
        args.config.config,
        args.labels,
        Arc::clone(&config),
        metrics.clone(),
        Arc::clone(&clock),
    );
    signals::reload_on_hangup(reloader.clone())?;
    let spool = Spooler::open(&config.data_dir.join("spool"), room(&config))?;
    metrics.watch_spool(spool.clone());
    let health = Health::new(spool.clone());
    let served = CancellationToken::new();
    let handles = (health.clone(), metrics.clone(), reloader.clone());
    let server = serve(&config, handles, served.clone()).await?;
    let Some(store) = open_store(&config, &stop).await? else {
        return Ok(ExitCode::from(exit::CLEAN));
    };
    health.opened(store.clone());
    // It may have come while the database was away.
    let mut configs = reloader.configs();
    let config = Arc::clone(&configs.borrow_and_update());
    metrics.configure(&config, &[]);
    let label = ring.minting().id().to_string();
    let surveyed = CancellationToken::new();
    let survey = tokio::spawn(keep_surveying(
        store.clone(),
        metrics.clone(),
        reloader.configs(),
        Arc::clone(&clock),
        surveyed.clone(),
    ));
    let executor = Executor {
        store: store.clone(),
        spool: Some(spool),
        ring,
        evidence: keeper(&config),
        incidents: config.incidents,
        clock: Arc::clone(&clock),
        patience: PATIENCE,
        observer: progress::none(),
        metrics: metrics.clone(),
        tenure: None,
        stop: stop.clone(),
    };
    let rehearser = executor.clone();
    let watched = CancellationToken::new();
    let replayer = executor.clone();
    let done = watched.clone();
    // Without it what waits would wait for ever: should it panic, the service stops, and whoever started it sees that.
    let guard = stop.clone().drop_guard();
    let replay = tokio::spawn(async move {
        replayer.replay(&done).await;
        guard.disarm();
    });
    let alerts = CancellationToken::new();
    let (told, guard) = (alerts.clone(), stop.clone().drop_guard());
    let dispatcher = tokio::spawn(tell(
        reloader.configs(),
        (store.clone(), Arc::clone(&clock), metrics.clone()),
        told,
        guard,
    ));
    let watch = Watch::open(Arc::clone(&config), executor, instance.name.clone(), &label).await?;
    let watch = watch.following(configs);
    tracing::info!(
        endpoints = watch.endpoints(),
        endpoints.of_others = config.endpoints.len() - watch.endpoints(),
        scenarios = config.scenarios.len(),
        key.id = label,
        prober = instance.name,
        "watching"
    );
    let (store_kept, kept_at) = (&store, clock.as_ref());
    let upkeep = follow(
        reloader.configs(),
        stop.clone(),
        |config, told| async move {
            keep_up(store_kept, &config, kept_at, &told).await;
        },
    );
    let rehearser = &rehearser;
    let drills = follow(
        reloader.configs(),
        stop.clone(),
        |config, told| async move {
            let names = config.endpoints.iter().map(|one| one.name.clone());
            let conductor = Conductor::new(rehearser, config.drill, names.collect(), random_seed);
            conductor.run(&told).await;
        },
    );
    let (unrecorded, (), ()) = tokio::join!(watch.until_stopped(), upkeep, drills);
    watched.cancel();
    let replayed = replay.await;
    if let Err(error) = &replayed {
        tracing::error!(
            error = errors::chain(error),
            "bringing the spool to the database ended abnormally"
        );
    }
    // Whatever the last rounds and the spool brought is told, too.
    alerts.cancel();
    if let Err(error) = dispatcher.await {
        tracing::error!(
            error = errors::chain(&error),
            "telling receivers of incidents ended abnormally"
        );
    }
    surveyed.cancel();
    if let Err(error) = survey.await {
        tracing::error!(
            error = errors::chain(&error),
            "looking up what the database holds ended abnormally"
        );
    }
    served.cancel();
    if let Some(server) = server {
        // What ended it is in the log.
        let _ = server.await;
    }
    store.close().await;
    tracing::info!(rounds.unrecorded = unrecorded, "stopped");
    Ok(ExitCode::from(if unrecorded == 0 && replayed.is_ok() {
        exit::CLEAN
    } else {
        exit::ERROR
    }))
}

/// Tells receivers of incidents until told to stop. Should it panic, the guard stops the service.
async fn tell(
    configs: watch::Receiver<Arc<Config>>,
    (store, clock, metrics): (Store, Arc<dyn Clock>, Metrics),
    stop: CancellationToken,
    guard: DropGuard,
) {
    let work = |config: Arc<Config>, told| {
        let dispatcher = dispatcher(&config, &store, &clock);
        let metrics = metrics.clone();
        async move {
            match dispatcher {
                Ok(dispatcher) => dispatcher.with_metrics(metrics).run(told).await,
                // It was tried before the configuration was taken over.
                Err(error) => tracing::error!(
                    error = errors::chain(&error),
                    "receivers are not told of incidents"
                ),
            }
        }
    };
    follow(configs, stop, work).await;
    guard.disarm();
}

/// What tells receivers of incidents. Says so where there are none.
pub(super) fn dispatcher(
    config: &Config,
    store: &Store,
    clock: &Arc<dyn Clock>,
) -> Result<Dispatcher, CommandError> {
    if config.receivers.is_empty() {
        tracing::warn!(
            "nobody is told of incidents: no [[receivers]] are configured (docs/alerts.md)"
        );
    }
    let chance = || random_seed() as f64 / (1u64 << SEED_BITS) as f64;
    Ok(Dispatcher::new(
        store.clone(),
        Arc::clone(clock),
        &config.receivers,
        config.alerts.status_page.clone(),
        chance,
    )?)
}

/// How much room the spool has: a part of it is kept for the day on which the disk is full.
fn room(config: &Config) -> Room {
    let max_bytes = config.spool.max_bytes;
    Room {
        max_bytes,
        reserve_bytes: (max_bytes / 4).min(LARGEST_RESERVE),
    }
}

/// Serves what tells how the prober is, if that is wanted, in a task that ends when it is told to.
async fn serve(
    config: &Config,
    (health, metrics, reloader): (Health, Metrics, Reloader),
    stop: CancellationToken,
) -> Result<Option<JoinHandle<()>>, CommandError> {
    let Some(address) = config.serve.listen else {
        return Ok(None);
    };
    let act = format!("listen on {address} (set `serve.listen` to another, or \"off\")");
    let bound = TcpListener::bind(address).await;
    let listener = bound.map_err(CommandError::io(act))?;
    let address = listener.local_addr();
    let address = address.map_err(CommandError::io("look up where it listens"))?;
    tracing::info!(listen = %address, "serving /metrics, /-/healthy, /-/ready and /-/reload");
    Ok(Some(tokio::spawn(async move {
        if let Err(error) = serve::serve(listener, health, metrics, reloader, stop).await {
            tracing::error!(error = errors::chain(&error), "nothing is served any more");
        }
    })))
}

/// Opens the database, as often as it takes; `None` if told to stop before.
async fn open_store(
    config: &Config,
    stop: &CancellationToken,
) -> Result<Option<Store>, CommandError> {
    let mut backoff = Backoff::new();
    loop {
        match Store::open(&location(config)).await {
            Ok(store) => return Ok(Some(store)),
            Err(error) if error.is_transient() => {
                tracing::warn!(
                    error = errors::chain(&error),
                    "the database cannot be opened; trying again"
                );
            }
            Err(error) => return Err(error.into()),
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.pause()) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}
