//! `canary-gen weave`

use super::{CliError, KeysArg, PlanterArgs};
use canary_gen::document::SMALLEST_STRIDE;
use canary_gen::{Document, DocumentSpec, Layout, Question, Seed, TokenMeasure};
use std::io::{Write, stdout};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    keys: KeysArg,
    #[command(flatten)]
    planter: PlanterArgs,
    /// Length of the document in tokens, estimated.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    tokens: u64,
    /// A canary every so many tokens.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(i64::from(SMALLEST_STRIDE)..))]
    stride: u32,
    /// A whole canary in every 64-token window instead of a stride.
    #[arg(long, conflicts_with = "stride")]
    dense: bool,
    /// Of all choices: the same seed gives the same bytes.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, CliError> {
    let ring = args.keys.load()?;
    let PlanterArgs {
        tenant,
        probe,
        form,
    } = args.planter;
    let layout = if args.dense {
        Layout::Dense
    } else {
        Layout::Sparse {
            stride_tokens: args.stride,
        }
    };
    let spec = DocumentSpec {
        seed: Seed::from_number(args.seed),
        tenant,
        probe,
        form,
        layout,
        tokens: args.tokens,
        head: None,
        question: Question::One,
        closing: 0,
        measure: TokenMeasure {
            overhead: 0.0,
            ..TokenMeasure::assumed(form)
        },
    };
    let mut out = stdout().lock();
    for chunk in Document::new(spec, ring).weave() {
        out.write_all(chunk.as_bytes()).map_err(CliError::Write)?;
    }
    writeln!(out)
        .and_then(|()| out.flush())
        .map_err(CliError::Write)?;
    Ok(ExitCode::SUCCESS)
}
