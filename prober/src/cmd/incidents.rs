//! `prober incidents` (docs/incidents.md)

use super::who::login;
use super::{CommandError, ConfigArg, Format, exit, location, print};
use crate::clock::{Clock as _, SystemClock};
use crate::ids::IncidentId;
use crate::incident::Act;
use crate::round::grouped;
use crate::store::{By, IncidentEvent, IncidentFinding, IncidentRecord, Store};
use clap::Subcommand;
use serde_json::{Value, json};
use std::process::ExitCode;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// So many findings of an incident are shown.
const MOST_FINDINGS: u32 = 20;

/// What to do with incidents.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Tell which incidents are not resolved. Exit code 0 none, 1 there are some, 2 error.
    List(ListArgs),
    /// Tell all about one: what became of it, and its last findings. Exit code 0, 2 error: there is no such incident.
    Show(ShowArgs),
    /// Say that somebody sees to it. Exit code 0 done, 2 error: there is no such incident, or it is no longer open.
    Acknowledge(ChangeArgs),
    /// Say that it is over. Leaks never are by themselves. Exit code 0 done, 2 error: there is no such incident, or it
    /// is resolved already.
    Resolve(ChangeArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Those that are resolved, too; they do not count for the exit code.
    #[arg(long)]
    all: bool,
    /// Sentences for people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Its number, as `list` tells it.
    #[arg(value_name = "INCIDENT")]
    incident: i64,
    /// Sentences for people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, clap::Args)]
struct ChangeArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Its number, as `list` tells it.
    #[arg(value_name = "INCIDENT")]
    incident: i64,
    /// What is to be known of it; it is recorded.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Who says so, if not the user of the operating system.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
}

/// Carries it out.
///
/// # Errors
/// When configuration or database are wrong, or there is no such incident.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    match args.what {
        What::List(args) => list(&args).await,
        What::Show(args) => show(&args).await,
        What::Acknowledge(args) => change(&args, Act::Acknowledge).await,
        What::Resolve(args) => change(&args, Act::Resolve).await,
    }
}

async fn list(args: &ListArgs) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let store = Store::open(&location(&config)).await?;
    let listed = store.incidents(args.all).await;
    store.close().await;
    let incidents = listed?;
    let lines: Vec<String> = match args.format {
        Format::Json => incidents
            .iter()
            .map(|one| object(one).to_string())
            .collect(),
        Format::Text if incidents.is_empty() => vec!["no incidents".to_owned()],
        Format::Text => incidents.iter().map(sentence).collect(),
    };
    if !lines.is_empty() {
        print(&lines.join("\n"))?;
    }
    let is_any = incidents.iter().any(|one| one.resolved.is_none());
    Ok(ExitCode::from(if is_any {
        exit::FINDING
    } else {
        exit::CLEAN
    }))
}

async fn show(args: &ShowArgs) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let store = Store::open(&location(&config)).await?;
    let id = IncidentId(args.incident);
    let found = async {
        let incident = store.incident(id).await?;
        let events = store.incident_events(id).await?;
        let findings = store.incident_findings(id, MOST_FINDINGS).await?;
        Ok::<_, CommandError>((incident, events, findings))
    }
    .await;
    store.close().await;
    let (incident, events, findings) = found?;
    let incident = incident.ok_or_else(|| missing(id))?;
    match args.format {
        Format::Json => {
            let mut object = object(&incident);
            object["events"] = events.iter().map(event_object).collect();
            object["last_findings"] = findings.iter().map(finding_object).collect();
            print(&object.to_string())?;
        }
        Format::Text => {
            let mut lines = vec![sentence(&incident)];
            lines.extend(events.iter().map(event_line));
            lines.extend(findings.iter().map(finding_line));
            print(&lines.join("\n"))?;
        }
    }
    Ok(ExitCode::from(exit::CLEAN))
}

async fn change(args: &ChangeArgs, act: Act) -> Result<ExitCode, CommandError> {
    let who = args.name.clone().unwrap_or_else(login);
    let is_blank = |text: &str| text.trim().is_empty();
    if is_blank(&who) || args.note.as_deref().is_some_and(is_blank) {
        return Err(CommandError::Choice(
            "--as and --note are not empty (leave them out, or say something)".to_owned(),
        ));
    }
    let by = By {
        who,
        note: args.note.clone(),
        at: SystemClock.now(),
    };
    let config = args.config.load()?;
    let store = Store::open(&location(&config)).await?;
    let id = IncidentId(args.incident);
    let changed = store.change_incident(id, act, &by).await;
    store.close().await;
    let state = changed?
        .ok_or_else(|| missing(id))?
        .map_err(|refusal| CommandError::Choice(format!("incident {id}: {refusal}")))?;
    print(&format!("incident {id} is {}", state.as_str()))?;
    Ok(ExitCode::from(exit::CLEAN))
}

fn missing(id: IncidentId) -> CommandError {
    CommandError::Choice(format!(
        "there is no incident {id} (see `prober incidents list --all`)"
    ))
}

fn object(incident: &IncidentRecord) -> Value {
    let acknowledged = incident.acknowledged.as_ref();
    let resolved = incident.resolved.as_ref();
    json!({
        "incident": incident.id.get(), "endpoint": incident.endpoint, "kind": incident.kind,
        "signature": incident.signature, "state": incident.state.as_str(), "findings": incident.findings,
        "opened_at": moment(incident.opened_at), "last_finding_at": moment(incident.last_finding_at),
        "reopened": incident.reopened,
        "acknowledged": acknowledged.map(|(at, by)| json!({ "at": moment(*at), "by": by })),
        "resolved": resolved.map(|(at, by)| json!({ "at": moment(*at), "by": by })),
    })
}

fn event_object(event: &IncidentEvent) -> Value {
    json!({ "at": moment(event.at), "what": event.what, "who": event.who, "note": event.note })
}

fn finding_object(finding: &IncidentFinding) -> Value {
    json!({
        "found_at": moment(finding.found_at), "probe": finding.probe, "round": finding.round,
        "certainty": finding.certainty,
    })
}

fn sentence(incident: &IncidentRecord) -> String {
    let since = match (&incident.resolved, &incident.acknowledged) {
        (Some((at, Some(by))), _) => format!("resolved {} by {by}", moment(*at)),
        (Some((at, None)), _) => format!("resolved {} by itself", moment(*at)),
        (None, Some((at, by))) => format!("acknowledged {} by {by}", moment(*at)),
        (None, None) => "OPEN".to_owned(),
    };
    let again = match incident.reopened {
        0 => String::new(),
        1 => ", opened again once".to_owned(),
        times => format!(", opened again {times} times"),
    };
    let findings = match incident.findings {
        1 => "1 finding".to_owned(),
        many => format!("{} findings", grouped(many)),
    };
    format!(
        "incident {}: {} at {} ({}): {since}; {findings} from {} to {}{again}",
        incident.id,
        incident.kind.replace('_', " "),
        incident.endpoint,
        incident.signature,
        moment(incident.opened_at),
        moment(incident.last_finding_at),
    )
}

fn event_line(event: &IncidentEvent) -> String {
    let who = event
        .who
        .as_ref()
        .map_or_else(String::new, |who| format!(" by {who}"));
    let note = event
        .note
        .as_ref()
        .map_or_else(String::new, |note| format!(": {}", note.escape_debug()));
    format!("  {} {}{who}{note}", moment(event.at), event.what)
}

fn finding_line(finding: &IncidentFinding) -> String {
    format!(
        "  {} finding ({}) of probe {}, round {}",
        moment(finding.found_at),
        finding.certainty,
        finding.probe,
        finding.round
    )
}

fn moment(at: OffsetDateTime) -> String {
    at.replace_nanosecond(0)
        .unwrap_or(at)
        .format(&Rfc3339)
        .unwrap_or_else(|_| at.to_string())
}
