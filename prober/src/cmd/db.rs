//! `prober db`

use super::{CommandError, ConfigArg, Format, exit, location, print};
use crate::clock::{Clock as _, SystemClock};
use crate::round::grouped;
use crate::store::{Pruned, SchemaState, Store};
use clap::Subcommand;
use std::process::ExitCode;
use time::Date;

/// What to do with the database.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Bring the schema up to date. Every other command does so, too, when it starts; this one needs nothing
    /// but the right to change the schema.
    Migrate(Common),
    /// Tell how far the schema is and which weeks of probes there are. Changes nothing. Exit code 0 up to
    /// date, 1 not, 2 error.
    Status(Common),
    /// Drop what is older than `[retention]` keeps, as `prober run` does each hour.
    Prune(Common),
}

#[derive(Debug, clap::Args)]
struct Common {
    #[command(flatten)]
    config: ConfigArg,
    /// How the result is written to standard output.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Looks after the database.
///
/// # Errors
/// When configuration or database are wrong.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    match args.what {
        What::Migrate(common) => migrate(&common).await,
        What::Status(common) => status(&common).await,
        What::Prune(common) => prune(&common).await,
    }
}

async fn migrate(common: &Common) -> Result<ExitCode, CommandError> {
    let config = common.config.load()?;
    let store = Store::attach(&location(&config)).await?;
    let before = store.schema_state().await?;
    store.migrate().await?;
    let after = store.schema_state().await?;
    store.close().await;
    let news: Vec<i64> = after
        .applied
        .iter()
        .filter(|version| !before.applied.contains(version))
        .copied()
        .collect();
    match common.format {
        Format::Json => print_json(&serde_json::json!({
            "applied": news, "version": after.applied.last(),
        }))?,
        Format::Text if news.is_empty() => {
            print(&format!("up to date ({})", version(&after)))?;
        }
        Format::Text => print(&format!("applied {}; {}", list(&news), version(&after)))?,
    }
    Ok(ExitCode::from(exit::CLEAN))
}

async fn status(common: &Common) -> Result<ExitCode, CommandError> {
    let config = common.config.load()?;
    let store = Store::attach(&location(&config)).await?;
    let state = store.schema_state().await?;
    let is_current = state.pending.is_empty() && state.unknown.is_empty();
    let weeks = if is_current {
        store.weeks().await?
    } else {
        Vec::new()
    };
    store.close().await;
    match common.format {
        Format::Json => print_json(&serde_json::json!({
            "version": state.applied.last(), "pending": state.pending, "unknown": state.unknown,
            "weeks": weeks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))?,
        Format::Text => print(&describe(&state, &weeks))?,
    }
    Ok(ExitCode::from(if is_current {
        exit::CLEAN
    } else {
        exit::FINDING
    }))
}

async fn prune(common: &Common) -> Result<ExitCode, CommandError> {
    let config = common.config.load()?;
    let store = Store::open(&location(&config)).await?;
    let pruned = store.prune(config.retention, SystemClock.now()).await?;
    store.close().await;
    let Pruned { weeks, sums } = &pruned;
    match common.format {
        Format::Json => print_json(&serde_json::json!({
            "weeks": weeks.iter().map(ToString::to_string).collect::<Vec<_>>(), "hourly_sums": sums,
        }))?,
        Format::Text => print(&format!(
            "dropped {} of probes, {} hourly sums",
            these_weeks(weeks),
            grouped(*sums)
        ))?,
    }
    Ok(ExitCode::from(exit::CLEAN))
}

fn describe(state: &SchemaState, weeks: &[Date]) -> String {
    if !state.unknown.is_empty() {
        return format!(
            "the schema is of a newer build: this one does not know {} (update this one)",
            list(&state.unknown)
        );
    }
    if !state.pending.is_empty() {
        return format!(
            "{}; {} to be applied (run `prober db migrate`)",
            version(state),
            list(&state.pending)
        );
    }
    format!(
        "{}, up to date\n{} of probes",
        version(state),
        these_weeks(weeks)
    )
}

fn version(state: &SchemaState) -> String {
    state.applied.last().map_or_else(
        || "no schema".to_owned(),
        |version| format!("schema version {version}"),
    )
}

fn list(versions: &[i64]) -> String {
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    format!("migration {}", versions.join(", "))
}

fn these_weeks(weeks: &[Date]) -> String {
    match weeks {
        [] => "no week".to_owned(),
        [one] => format!("1 week (from {one})"),
        [first, .., last] => format!(
            "{} weeks (from {first} to the one from {last})",
            weeks.len()
        ),
    }
}

fn print_json(value: &serde_json::Value) -> Result<(), CommandError> {
    print(&serde_json::to_string(value)?)
}
