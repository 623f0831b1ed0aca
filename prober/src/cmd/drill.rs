//! `prober drill` (docs/alerts.md)

use super::once::{PATIENCE, random_seed};
use super::run::dispatcher;
use super::who::login;
use super::{CommandError, ConfigArg, Format, exit, location, print, progress, say, signals};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::drill::{Conductor, Progress};
use crate::errors;
use crate::ids::DrillId;
use crate::metrics::Metrics;
use crate::round::Executor;
use crate::store::{DrillRecord, Store};
use canary_gen::key_file;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

/// How often it is looked how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Which drill to hold.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// Name of the endpoint that the drill is told of, as if that had leaked; nothing is sent to it
    /// [default: the first of the configuration].
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Tell the receivers from here, too, where no `prober run` does.
    #[arg(long)]
    alone: bool,
    /// Sentences for people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Holds a drill and tells whom it reached.
///
/// # Errors
/// When configuration, key ring or store are wrong, or one is under way.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let endpoint = choose(&config, args.endpoint.as_deref())?;
    crate::logging::start(config.log);
    let ring = key_file::load(&config.key_ring_file)?;
    let stop = signals::stop_token()?;
    let store = Store::open(&location(&config)).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let executor = Executor {
        store: store.clone(),
        spool: None,
        ring,
        evidence: None,
        incidents: config.incidents,
        clock: Arc::clone(&clock),
        patience: PATIENCE,
        observer: progress::none(),
        metrics: Metrics::new(),
        tenure: None,
        stop: stop.clone(),
    };
    let conductor = Conductor::new(&executor, config.drill, Vec::new(), random_seed);
    drop(executor);
    let told = CancellationToken::new();
    let teller = if args.alone {
        let mut dispatcher = dispatcher(&config, &store, &clock)?;
        // Receivers that are told of it must be known before.
        dispatcher.catch_up().await?;
        Some(tokio::spawn(dispatcher.run(told.clone())))
    } else {
        None
    };
    let held = hold(&conductor, &store, endpoint, &stop).await;
    told.cancel();
    if let Some(teller) = teller {
        // What ended it is in the log; what it did not tell, the drill shows.
        let _ = teller.await;
    }
    drop(conductor);
    store.close().await;
    let Some(held) = held? else {
        say("stopped; whoever watches ends the drill when its time is up");
        return Ok(ExitCode::from(exit::ERROR));
    };
    print(&match args.format {
        Format::Text => sentence(&held),
        Format::Json => object(&held).to_string(),
    })?;
    Ok(ExitCode::from(if held.record.because.is_none() {
        exit::CLEAN
    } else {
        exit::FINDING
    }))
}

/// A drill that has ended, with what arrived of it until then.
struct Held {
    record: DrillRecord,
    progress: Option<Progress>,
}

/// `None` if told to stop.
async fn hold(
    conductor: &Conductor,
    store: &Store,
    endpoint: &str,
    stop: &CancellationToken,
) -> Result<Option<Held>, CommandError> {
    let Some(id) = conductor.begin(endpoint, login()).await? else {
        return Err(CommandError::Choice(
            "a drill is under way: there is one at a time (it ends by itself, try again in a few minutes)".to_owned(),
        ));
    };
    say(&format!("drill {id} of {endpoint} …"));
    if let Err(error) = conductor.carry_out(id).await {
        // It is known already why it fails.
        let because = errors::chain(&error);
        store
            .end_drill(id, Some(&because), SystemClock.now())
            .await?;
    }
    let mut progress = None;
    loop {
        if let Some(drill) = store.drill_under_way().await?
            && drill.id == id
        {
            progress = Some(drill);
        }
        conductor.watch().await?;
        if let Some(record) = ended(store, id).await? {
            return Ok(Some(Held { record, progress }));
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}

async fn ended(store: &Store, id: DrillId) -> Result<Option<DrillRecord>, CommandError> {
    let last = store.drills(10).await?;
    let record = last.into_iter().find(|record| record.id == id);
    Ok(record.filter(|record| record.ended_at.is_some()))
}

fn choose<'a>(config: &'a Config, wanted: Option<&str>) -> Result<&'a str, CommandError> {
    let mut names = config
        .endpoints
        .iter()
        .map(|endpoint| endpoint.name.as_str());
    let Some(wanted) = wanted else {
        return names
            .next()
            .ok_or_else(|| CommandError::Choice("the configuration has no endpoint".to_owned()));
    };
    names.clone().find(|name| *name == wanted).ok_or_else(|| {
        let known: Vec<&str> = names.collect();
        CommandError::Choice(format!(
            "the configuration has no endpoint `{wanted}` (it has {})",
            known.join(", ")
        ))
    })
}

/// Seconds from its beginning.
fn after(begun_at: OffsetDateTime, at: OffsetDateTime) -> f64 {
    ((at - begun_at).as_seconds_f64() * 10.0).round() / 10.0
}

fn sentence(held: &Held) -> String {
    let Held { record, progress } = held;
    let mut pieces = Vec::new();
    if let Some(progress) = progress {
        if let Some(at) = progress.found_at {
            pieces.push(format!(
                "leak found after {:.1} s",
                after(record.begun_at, at)
            ));
        }
        pieces.extend(progress.arrivals.iter().filter_map(|one| {
            let at = one.delivered_at?;
            Some(format!(
                "{} told after {:.1} s",
                one.receiver,
                after(record.begun_at, at)
            ))
        }));
    }
    pieces.push(match &record.because {
        None => "it arrived, and closed itself".to_owned(),
        Some(because) => format!("IT DID NOT ARRIVE, nor would a leak: {because}"),
    });
    format!(
        "drill {} of {}: {}",
        record.id,
        record.endpoint,
        pieces.join(", ")
    )
}

fn object(held: &Held) -> Value {
    let Held { record, progress } = held;
    let since = |at: OffsetDateTime| after(record.begun_at, at);
    let arrivals = progress.iter().flat_map(|progress| &progress.arrivals);
    let receivers: Vec<Value> = arrivals
        .map(|one| {
            json!({ "receiver": one.receiver, "delivered_after_s": one.delivered_at.map(since), "error": one.error })
        })
        .collect();
    json!({
        "drill": record.id.get(), "endpoint": record.endpoint, "arrived": record.because.is_none(),
        "because": record.because,
        "found_after_s": progress.as_ref().and_then(|progress| progress.found_at).map(since),
        "ended_after_s": record.ended_at.map(since), "receivers": receivers,
    })
}
