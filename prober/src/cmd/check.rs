//! `prober check`

use super::{CommandError, ConfigArg, Format, NO_EVIDENCE, exit, print};
use canary_gen::key_file;
use std::process::ExitCode;

/// What to check.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArg,
    /// Sentences for people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Reports every mistake of a configuration, the key ring's too.
///
/// # Errors
/// When the report cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let file = args.config.config.display().to_string();
    let mut mistakes = Vec::new();
    let mut notes = Vec::new();
    let mut summary = String::new();
    match crate::config::load(&args.config.config) {
        Ok(config) => {
            if let Err(error) = key_file::load(&config.key_ring_file) {
                mistakes.push(serde_json::json!({
                    "file": file, "key": "key_ring_file", "line": null, "message": crate::errors::chain(&error),
                }));
                summary = format!("{file}: key_ring_file: {}", crate::errors::chain(&error));
            } else {
                summary = format!(
                    "{file}: good: {} endpoints, {} scenarios",
                    config.endpoints.len(),
                    config.scenarios.len()
                );
            }
            if config.evidence.keys.is_none() {
                notes.push(NO_EVIDENCE);
                summary = format!("{summary}\n{file}: note: {NO_EVIDENCE}");
            }
        }
        Err(errors) => {
            summary.clone_from(&errors.to_string());
            for mistake in &errors.mistakes {
                mistakes.push(serde_json::to_value(mistake)?);
            }
        }
    }
    let good = mistakes.is_empty();
    match args.format {
        Format::Text => print(summary.trim_end())?,
        Format::Json => print(
            &serde_json::json!({ "good": good, "mistakes": mistakes, "notes": notes }).to_string(),
        )?,
    }
    Ok(ExitCode::from(if good { exit::CLEAN } else { exit::ERROR }))
}
