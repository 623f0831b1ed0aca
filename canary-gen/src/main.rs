//! The `canary-gen` command: keys, canaries, documents and scans by hand.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cli;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("canary-gen: {}", error.chain());
            ExitCode::from(2)
        }
    }
}
