//! Facts on their way to the database, by way of the spool while that is away.

use super::fact::{Fact, Recorded};
use super::{Executor, Tenure};
use crate::backoff::Backoff;
use crate::errors;
use crate::spool::{SpoolError, Spooler};
use crate::store::StoreError;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// A database that does not take a fact in this time is away.
const PROMPT: Duration = Duration::from_secs(10);
/// What waits may take longer: its donors' documents are woven on a busy machine.
const UNHURRIED: Duration = Duration::from_secs(60);

impl Executor {
    /// Whether a round may begin: everything before it is recorded, and what it will tell can be kept.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        let spool = self.spool.as_ref();
        spool.is_none_or(|spool| spool.is_empty() && !spool.is_full())
    }

    /// Waits until a round may begin.
    pub async fn until_it_may_begin(&self) {
        if let Some(spool) = &self.spool {
            spool.is_fine().await;
        }
    }

    /// Waits until what is in the spool is recorded, or the tenure is over: once another one has the endpoint, a
    /// round whose end waits there would count as lost.
    pub async fn wait_until_recorded(&self, tenure: &Tenure) {
        let Some(spool) = &self.spool else {
            return;
        };
        tokio::select! {
            () = spool.emptied() => {}
            () = tenure.lost() => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Records a fact, or keeps it on the disk until the database takes it: `None` then.
    ///
    /// # Errors
    /// When the database refuses it, or neither takes it for longer than we wait.
    pub async fn put(&self, fact: Fact) -> Result<Option<Recorded>, StoreError> {
        match self.directly(|| self.record(&fact)).await? {
            Some(recorded) => Ok(Some(recorded)),
            None => self.keep(&fact).await,
        }
    }

    /// Carries out an act of the store; `None` if the database is away and there is a spool instead. While facts
    /// wait there, no act overtakes them.
    pub(super) async fn directly<T, F>(&self, act: impl Fn() -> F) -> Result<Option<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let Some(spool) = &self.spool else {
            return self.patiently(act).await.map(Some);
        };
        let _turn = self.store.turn().await;
        // Whoever waited for a turn need not find out what others have.
        if !spool.is_empty() {
            return Ok(None);
        }
        match tokio::time::timeout(PROMPT, act()).await {
            Ok(Err(error)) if error.is_transient() => {
                let error = errors::chain(&error);
                tracing::warn!(error, "the database is away; facts wait in the spool");
                Ok(None)
            }
            Ok(done) => done.map(Some),
            Err(_) => {
                tracing::warn!("the database does not answer; facts wait in the spool");
                Ok(None)
            }
        }
    }

    async fn keep(&self, fact: &Fact) -> Result<Option<Recorded>, StoreError> {
        let Some(spool) = &self.spool else {
            return Err(StoreError::NotKept);
        };
        // Names, numbers and texts: all of them can be written.
        let record = serde_json::to_vec(fact).map_err(|_| StoreError::NotKept)?;
        let (begun, mut backoff) = (Instant::now(), Backoff::new());
        loop {
            let Err(error) = spool.append(record.clone()).await else {
                return Ok(None);
            };
            tracing::error!(
                error = errors::chain(&error),
                "the spool takes nothing more; a fact waits in memory, and no request is sent"
            );
            if begun.elapsed() > self.patience() {
                return Err(StoreError::NotKept);
            }
            tokio::time::sleep(backoff.pause()).await;
            if let Some(recorded) = self.directly(|| self.record(fact)).await? {
                return Ok(Some(recorded));
            }
        }
    }

    /// Brings what waits in the spool to the database, in order. Goes on until `done`, and then for as long as the
    /// database takes it.
    pub async fn replay(&self, done: &CancellationToken) {
        let Some(spool) = &self.spool else {
            return;
        };
        let mut backoff = Backoff::new();
        loop {
            tokio::select! {
                biased;
                () = spool.needs_care() => {}
                () = done.cancelled() => return,
            }
            match self.replay_first(spool).await {
                Ok(Progress::Made) => {
                    backoff = Backoff::new();
                    continue;
                }
                Ok(Progress::None) => {}
                Err(error @ ReplayError::Spool(_)) => {
                    tracing::error!(
                        error = errors::chain(&error),
                        "the spool cannot be read or written; trying again"
                    );
                }
                Err(error) => {
                    tracing::debug!(error = errors::chain(&error), "the spool has to wait");
                }
            }
            if done.is_cancelled() {
                let waiting = spool.state().records;
                tracing::warn!(
                    records = waiting,
                    "records wait in the spool; they are brought to the database at the next start"
                );
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(backoff.pause()) => {}
                () = done.cancelled() => {}
            }
        }
    }

    async fn replay_first(&self, spool: &Spooler) -> Result<Progress, ReplayError> {
        let Some(record) = spool.first().await? else {
            spool.refresh().await;
            return Ok(Progress::None);
        };
        let Ok(fact) = serde_json::from_slice::<Fact>(&record) else {
            // Of another version, or something else: what is wrong with it is not told, for it may be told with
            // a part of it.
            return refuse(spool, "it is none of this version's").await;
        };
        let turn = self.store.turn().await;
        let recorded = tokio::time::timeout(UNHURRIED, self.record(&fact)).await;
        drop(turn);
        match recorded {
            Ok(Ok(_)) => {
                spool.remove_first().await?;
                if spool.is_empty() {
                    tracing::info!("everything that waited in the spool is recorded");
                }
                Ok(Progress::Made)
            }
            Ok(Err(error)) if error.is_transient() => Err(error.into()),
            Ok(Err(error)) => refuse(spool, &errors::chain(&error)).await,
            Err(_) => Err(ReplayError::Slow),
        }
    }
}

/// Whether a record came out of the spool.
enum Progress {
    Made,
    /// There is none: it is looked whether there is room again.
    None,
}

/// Why a fact stays in the spool.
#[derive(Debug, thiserror::Error)]
enum ReplayError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error("the database does not answer")]
    Slow,
}

/// Sets the oldest record aside, and goes on with the others.
async fn refuse(spool: &Spooler, because: &str) -> Result<Progress, ReplayError> {
    let path = spool.refuse_first().await?;
    tracing::error!(
        error = because,
        kept_in = path.map(|path| path.display().to_string()),
        "a record of the spool cannot be recorded; it is set aside"
    );
    Ok(Progress::Made)
}
