//! Command line: parsing, one command a file, and the report of an error.

mod inspect;
mod keygen;
mod mint;
mod scan;
mod weave;

use canary_gen::key_file::{self, KeyFileError};
use canary_gen::{Form, KeyRing, ProbeNumber, Slot, TenantNumber};
use clap::{Parser, Subcommand};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Makes, reads, plants and finds canaries.
#[derive(Debug, Parser)]
#[command(
    name = "canary-gen",
    version,
    about,
    after_help = "\
Exit codes:
  scan     0 a canary found, 1 none found, 2 error (as grep)
  inspect  0 a canary of this key ring, 1 none, 2 error
  others   0 done, 2 error

Example:
  canary-gen keygen -o canary.keys
  canary-gen weave --keys canary.keys --tenant 7 --probe 42 --tokens 4000 > document.txt
  canary-gen scan --keys canary.keys --json document.txt"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key ring with one new key (mode 0600; never overwrites).
    Keygen(keygen::Args),
    /// Print the canary of a tenant, probe and slot.
    Mint(mint::Args),
    /// Tell whose canary a text is. Exit code 0: ours, 1: not ours, 2: error.
    Inspect(inspect::Args),
    /// Write a document: filler with canaries at a stride, the same bytes for the same seed.
    Weave(weave::Args),
    /// Find canaries in files, directories, archives, logs or standard input. Exit code 0: found, 1: none,
    /// 2: error.
    Scan(scan::Args),
}

pub(crate) fn run(cli: Cli) -> Result<ExitCode, CliError> {
    match cli.command {
        Command::Keygen(args) => keygen::run(&args),
        Command::Mint(args) => mint::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Weave(args) => weave::run(&args),
        Command::Scan(args) => scan::run(&args),
    }
}

/// What can go wrong in a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Key(#[from] KeyFileError),
    #[error("read `{path}`")]
    Read { path: String, source: io::Error },
    #[error(
        "`{path}` line {line} is no canary of this key ring (expected one a line, as `mint` prints them)"
    )]
    NotPlanted { path: String, line: usize },
    #[error("write to standard output")]
    Write(#[source] io::Error),
    #[error("encode JSON")]
    Json(#[from] serde_json::Error),
}

impl CliError {
    /// Whether the reader of our output simply went away (`| head`): no fault of anybody.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The error and its causes in one line.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

/// Where the key ring is.
#[derive(Debug, clap::Args)]
struct KeysArg {
    /// Key ring made by `canary-gen keygen`.
    #[arg(long, value_name = "FILE", env = "CANARY_KEYS")]
    keys: PathBuf,
}

impl KeysArg {
    fn load(&self) -> Result<KeyRing, KeyFileError> {
        key_file::load(&self.keys)
    }
}

/// Who plants, and how it is written.
#[derive(Debug, clap::Args)]
struct PlanterArgs {
    /// Tenant number, 0 to 4095.
    #[arg(long, value_parser = tenant)]
    tenant: TenantNumber,
    /// Probe number, 0 to 17179869183.
    #[arg(long, value_parser = probe)]
    probe: ProbeNumber,
    /// How canaries are written: `code`, `uuid`, `digits`, `words` or `names`.
    #[arg(long, default_value = "code")]
    form: Form,
}

fn number<T>(text: &str, new: impl Fn(u64) -> Option<T>, largest: u64) -> Result<T, String> {
    text.parse()
        .ok()
        .and_then(new)
        .ok_or_else(|| format!("expected a number from 0 to {largest}"))
}

fn tenant(text: &str) -> Result<TenantNumber, String> {
    number(text, TenantNumber::new, TenantNumber::MAX.get())
}

fn probe(text: &str) -> Result<ProbeNumber, String> {
    number(text, ProbeNumber::new, ProbeNumber::MAX.get())
}

fn slot(text: &str) -> Result<Slot, String> {
    number(text, Slot::new, Slot::MAX.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
