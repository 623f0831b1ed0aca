//! `prober evidence erase`, `prune` and `reseal`

use super::who::Who;
use super::{CommandError, ConfigArg, Which, exit, keys, location, print};
use crate::clock::{Clock as _, SystemClock};
use crate::cmd::who::login;
use crate::errors;
use crate::evidence::{self, EvidenceKeys, Sealed};
use crate::round::grouped;
use crate::store::{Access, Act, Store, StoreError};
use crate::terminal::say;
use canary_gen::ProbeNumber;
use ring::rand::SystemRandom;
use std::process::ExitCode;

/// So many are sealed anew in one transaction: they are in memory together.
const BATCH: u32 = 16;

/// What to erase, who does, and why.
#[derive(Debug, clap::Args)]
pub(super) struct EraseArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    config: ConfigArg,
}

/// Whose evidence.
#[derive(Debug, clap::Args)]
pub(super) struct PruneArgs {
    #[command(flatten)]
    config: ConfigArg,
}

/// Whose evidence.
#[derive(Debug, clap::Args)]
pub(super) struct ResealArgs {
    /// Who does it, if not the user of the operating system (who is recorded in any case).
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    config: ConfigArg,
}

pub(super) async fn erase(args: &EraseArgs) -> Result<ExitCode, CommandError> {
    let access = args.who.access()?;
    let probe = args.which.probe()?;
    let config = args.config.load()?;
    let store = Store::open(&location(&config)).await?;
    let erased = store.access_evidence(probe, Act::Erase, &access).await;
    store.close().await;
    erased?.ok_or_else(|| args.which.missing())?;
    print(&format!(
        "erased the response of probe {}",
        args.which.probe
    ))?;
    Ok(ExitCode::from(exit::CLEAN))
}

pub(super) async fn prune(args: &PruneArgs) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let store = Store::open(&location(&config)).await?;
    let now = SystemClock.now();
    let erased = store
        .prune_evidence(now - config.evidence.retention, now)
        .await;
    store.close().await;
    print(&format!("erased {} responses", grouped(erased?)))?;
    Ok(ExitCode::from(exit::CLEAN))
}

pub(super) async fn reseal(args: &ResealArgs) -> Result<ExitCode, CommandError> {
    let config = args.config.load()?;
    let keys = keys(&config)?;
    let store = Store::open(&location(&config)).await?;
    let login = login();
    let access = Access {
        who: args.name.clone().unwrap_or_else(|| login.clone()),
        reason: format!("sealed anew with key {}", keys.sealing()),
        login,
        at: SystemClock.now(),
    };
    let ended = reseal_all(&store, keys, &access).await;
    store.close().await;
    let (sealed, refused) = ended?;
    print(&format!(
        "sealed {} responses anew with key {}",
        grouped(sealed),
        keys.sealing()
    ))?;
    if refused.is_empty() {
        return Ok(ExitCode::from(exit::CLEAN));
    }
    let refused: Vec<String> = refused
        .iter()
        .map(|probe| probe.get().to_string())
        .collect();
    say(&format!(
        "prober: these do not open and stay as they are: probe {}",
        refused.join(", ")
    ));
    Ok(ExitCode::from(exit::ERROR))
}

/// Batch by batch; how many were sealed anew, and which do not open.
async fn reseal_all(
    store: &Store,
    keys: &EvidenceKeys,
    access: &Access,
) -> Result<(u64, Vec<ProbeNumber>), StoreError> {
    let (mut sealed, mut refused, mut after) = (0, Vec::new(), None);
    store.record_reseal(access).await?;
    loop {
        let done = store
            .reseal(after, keys.sealing(), BATCH, |before| anew(keys, before))
            .await?;
        sealed += done.sealed;
        refused.extend(done.refused);
        if done.last.is_none() {
            return Ok((sealed, refused));
        }
        after = done.last;
    }
}

fn anew(keys: &EvidenceKeys, before: &Sealed) -> Option<Sealed> {
    let refuse = |error: &dyn std::error::Error| {
        let probe = before.of.probe.get();
        say(&format!("prober: probe {probe}: {}", errors::chain(error)));
    };
    let response = evidence::open(keys, before)
        .inspect_err(|error| refuse(error))
        .ok()?;
    evidence::seal(keys, before.of, &response, &SystemRandom::new())
        .inspect_err(|error| refuse(error))
        .ok()
}
