//! The spool, for tasks: files are written on threads of their own, and its state can be waited for.

use super::{Room, Spool, SpoolError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use tokio::sync::watch;

/// How it stands with the spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// So many records wait.
    pub records: u64,
    /// Bytes of the disk they take.
    pub bytes: u64,
    /// Why nothing more is begun, if it is full or cannot be written.
    pub full: Option<String>,
    /// So many torn or damaged pieces were set aside when it was opened.
    pub damaged: u64,
    /// So many records were set aside, because the database refuses them for good.
    pub refused: u64,
    /// When the file with the oldest record was begun, by the clock of the file system.
    pub oldest_at: Option<SystemTime>,
}

/// A spool that tasks share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Spooler {
    spool: Arc<Mutex<Spool>>,
    state: Arc<watch::Sender<State>>,
}

impl Spooler {
    /// Opens the spool in a folder, and tells in the log what was torn or damaged there.
    ///
    /// # Errors
    /// When the folder cannot be read, or what must be written there cannot.
    pub fn open(folder: &Path, room: Room) -> Result<Self, SpoolError> {
        let (spool, damages) = Spool::open(folder, room)?;
        for damage in &damages {
            tracing::error!(
                bytes = damage.bytes,
                kept_in = %damage.kept_in.display(),
                "a piece of the spool was torn or damaged; it is set aside"
            );
        }
        let state = State {
            damaged: damages.len() as u64,
            ..state_of(&spool, &State::default())
        };
        Ok(Self {
            spool: Arc::new(Mutex::new(spool)),
            state: Arc::new(watch::Sender::new(state)),
        })
    }

    /// How it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Whether no record waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state.borrow().records == 0
    }

    /// Whether nothing more should be begun.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.state.borrow().full.is_some()
    }

    /// Waits until no record waits.
    pub async fn emptied(&self) {
        // The sender lives as long as this.
        let _ = self.state.subscribe().wait_for(|s| s.records == 0).await;
    }

    /// Waits until no record waits and there is room.
    pub async fn is_fine(&self) {
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|s| s.records == 0 && s.full.is_none()).await;
    }

    /// Waits until a record waits, or the spool is full.
    pub async fn needs_care(&self) {
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|s| s.records > 0 || s.full.is_some()).await;
    }

    /// Keeps a record: when this returns, it is on the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn append(&self, record: Vec<u8>) -> Result<(), SpoolError> {
        self.with(move |spool| spool.append(&record)).await
    }

    /// The oldest record.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn first(&self) -> Result<Option<Vec<u8>>, SpoolError> {
        let first = |spool: &mut Spool| Ok(spool.first()?.map(<[u8]>::to_vec));
        self.with(first).await
    }

    /// Removes the oldest record: it is where it belongs. Looks whether there is room again, too.
    ///
    /// # Errors
    /// When a file cannot be deleted.
    pub async fn remove_first(&self) -> Result<(), SpoolError> {
        self.with(|spool| {
            let removed = spool.remove_first();
            if spool.full().is_some() {
                spool.refresh();
            }
            removed
        })
        .await
    }

    /// Sets the oldest record aside: it cannot be recorded. Where it is now.
    ///
    /// # Errors
    /// When a file cannot be written or deleted.
    pub async fn refuse_first(&self) -> Result<Option<PathBuf>, SpoolError> {
        let path = self.with(|spool| {
            let Some(record) = spool.first()?.map(<[u8]>::to_vec) else {
                return Ok(None);
            };
            let path = spool.set_aside(&record)?;
            spool.remove_first()?;
            Ok(Some(path))
        });
        let path = path.await?;
        self.state.send_modify(|state| state.refused += 1);
        Ok(path)
    }

    /// Looks whether there is room again.
    pub async fn refresh(&self) {
        let refresh = |spool: &mut Spool| {
            spool.refresh();
            Ok(())
        };
        // It has no error.
        let _ = self.with(refresh).await;
    }

    async fn with<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Spool) -> Result<T, SpoolError> + Send + 'static,
    ) -> Result<T, SpoolError> {
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            // Whatever panicked left the files as they were.
            let mut spool = this.spool.lock().unwrap_or_else(PoisonError::into_inner);
            let done = act(&mut spool);
            this.state
                .send_modify(|state| *state = state_of(&spool, state));
            done
        });
        match done.await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it whoever waits.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

fn state_of(spool: &Spool, before: &State) -> State {
    State {
        records: spool.records(),
        bytes: spool.bytes(),
        full: spool.full().map(str::to_owned),
        oldest_at: spool.oldest_at(),
        ..before.clone()
    }
}
