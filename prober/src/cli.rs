//! The command line.

use crate::cmd;
use clap::{Parser, Subcommand};

/// Proves when one tenant's data appears in another tenant's answer: plants cryptographic canaries
/// in long contexts of synthetic tenants and scans every response for those of other tenants.
#[derive(Debug, Parser)]
#[command(
    name = "prober",
    version,
    about,
    max_term_width = 100,
    after_help = "\
Start here:
  prober demo                        see the founding incident replayed and caught, in a minute
  prober check --config prober.toml  find every mistake in a configuration
  prober limits --config prober.toml find out what the endpoints really accept
  prober once  --config prober.toml  run one round, e.g. to gate a rollout
  prober replay --config prober.toml 17  run round 17 once more, e.g. after a fix
  prober plan  --config prober.toml  what the next 24 hours will send and cost
  prober run   --config prober.toml  watch, day and night
  prober drill --config prober.toml  try whether a leak would reach you
  prober exposure --incident founding --log usage.jsonl.gz  find out what an incident touched

Exit codes: 0 done or clean, 1 a finding, 2 an error, 3 inconclusive, 4 the budget does not allow it."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay the founding incident on two simulated endpoints and catch it. Uses the embedded Postgres,
    /// unless DATABASE_URL names a server.
    Demo(cmd::demo::Args),
    /// Run rounds on the time grid of the configuration until told to stop (SIGTERM drains, SIGHUP reloads).
    Run(cmd::run::Args),
    /// Run one round and tell its verdict. Exit code 0 clean, 1 finding, 2 error, 3 inconclusive,
    /// 4 the budget of the day does not allow it.
    Once(cmd::once::Args),
    /// Run the schedule of a recorded round again and tell whether it finds the same. Exit codes as `once`.
    Replay(cmd::replay::Args),
    /// Find the length of prompt that an endpoint really accepts and compare it with the advertised one.
    /// Exit code 0 as advertised, 1 otherwise or a leak on the way, 2 error, 3 not found.
    Limits(cmd::limits::Args),
    /// Tell what the next hours will send and cost, and what the budgets allow of it. Sends nothing.
    Plan(cmd::plan::Args),
    /// Tell how many probes, tokens and hours it takes to see a leak of a given rate. Sends nothing.
    Power(cmd::power::Args),
    /// Report every mistake in a configuration at once, with file and key. Sends nothing.
    Check(cmd::check::Args),
    /// Look after the database: bring its schema up to date, tell its state, drop what is old.
    Db(cmd::db::Args),
    /// Read, erase and look after the responses behind findings, which are kept sealed. Exit code 0 done, 2 error.
    Evidence(cmd::evidence::Args),
    /// Tell what findings are one incident, and what became of it; acknowledge and resolve it.
    Incidents(cmd::incidents::Args),
    /// Tell who is told of incidents, and try whether it arrives.
    Alert(cmd::alert::Args),
    /// Rehearse a leak: a harmless one of the prober's own goes the whole way to the receivers, marked as a drill.
    /// Sends nothing to any endpoint. Exit code 0 it arrived, 1 it did not, 2 error.
    Drill(cmd::drill::Args),
    /// Write findings for other systems, a line each: OCSF events, JSON or CSV. Ends with a cursor on standard error, from
    /// which the next export goes on. Exit code 0 done, 2 error.
    Export(cmd::export::Args),
    /// Hold usage logs against an incident: which requests it touched, of whom, and what to do. Sends nothing.
    /// Exit code 0 none, 1 some, 2 error, 3 inconclusive.
    Exposure(cmd::exposure::Args),
    /// Serve a simulated inference endpoint, healthy or with faults.
    Simulate(cmd::simulate::Args),
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
