//! Whether a prober can do its work: what `/-/ready` answers.

use crate::spool::{self, Spooler};
use crate::store::Store;
use serde::Serialize;
use std::time::Duration;

/// A database that does not answer in this time is away.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whether a prober can do its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// Whether rounds can begin: the database answers, and nothing waits in the spool.
    pub ready: bool,
    /// Whether the database answers.
    pub database: bool,
    /// How it stands with the spool.
    pub spool: SpoolReadiness,
}

/// How it stands with the spool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpoolReadiness {
    /// In a word.
    pub state: SpoolState,
    /// Why it is full.
    pub because: Option<String>,
    /// So many records wait.
    pub records: u64,
    /// Bytes of the disk they take.
    pub bytes: u64,
    /// So many torn or damaged pieces were set aside when this prober started.
    pub damaged: u64,
    /// So many records were set aside since then, because the database refuses them.
    pub refused: u64,
}

/// How it stands with the spool, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpoolState {
    /// Nothing waits.
    Empty,
    /// Records wait for the database. Rounds under way go on, none begins.
    Waiting,
    /// It takes nothing more but what is under way. No request is sent.
    Full,
}

impl Readiness {
    pub(super) async fn look(store: Option<&Store>, spool: &Spooler) -> Self {
        let database = match store {
            Some(store) => tokio::time::timeout(PATIENCE, store.answers())
                .await
                .unwrap_or(false),
            None => false,
        };
        Self::new(database, spool.state())
    }

    fn new(database: bool, spool: spool::State) -> Self {
        let state = match (&spool.full, spool.records) {
            (Some(_), _) => SpoolState::Full,
            (None, 0) => SpoolState::Empty,
            (None, _) => SpoolState::Waiting,
        };
        Self {
            ready: database && state == SpoolState::Empty,
            database,
            spool: SpoolReadiness {
                state,
                because: spool.full,
                records: spool.records,
                bytes: spool.bytes,
                damaged: spool.damaged,
                refused: spool.refused,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prober_is_ready_when_the_database_answers_and_nothing_waits() {
        let empty = spool::State::default();
        assert!(Readiness::new(true, empty.clone()).ready);
        assert!(!Readiness::new(false, empty.clone()).ready);
        let waiting = spool::State {
            records: 1,
            ..empty.clone()
        };
        let readiness = Readiness::new(true, waiting.clone());
        assert!(!readiness.ready);
        assert_eq!(readiness.spool.state, SpoolState::Waiting);
        let full = spool::State {
            full: Some("cannot be written".to_owned()),
            ..waiting
        };
        let readiness = Readiness::new(true, full);
        assert!(!readiness.ready);
        assert_eq!(readiness.spool.state, SpoolState::Full);
    }
}
