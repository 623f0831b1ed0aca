//! Which scenario finds which fault of the simulated engine, and how fast:
//!
//! ```sh
//! scripts/with-postgres cargo run --release -p prober --example fault_matrix -- --write docs/fault-matrix.md
//! ```
//!
//! `--proof 100` looks for every fault with one scenario under so many seeds; `--healthy 100000` sends so many
//! probes to an engine without a fault. Exits with 1 where a fault was not found often enough, or a healthy
//! engine had a finding.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/support/mod.rs"]
mod support;

use clap::Parser;
use futures_util::{StreamExt as _, stream};
use prober::store::Store;
use simulator::Fault;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Instant;
use support::TestDatabase;
use support::sites::{Found, ROUNDS, Site, look_for, scenario_for};

#[derive(Parser)]
struct Args {
    /// Seeds of each pair of fault and scenario.
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Writes the matrix to this file.
    #[arg(long)]
    write: Option<std::path::PathBuf>,
    /// Instead of the matrix: every fault with its scenario, under so many seeds.
    #[arg(long)]
    proof: Option<u64>,
    /// Instead of the matrix: so many probes, over all scenarios, to a healthy engine.
    #[arg(long)]
    healthy: Option<u64>,
    /// With `--healthy`: the first seed, so that several may be at it with seeds of their own.
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
    /// Only faults whose name holds this.
    #[arg(long, default_value = "")]
    only: String,
    /// With `--proof`: this scenario, not the one that each fault is looked for with.
    #[arg(long)]
    scenario: Option<String>,
    /// Endpoints at once.
    #[arg(long, default_value_t = 4)]
    jobs: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let is_good = match (args.proof, args.healthy) {
        (Some(seeds), _) => proof(&store, &args, seeds).await,
        (None, Some(probes)) => healthy(&store, &args, probes).await,
        (None, None) => matrix(&store, &args).await,
    };
    store.close().await;
    ExitCode::from(u8::from(!is_good))
}

fn faults(args: &Args) -> Vec<Fault> {
    Fault::all()
        .filter(|fault| fault.as_str().contains(&args.only))
        .collect()
}

/// Every fault with one scenario; true if each was found under 99 of 100 seeds.
async fn proof(store: &Store, args: &Args, seeds: u64) -> bool {
    let mut is_good = true;
    for fault in faults(args) {
        let scenario = args.scenario.as_deref().unwrap_or(scenario_for(fault));
        let begun = Instant::now();
        let all = stream::iter(1..=seeds)
            .map(|seed| async move {
                let found = look_for(store, fault, scenario, seed, ROUNDS).await;
                let Found { round, seconds, .. } = found;
                let round = round.map_or("not found".to_owned(), |round| format!("round {round}"));
                eprintln!("{fault}, seed {seed}: {round}, {seconds:.1} s");
                found
            })
            .buffer_unordered(args.jobs)
            .collect::<Vec<_>>()
            .await;
        let found = all.iter().filter(|one| one.round.is_some()).count() as u64;
        let enough = found * 100 >= seeds * 99;
        is_good &= enough;
        let first = all.iter().filter(|one| one.round == Some(1)).count();
        let verdict = if enough { "" } else { "  NOT ENOUGH" };
        println!(
            "{fault:32} {scenario:10} {found} of {seeds} within {ROUNDS} rounds, {first} in the first, {:.0} s{verdict}",
            begun.elapsed().as_secs_f64()
        );
    }
    is_good
}

/// Rounds of every scenario until so many probes were sent; true if nothing was found.
async fn healthy(store: &Store, args: &Args, wanted: u64) -> bool {
    let site = Site::start(store, "names", None, 0).await;
    let scenarios = site.scenarios();
    let (mut probes, mut rounds, mut findings, mut verdicts) = (0, 0, 0, BTreeMap::new());
    let mut seed = args.first_seed;
    while probes < wanted {
        let pairs = (seed..seed + args.jobs as u64)
            .flat_map(|seed| scenarios.iter().map(move |name| (seed, name)));
        let reports = stream::iter(pairs)
            .map(|(seed, scenario)| async move {
                let site =
                    Site::start(store, &format!("healthy-{scenario}-{seed}"), None, seed).await;
                site.round(scenario, seed).await
            })
            .buffer_unordered(args.jobs)
            .collect::<Vec<_>>()
            .await;
        seed += args.jobs as u64;
        for report in reports {
            probes += u64::from(report.probes);
            rounds += 1;
            findings += report.findings.len();
            let key = (report.scenario.clone(), report.verdict);
            *verdicts.entry(key).or_insert(0) += 1;
            if report.verdict != "clean" {
                println!("{report}");
            }
        }
        eprintln!("{probes} probes, {rounds} rounds, {findings} findings");
    }
    println!(
        "healthy: {probes} probes in {rounds} rounds over {} scenarios: {findings} findings",
        scenarios.len()
    );
    for ((scenario, verdict), count) in verdicts {
        println!("  {scenario:10} {verdict:12} {count}");
    }
    findings == 0
}

/// All pairs; true if some scenario found each fault under every seed.
async fn matrix(store: &Store, args: &Args) -> bool {
    let site = Site::start(store, "names", None, 0).await;
    let scenarios = site.scenarios();
    let mut text = head(args.seeds, &scenarios);
    let mut is_good = true;
    for fault in faults(args) {
        let mut best: Option<(f64, u64, &str, Vec<&str>)> = None;
        write!(text, "| `{fault}` |").unwrap();
        for scenario in &scenarios {
            let all = stream::iter(1..=args.seeds)
                .map(|seed| look_for(store, fault, scenario, seed, ROUNDS))
                .buffer_unordered(args.jobs)
                .collect::<Vec<_>>()
                .await;
            let found: Vec<&Found> = all.iter().filter(|one| one.round.is_some()).collect();
            let cell = match found.len() as u64 {
                0 => String::new(),
                count => format!("{count}"),
            };
            write!(text, " {cell} |").unwrap();
            if found.len() as u64 == args.seeds {
                let mean = |of: fn(&Found) -> f64| {
                    found.iter().map(|one| of(one)).sum::<f64>() / found.len() as f64
                };
                let (seconds, tokens) = (mean(|one| one.seconds), mean(|one| one.tokens as f64));
                if best.as_ref().is_none_or(|(least, ..)| seconds < *least) {
                    let kinds = found[0].kinds.clone();
                    best = Some((seconds, tokens as u64, scenario, kinds));
                }
            }
        }
        match best {
            Some((seconds, tokens, scenario, kinds)) => {
                writeln!(
                    text,
                    " {scenario} | {seconds:.1} s | {tokens} | {} |",
                    kinds.join(", ")
                )
                .unwrap();
            }
            None => {
                is_good = false;
                writeln!(text, " | | | |").unwrap();
            }
        }
        eprintln!("{fault}");
    }
    print!("{text}");
    if let Some(path) = &args.write {
        std::fs::write(path, &text).unwrap();
    }
    is_good
}

fn head(seeds: u64, scenarios: &[String]) -> String {
    let under = if seeds == 1 {
        "one seed".to_owned()
    } else {
        format!("{seeds} seeds")
    };
    let mut text = format!(
        "# Which scenario finds which fault\n\nWritten by `scripts/with-postgres cargo run --release -p prober --example \
         fault_matrix -- --seeds {seeds} --write docs/fault-matrix.md`.\n\n\
         Each fault of the simulated engine ([faults.md](faults.md)) at probability 1, each scenario \
         ([scenarios.md](scenarios.md)) under {under} on a small engine \
         (`prober/tests/support/sites.rs`): under how many of them it had a finding within {ROUNDS} rounds; empty for none. \
         The last columns name the scenario that found it under all of them soonest, the mean time and tokens of prompts \
         until the finding's round had ended, and what was found. Times are those of a shared machine.\n\n| fault |"
    );
    for scenario in scenarios {
        write!(text, " {scenario} |").unwrap();
    }
    text.push_str(" soonest | time | tokens | found |\n|---|");
    for _ in scenarios {
        text.push_str("---|");
    }
    text.push_str("---|---|---|---|\n");
    text
}
