//! `canary-gen keygen`

use super::CliError;
use canary_gen::key_file;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to write the key ring; must not exist.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, CliError> {
    let ring = key_file::generate(&args.output)?;
    eprintln!(
        "wrote key {} to {}",
        ring.minting().id(),
        args.output.display()
    );
    Ok(ExitCode::SUCCESS)
}
