//! `prober evidence`: one command a file, or a family of them (docs/evidence.md).

mod change;
mod keygen;
mod list;
mod show;
mod who;

use super::{CommandError, ConfigArg, Format, exit, location, print};
use crate::config::Config;
use crate::evidence::EvidenceKeys;
use canary_gen::ProbeNumber;
use clap::Subcommand;
use std::process::ExitCode;

/// What to do with evidence.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a file of one new key, or add a new key to a file: from then on it seals, and the others only open.
    /// Exit code 0 made, 2 error.
    Keygen(keygen::Args),
    /// Tell what evidence there is, the newest first. Opens nothing and needs no key. Exit code 0, 2 error.
    List(list::Args),
    /// Write the response of a probe to standard output. Who asked and why is recorded before anything is shown.
    /// Exit code 0 shown, 2 error: there is none, it was erased, its key is missing, or it was changed.
    Show(show::Args),
    /// Remove the response of a probe; its findings stay. Recorded, too. Exit code 0 erased, 2 error: there is
    /// none, or it was erased before.
    Erase(change::EraseArgs),
    /// Remove what is older than `evidence.retention`, as `prober run` does each hour. Exit code 0 done, 2 error.
    Prune(change::PruneArgs),
    /// Seal all evidence with the newest key, so that older ones can be thrown away. May be stopped and run again.
    /// Exit code 0 all of it is sealed with the newest key, 2 error: some does not open.
    Reseal(change::ResealArgs),
}

/// Carries it out.
///
/// # Errors
/// When configuration, keys or database are wrong, or there is no such evidence.
pub async fn run(args: Args) -> Result<ExitCode, CommandError> {
    match args.what {
        What::Keygen(args) => keygen::run(&args),
        What::List(args) => list::run(&args).await,
        What::Show(args) => show::run(&args).await,
        What::Erase(args) => change::erase(&args).await,
        What::Prune(args) => change::prune(&args).await,
        What::Reseal(args) => change::reseal(&args).await,
    }
}

/// Whose response.
#[derive(Debug, clap::Args)]
struct Which {
    /// Number of the probe, as findings and `list` tell it.
    #[arg(value_name = "PROBE", value_parser = clap::value_parser!(u64).range(1..=ProbeNumber::MAX.get()))]
    probe: u64,
}

impl Which {
    fn probe(&self) -> Result<ProbeNumber, CommandError> {
        ProbeNumber::new(self.probe).ok_or_else(|| self.missing())
    }

    fn missing(&self) -> CommandError {
        CommandError::Choice(format!(
            "there is no evidence of probe {}: none was kept, or it was erased (see `prober evidence list`)",
            self.probe
        ))
    }
}

/// The keys of a configuration.
fn keys(config: &Config) -> Result<&EvidenceKeys, CommandError> {
    config.evidence.keys.as_ref().ok_or_else(|| {
        CommandError::Choice(
            "no evidence key is configured (name the keys in `evidence.key_file` or `evidence.key_env`)".to_owned(),
        )
    })
}
