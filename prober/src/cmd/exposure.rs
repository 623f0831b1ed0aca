//! `prober exposure` (docs/exposure.md)

use super::{CommandError, exit, print};
use crate::clock::{Clock as _, SystemClock};
use crate::exposure::{
    Choice, Conclusion, Incident, Input, Inquiry, Mapping, Report, Rules, Watcher, What, inquire,
};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write, stderr};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Nothing is shown of what is done sooner.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// The name of a format that stands for finding it out.
const AUTO: &str = "auto";

/// What is held against what.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0  none of these requests was exposed, all was read, and the logs have records of the period
  1  some were, or may have been where the incident's period is not known exactly
  2  an error: an option, a file that is not there, a mistake in an incident, mapping or rules file
  3  inconclusive: none is known to have been, but something could not be read or is not told

Examples:
  prober exposure --incident founding --log litellm-2026-*.jsonl.gz
  prober exposure --incident founding --log usage.csv --rules rules.toml --format html --output report.html
  prober exposure --incident ours.toml --log gateway.log --mapping fields.toml --provider workers-ai
  zcat old.gz | prober exposure --incident founding --log - --format json

Reads lengths, times and ids, no contents. Needs no configuration and no database, and sends nothing anywhere.
.gz and .zst are known by their first bytes. Every line that cannot be read is told with its place and counted.")]
pub struct Args {
    /// Incident file (TOML), or `founding` for the one this product was made after.
    #[arg(long, value_name = "FILE")]
    incident: PathBuf,
    /// Usage logs; `-` for standard input. Repeatable.
    #[arg(long = "log", value_name = "FILE", num_args = 1.., required = true)]
    logs: Vec<PathBuf>,
    /// Which fields hold what: found out from the first lines, or one of those that come with the program.
    #[arg(long, value_name = "NAME", default_value = AUTO, value_parser = formats(), conflicts_with = "mapping")]
    log_format: String,
    /// File (TOML) that says which fields hold what, for a log of your own.
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Who answered the requests of logs that do not tell it, as the incident file names providers.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// File (TOML) that says which categories of data which applications and keys send.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Sentences for people, one JSON object, or a page to be printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the report to this file, which only you can read, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// So many problems are told in the report with their places.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=100_000))]
    problems: u32,
    /// Write all problems to this file, one a line.
    #[arg(long, value_name = "FILE")]
    problems_file: Option<PathBuf>,
    /// Threads that read lines; all processors unless told otherwise.
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

/// How the report is written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// Sentences for people.
    Text,
    /// One JSON object.
    Json,
    /// A page that needs nothing else, to be read and printed.
    Html,
}

fn formats() -> clap::builder::PossibleValuesParser {
    std::iter::once(AUTO)
        .chain(Mapping::names())
        .collect::<Vec<_>>()
        .into()
}

/// Holds logs against an incident and reports.
///
/// # Errors
/// When one of the files is not there or has mistakes, or the report cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let logs: Vec<Input> = args.logs.iter().map(|path| Input::new(path)).collect();
    let mut bytes = Some(0_u64);
    for log in &logs {
        let size = log
            .size()
            .map_err(CommandError::io(format!("read the log `{}`", log.name())))?;
        bytes = bytes.zip(size).map(|(sum, size)| sum + size);
    }
    let mut watcher = Desk {
        bar: Bar::new(bytes),
        problems: match &args.problems_file {
            Some(path) => Some(create(path)?),
            None => None,
        },
    };
    let incident = Incident::load(&args.incident)?;
    let unknown = args
        .provider
        .as_ref()
        .filter(|name| !incident.knows_provider(name));
    if let Some(name) = unknown {
        return Err(CommandError::Choice(format!(
            "the incident file does not know a provider `{name}` (its `provider.names` and `provider.others` have those that decide)"
        )));
    }
    let inquiry = Inquiry {
        incident,
        choice: choice(args)?,
        rules: Rules::load(args.rules.as_deref())?,
        logs,
        provider: args.provider.clone(),
        threads: threads(args),
        most_problems: args.problems as usize,
    };
    let read = inquire(inquiry, &mut watcher, SystemClock.now());
    watcher.bar.finish();
    let report = read
        .and_then(|report| {
            watcher
                .problems
                .map_or(Ok(()), |mut file| file.flush())
                .map(|()| report)
        })
        .map_err(CommandError::io("write the file of problems"))?;
    write(args, &report)?;
    Ok(ExitCode::from(match report.conclusion {
        Conclusion::NotExposed => exit::CLEAN,
        Conclusion::Exposed => exit::FINDING,
        Conclusion::Inconclusive => exit::INCONCLUSIVE,
    }))
}

fn threads(args: &Args) -> NonZero<usize> {
    let all = || std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    args.threads.unwrap_or_else(all)
}

fn choice(args: &Args) -> Result<Choice, CommandError> {
    if let Some(path) = &args.mapping {
        return Ok(Choice::This(Arc::new(Mapping::load(path)?)));
    }
    let built_in: Vec<Arc<Mapping>> = Mapping::built_in()?.into_iter().map(Arc::new).collect();
    let named = built_in
        .iter()
        .find(|mapping| mapping.name == args.log_format);
    Ok(match named {
        Some(mapping) => Choice::This(Arc::clone(mapping)),
        None => Choice::Auto(built_in),
    })
}

fn write(args: &Args, report: &Report) -> Result<(), CommandError> {
    let text = match args.format {
        Format::Text => report.text(),
        Format::Json => serde_json::to_string(report)?,
        Format::Html => report.html(),
    };
    let Some(path) = &args.output else {
        return print(&text);
    };
    // The report names keys and applications. It is there whole, or not at all.
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let act = format!("write the report `{}`", path.display());
    let whole = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "{text}")?;
        file.persist(path).map_err(|error| error.error)
    };
    whole().map(drop).map_err(CommandError::io(act))
}

fn create(path: &Path) -> Result<BufWriter<File>, CommandError> {
    File::create(path)
        .map(BufWriter::new)
        .map_err(CommandError::io(format!(
            "write the file of problems `{}`",
            path.display()
        )))
}

/// What is done while logs are read.
struct Desk {
    bar: Bar,
    problems: Option<BufWriter<File>>,
}

impl Watcher for Desk {
    fn read(&mut self, bytes: u64) {
        self.bar.show(bytes);
    }

    fn problem(&mut self, log: &str, line: u64, what: What) -> io::Result<()> {
        match &mut self.problems {
            Some(file) => writeln!(file, "{log}:{line}: {what}"),
            None => Ok(()),
        }
    }
}

/// A progress bar on a terminal, for what takes longer.
struct Bar {
    started: Instant,
    bytes: Option<u64>,
    bar: Option<ProgressBar>,
    is_wanted: bool,
}

impl Bar {
    fn new(bytes: Option<u64>) -> Self {
        Self {
            started: Instant::now(),
            bytes,
            bar: None,
            is_wanted: stderr().is_terminal(),
        }
    }

    fn show(&mut self, bytes: u64) {
        if !self.is_wanted || self.started.elapsed() < SHOWN_AFTER {
            return;
        }
        let all = self.bytes;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = all.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = match all {
                Some(_) => "{bytes} of {total_bytes} [{bar:30}] {bytes_per_sec}, {eta} left",
                None => "{bytes} {spinner} {bytes_per_sec}",
            };
            let style = ProgressStyle::with_template(template);
            crate::terminal::show(
                bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())),
            )
        });
        bar.set_position(bytes);
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
