//! `prober evidence keygen`

use super::{CommandError, exit, print};
use crate::evidence::key_file;
use std::path::PathBuf;
use std::process::ExitCode;

/// Where to.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file. It is made readable by its owner only, and never overwritten.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Add a key in front of those that the file has.
    #[arg(long)]
    add: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let keys = if args.add {
        key_file::add(&args.output)?
    } else {
        key_file::generate(&args.output)?
    };
    print(&format!(
        "{}: key {} seals from now on",
        args.output.display(),
        keys.sealing()
    ))?;
    Ok(ExitCode::from(exit::CLEAN))
}
