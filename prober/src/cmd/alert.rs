//! `prober alert` (docs/alerts.md)

use super::who::login;
use super::{CommandError, ConfigArg, Format, exit, location, print};
use crate::alert::{Answer, Context, Envelope, Notice, Receiver, Sender, Subject};
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::store::{ReceiverRecord, Store};
use clap::Subcommand;
use serde_json::{Value, json};
use std::process::ExitCode;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What to do with alerts.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Tell who is told of incidents and whether that arrives. Exit code 0 it does, 1 a receiver takes nothing, 2 error.
    List(ListArgs),
    /// Send a harmless message to a receiver, now and past the outbox, whatever it wants to be told and at what hours.
    /// Exit code 0 it took it, 1 it did not, 2 error.
    Test(NameArgs),
    /// Tell a receiver of incidents again after it said that it is gone (HTTP 410). Exit code 0 done, 2 error: there
    /// is no such receiver, or it is not disabled.
    Enable(NameArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Sentences for people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct NameArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Its name, as the configuration has it.
    #[arg(value_name = "RECEIVER")]
    receiver: String,
}

/// Carries it out.
///
/// # Errors
/// When configuration or database are wrong, or there is no such receiver.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    match args.what {
        What::List(args) => list(&args).await,
        What::Test(args) => test(&args).await,
        What::Enable(args) => enable(&args).await,
    }
}

async fn list(args: &ListArgs) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let store = Store::open(&location(&config)).await?;
    let listed = store.receivers().await;
    store.close().await;
    let known = listed?;
    let mut lines = Vec::new();
    let mut is_well = true;
    for record in &known {
        let receiver = config.receivers.iter().find(|one| one.name == record.name);
        is_well &= !is_in_trouble(record, receiver);
        lines.push(match args.format {
            Format::Json => object(record, receiver).to_string(),
            Format::Text => sentence(record, receiver),
        });
    }
    let is_known = |receiver: &&Receiver| known.iter().any(|record| record.name == receiver.name);
    for receiver in config.receivers.iter().filter(|one| !is_known(one)) {
        lines.push(match args.format {
            Format::Json => {
                json!({ "receiver": receiver.name, "kind": receiver.kind.as_str() }).to_string()
            }
            Format::Text => format!(
                "{} ({}): no prober has run with it yet",
                receiver.name,
                receiver.kind.as_str()
            ),
        });
    }
    if lines.is_empty() && matches!(args.format, Format::Text) {
        lines.push("no receivers: nobody is told of incidents (docs/alerts.md)".to_owned());
    }
    if !lines.is_empty() {
        print(&lines.join("\n"))?;
    }
    Ok(ExitCode::from(if is_well {
        exit::CLEAN
    } else {
        exit::FINDING
    }))
}

async fn test(args: &NameArgs) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let receiver = find(&config, &args.receiver)?;
    let sender = Sender::new(receiver)?;
    let now = SystemClock.now();
    let envelope = Envelope {
        uid: unique(),
        notice: Notice {
            at: now,
            subject: Subject::Test { who: login() },
        },
    };
    let context = Context {
        now,
        site: config.alerts.status_page.as_deref(),
    };
    let message = receiver.message(&[envelope], &context);
    let (told, code) = match sender.send(&message, now).await {
        Answer::Taken => ("it took the message".to_owned(), exit::CLEAN),
        Answer::Gone => ("it answered 410: it is gone".to_owned(), exit::FINDING),
        Answer::Failed { because, .. } | Answer::Refused { because } => (because, exit::FINDING),
    };
    print(&format!(
        "{} ({}): {told}",
        receiver.name,
        receiver.kind.as_str()
    ))?;
    Ok(ExitCode::from(code))
}

async fn enable(args: &NameArgs) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let name = &find(&config, &args.receiver)?.name;
    let store = Store::open(&location(&config)).await?;
    let enabled = store.enable_receiver(name).await;
    store.close().await;
    if !enabled? {
        let message = format!("receiver `{name}` is not disabled (see `prober alert list`)");
        return Err(CommandError::Choice(message));
    }
    print(&format!("{name} is told of incidents again"))?;
    Ok(ExitCode::from(exit::CLEAN))
}

fn find<'a>(config: &'a Config, name: &str) -> Result<&'a Receiver, CommandError> {
    let found = config
        .receivers
        .iter()
        .find(|receiver| receiver.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = config
            .receivers
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        let known = if names.is_empty() {
            "it has no [[receivers]]".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        };
        CommandError::Choice(format!(
            "the configuration has no receiver `{name}` ({known})"
        ))
    })
}

/// An id that no other message has.
fn unique() -> String {
    format!(
        "test-{:016x}-{:016x}",
        super::once::random_seed(),
        super::once::random_seed()
    )
}

fn is_in_trouble(record: &ReceiverRecord, receiver: Option<&Receiver>) -> bool {
    receiver.is_some() && (record.disabled_at.is_some() || record.failed.is_some())
}

fn object(record: &ReceiverRecord, receiver: Option<&Receiver>) -> Value {
    let failed = record.failed.as_ref();
    json!({
        "receiver": record.name, "kind": receiver.map(|one| one.kind.as_str()), "seen_at": moment(record.seen_at),
        "delivered_at": record.delivered_at.map(moment), "disabled_at": record.disabled_at.map(moment),
        "failed": failed.map(|(at, because)| json!({ "at": moment(*at), "because": because })),
        "failures": record.failures, "pending": record.deliveries.pending,
        "delivered": record.deliveries.delivered, "dead": record.deliveries.dead,
    })
}

fn sentence(record: &ReceiverRecord, receiver: Option<&Receiver>) -> String {
    let kind = receiver.map_or("not in this configuration", |one| one.kind.as_str());
    let state = match (&record.disabled_at, &record.failed, &record.delivered_at) {
        (Some(at), ..) => format!(
            "DISABLED {}: it answered 410 (see `prober alert enable`)",
            moment(*at)
        ),
        (None, Some((at, because)), _) => {
            let times = match record.failures {
                1 => "once".to_owned(),
                times => format!("{times} times in a row"),
            };
            format!("FAILS, {times}, last {}: {because}", moment(*at))
        }
        (None, None, Some(at)) => format!("works, last {}", moment(*at)),
        (None, None, None) => "was told nothing yet".to_owned(),
    };
    let counts = record.deliveries;
    format!(
        "{} ({kind}): {state}; {} delivered, {} waiting, {} given up",
        record.name, counts.delivered, counts.pending, counts.dead
    )
}

fn moment(at: OffsetDateTime) -> String {
    let at = at.replace_nanosecond(0).unwrap_or(at);
    at.format(&Rfc3339).unwrap_or_else(|_| at.to_string())
}
