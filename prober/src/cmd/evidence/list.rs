//! `prober evidence list`

use super::{CommandError, ConfigArg, Format, exit, location, print};
use crate::round::grouped;
use crate::store::{EvidenceFacts, EvidenceState, Store};
use serde_json::{Value, json};
use std::process::ExitCode;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How to show it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// So many at most.
    #[arg(long, value_name = "N", default_value_t = 50)]
    most: u32,
    /// Sentences for people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) async fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let store = Store::open(&location(&config)).await?;
    let listed = store.evidence(args.most).await;
    store.close().await;
    let lines: Vec<String> = match (listed?, args.format) {
        (facts, Format::Json) => facts
            .iter()
            .map(|facts| object(facts).to_string())
            .collect(),
        (facts, Format::Text) if facts.is_empty() => vec!["no evidence".to_owned()],
        (facts, Format::Text) => facts.iter().map(sentence).collect(),
    };
    if !lines.is_empty() {
        print(&lines.join("\n"))?;
    }
    Ok(ExitCode::from(exit::CLEAN))
}

fn object(facts: &EvidenceFacts) -> Value {
    let erased = match facts.state {
        EvidenceState::Kept => Value::Null,
        EvidenceState::Erased { at, by_retention } => json!({
            "at": moment(at), "by": if by_retention { "retention" } else { "person" },
        }),
    };
    json!({
        "probe": facts.probe, "round": facts.round, "endpoint": facts.endpoint, "findings": facts.kinds,
        "kept_at": moment(facts.kept_at), "bytes": facts.plain_bytes, "cut": facts.is_cut, "key": facts.key,
        "shown": facts.shown, "erased": erased,
    })
}

fn sentence(facts: &EvidenceFacts) -> String {
    let state = match facts.state {
        EvidenceState::Kept => format!("shown {} times", facts.shown),
        EvidenceState::Erased { at, by_retention } => {
            let why = if by_retention {
                "was too old"
            } else {
                "by hand"
            };
            format!("ERASED {} ({why})", moment(at))
        }
    };
    format!(
        "probe {}: {} at {}, round {}, {}, {} bytes{}, key {}, {state}",
        facts.probe,
        facts.kinds.join(" + "),
        facts.endpoint,
        facts.round,
        moment(facts.kept_at),
        grouped(facts.plain_bytes.cast_unsigned()),
        if facts.is_cut { " (cut)" } else { "" },
        facts.key,
    )
}

fn moment(at: OffsetDateTime) -> String {
    at.replace_nanosecond(0)
        .unwrap_or(at)
        .format(&Rfc3339)
        .unwrap_or_else(|_| at.to_string())
}
