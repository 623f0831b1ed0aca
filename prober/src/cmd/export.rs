//! `prober export` (docs/export.md)

use super::{CommandError, ConfigArg, exit, location};
use crate::clock::{Clock as _, SystemClock};
use crate::config::parse_duration;
use crate::export::{Format, Writer};
use crate::judge::KINDS;
use crate::store::{FindingFilter, Store};
use crate::terminal::say;
use clap::builder::PossibleValuesParser;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// So many findings are held at a time.
const PAGE: u32 = 500;
/// How often is looked whether those who write findings are done, and for how long at most.
const PAUSE: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(30);

/// Which findings, and how.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// How findings are written (docs/export.md).
    #[arg(long, value_enum, default_value_t = Format::Ocsf)]
    format: Format,
    /// Only what was found since: a moment (RFC 3339), or so long ago (24h, 7d).
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only what was found before: likewise.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Go on where an export ended: the cursor that it told. None twice, none lost.
    #[arg(long, value_name = "CURSOR", value_parser = clap::value_parser!(i64).range(0..))]
    after: Option<i64>,
    /// Only at this endpoint; may be repeated.
    #[arg(long = "endpoint", value_name = "NAME")]
    endpoints: Vec<String>,
    /// Only of this kind; may be repeated.
    #[arg(long = "kind", value_name = "KIND", value_parser = PossibleValuesParser::new(KINDS.map(|kind| kind.name)))]
    kinds: Vec<String>,
    /// Those of drills, too; they say that they are.
    #[arg(long)]
    drills: bool,
}

/// Writes them.
///
/// # Errors
/// When configuration, database or arguments are wrong, or somebody has been writing findings for too long.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    let now = SystemClock.now();
    let when = |text: &Option<String>| text.as_deref().map(|text| moment(text, now)).transpose();
    let filter = FindingFilter {
        since: when(&args.since)?,
        until: when(&args.until)?,
        endpoints: args.endpoints,
        kinds: args.kinds,
        drills: args.drills,
    };
    let config = args.config.load()?;
    let writer = Writer {
        format: args.format,
        site: config.alerts.status_page.as_deref(),
    };
    let store = Store::open(&location(&config)).await?;
    let ended = write(&store, &filter, &writer, args.after.unwrap_or(0)).await;
    store.close().await;
    if let Some(cursor) = ended? {
        say(&format!("prober: to go on: --after {cursor}"));
    }
    Ok(ExitCode::from(exit::CLEAN))
}

/// Writes findings after a cursor; the next cursor, if the reader took all.
async fn write(
    store: &Store,
    filter: &FindingFilter,
    writer: &Writer<'_>,
    mut after: i64,
) -> Result<Option<i64>, CommandError> {
    let through = settled(store).await?;
    let header = writer.header().map(|header| header + "\r\n");
    if !put(&header.unwrap_or_default())? {
        return Ok(None);
    }
    let end = if writer.format == Format::Csv {
        "\r\n"
    } else {
        "\n"
    };
    loop {
        let page = store
            .findings_between((after, through), filter, PAGE)
            .await?;
        let Some(last) = page.last() else {
            // Also past those that the filter leaves out.
            return Ok(Some(after.max(through)));
        };
        after = last.id;
        let lines: Vec<String> = page.iter().map(|one| writer.record(one) + end).collect();
        if !put(&lines.concat())? {
            return Ok(None);
        }
    }
}

/// The number up to which all findings that will ever be there can be seen.
async fn settled(store: &Store) -> Result<i64, CommandError> {
    let last = store.last_finding().await?;
    let mut writers = store.finding_writers().await?;
    let mut waited = Duration::ZERO;
    while !writers.is_empty() {
        if waited >= PATIENCE {
            return Err(CommandError::Choice(format!(
                "a transaction has been writing findings for more than {} s (see pg_stat_activity; then export again)",
                PATIENCE.as_secs()
            )));
        }
        tokio::time::sleep(PAUSE).await;
        waited += PAUSE;
        writers = store.still_writing(&writers).await?;
    }
    Ok(last)
}

/// Writes to standard output; whether somebody still reads it.
fn put(text: &str) -> Result<bool, CommandError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        // The reader has seen enough (`| head`); how far it came is not known, so there is no cursor.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CommandError::io("write to standard output")(error)),
    }
}

/// A moment, or so long before now.
fn moment(text: &str, now: OffsetDateTime) -> Result<OffsetDateTime, CommandError> {
    if let Ok(at) = OffsetDateTime::parse(text, &Rfc3339) {
        return Ok(at);
    }
    let ago = parse_duration(text).ok();
    let ago = ago.and_then(|ago| time::Duration::try_from(ago).ok());
    ago.and_then(|ago| now.checked_sub(ago)).ok_or_else(|| {
        CommandError::Choice(format!(
            "`{}` is no moment (write RFC 3339, such as 2026-12-01T10:00:00Z, or how long ago, such as 24h or 7d)",
            text.escape_debug()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::moment;
    use time::macros::datetime;

    #[test]
    fn a_moment_is_told_absolutely_or_from_now() {
        let now = datetime!(2026-12-01 10:00 UTC);
        for (text, at) in [
            (
                "2026-11-30T12:00:00+02:00",
                Some(datetime!(2026-11-30 10:00 UTC)),
            ),
            ("24h", Some(datetime!(2026-11-30 10:00 UTC))),
            ("7d", Some(datetime!(2026-11-24 10:00 UTC))),
            ("yesterday", None),
            ("", None),
            ("2026-11-30", None),
            ("99999999d", None),
        ] {
            assert_eq!(moment(text, now).ok(), at, "{text}");
        }
    }
}
