//! `canary-gen scan`: finds canaries in files, directories, archives and logs.

mod input;
mod jobs;
mod ndjson;
mod output;
mod planted;
mod printer;
mod progress;

pub(super) use output::Line;

use super::{CliError, KeysArg};
use canary_gen::Search;
use canary_gen::scan::Effort;
use ndjson::FieldPath;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, RwLock};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes, as grep has them (a part that weighs less than --min-weight is not found):
  0  a canary was found        1  none was found        2  something could not be read, no line has any
                                                           of the fields, or another error

Examples:
  canary-gen scan --keys canary.keys responses/                      a directory, archives in it, too
  zcat old.log.gz | canary-gen scan --keys canary.keys --json        standard input, for a machine
  canary-gen scan --keys canary.keys --field response.choices[].message.content *.ndjson.zst

Files are read whole unless --field says which fields of each line; .gz and .zst are known by their
first bytes and decompressed. Directories are read with all that is in them, hidden files, too;
symbolic links to directories are not followed.")]
pub(super) struct Args {
    #[command(flatten)]
    keys: KeysArg,
    /// Files and directories to read; `-` or nothing for standard input.
    inputs: Vec<PathBuf>,
    /// Read the input as NDJSON, one JSON value a line, and scan only this field: keys joined by dots,
    /// `[]` for every element of an array, a key with a dot in it as `."a.b"`. Repeatable. Each field
    /// is a text of its own; strings are decoded, anything else is scanned as JSON text. A line that
    /// is no JSON is scanned whole.
    #[arg(long = "field", value_name = "PATH")]
    fields: Vec<FieldPath>,
    /// File of canaries that were planted, one a line as `mint` prints them, `#` for comments: parts of
    /// them, and twice damaged ones, are found, too. Repeatable.
    #[arg(long, value_name = "FILE")]
    planted: Vec<PathBuf>,
    /// How hard damaged canaries that are not in --planted are looked for.
    #[arg(long, value_enum, default_value_t = EffortArg::Quick)]
    effort: EffortArg,
    /// Only unharmed `code`, `uuid` and `digits` in the text as it is: the fastest.
    #[arg(long, conflicts_with_all = ["planted", "effort"])]
    exact: bool,
    /// Leave out parts that weigh less than so many bits. Whole canaries are always shown.
    #[arg(long, value_name = "BITS", default_value_t = 16)]
    min_weight: u32,
    /// One JSON object a line, and a last one with a summary.
    #[arg(long)]
    json: bool,
    /// Print only how many were found in each input.
    #[arg(short, long, conflicts_with_all = ["json", "files_with_matches"])]
    count: bool,
    /// Print only the names of inputs in which one was found.
    #[arg(short = 'l', long, conflicts_with = "json")]
    files_with_matches: bool,
    /// Print nothing, and stop at the first one.
    #[arg(short, long, conflicts_with_all = ["json", "count", "files_with_matches"])]
    quiet: bool,
    /// Threads that scan; all processors unless told otherwise.
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

/// [`Effort`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EffortArg {
    /// Damaged canaries are not looked for.
    None,
    /// One damage, in a few candidates an input.
    Quick,
    /// Two damages, in several candidates an input: seconds each.
    Thorough,
}

impl EffortArg {
    /// The effort for an input of so many bytes: a small one gets its share, so that a thousand of
    /// them cost no more than one of their size.
    fn for_bytes(self, bytes: u64) -> Effort {
        let effort = match self {
            Self::None => Effort::NONE,
            Self::Quick => Effort::QUICK,
            Self::Thorough => return Effort::THOROUGH,
        };
        Effort {
            openings: effort.openings.min(4_096 + bytes / 64),
            ..effort
        }
    }
}

impl Args {
    fn search(&self) -> Result<Search, CliError> {
        let ring = self.keys.load()?;
        if self.exact {
            return Ok(Search::exact(ring));
        }
        let index = planted::load(&self.planted, &ring)?;
        let search = Search::new(ring);
        Ok(match index {
            Some(index) => search.with_index(Arc::new(RwLock::new(index))),
            None => search,
        })
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode, CliError> {
    let search = args.search()?;
    let outcome = jobs::run(args, &search)?;
    Ok(match outcome {
        jobs::Outcome { failed: true, .. } => ExitCode::from(2),
        jobs::Outcome { found: true, .. } => ExitCode::SUCCESS,
        jobs::Outcome { found: false, .. } => ExitCode::from(1),
    })
}
