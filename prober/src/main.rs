//! The `prober` command.

use clap::Parser as _;
use prober::cli::{Cli, Command};
use prober::{cmd, errors, terminal};
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Alert(args) => cmd::alert::run(args).await,
        Command::Demo(args) => cmd::demo::run(args).await,
        Command::Run(args) => cmd::run::run(args).await,
        Command::Once(args) => cmd::once::run(args).await,
        Command::Replay(args) => cmd::replay::run(args).await,
        Command::Limits(args) => cmd::limits::run(args).await,
        Command::Check(args) => cmd::check::run(&args),
        Command::Db(args) => cmd::db::run(args).await,
        Command::Drill(args) => cmd::drill::run(args).await,
        Command::Evidence(args) => cmd::evidence::run(args).await,
        Command::Export(args) => cmd::export::run(args).await,
        Command::Exposure(args) => cmd::exposure::run(&args),
        Command::Incidents(args) => cmd::incidents::run(args).await,
        Command::Plan(args) => cmd::plan::run(args).await,
        Command::Power(args) => cmd::power::run(&args),
        Command::Simulate(args) => cmd::simulate::run(args).await,
    };
    result.unwrap_or_else(|error| {
        terminal::say(&format!("prober: {}", errors::chain(&error)));
        ExitCode::from(cmd::exit::ERROR)
    })
}
