//! `canary-gen inspect`

use super::{CliError, KeysArg, scan::Line};
use canary_gen::scan::scan;
use std::io::{Write, stdout};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    keys: KeysArg,
    /// The text of a canary, in any form.
    text: String,
    /// One JSON object instead of a sentence.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, CliError> {
    let ring = args.keys.load()?;
    let found = scan(&ring, args.text.as_bytes());
    let mut out = stdout();
    for sighting in &found {
        let line = Line::new(None, sighting);
        let text = if args.json {
            serde_json::to_string(&line)?
        } else {
            line.to_string()
        };
        writeln!(out, "{text}").map_err(CliError::Write)?;
    }
    if found.is_empty() {
        eprintln!("no canary of this key ring");
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}
