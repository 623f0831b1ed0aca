//! `canary-gen mint`

use super::{CliError, KeysArg, PlanterArgs};
use canary_gen::{Identity, Slot};
use std::io::{Write, stdout};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    keys: KeysArg,
    #[command(flatten)]
    planter: PlanterArgs,
    /// Slot number, 0 to 16383.
    #[arg(long, value_parser = super::slot)]
    slot: Slot,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, CliError> {
    let ring = args.keys.load()?;
    let PlanterArgs {
        tenant,
        probe,
        form,
    } = args.planter;
    let identity = Identity {
        tenant,
        probe,
        slot: args.slot,
    };
    let canary = ring.minting().mint(identity, form);
    writeln!(stdout(), "{}", form.write(&canary)).map_err(CliError::Write)?;
    Ok(ExitCode::SUCCESS)
}
