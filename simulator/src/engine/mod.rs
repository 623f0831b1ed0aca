//! The engine: a scheduler that works in steps, a thread that drives it, and what clients hold of it.

mod chance;
mod driver;
mod generation;
mod pace;
mod request;
mod router;
mod scheduler;
mod state;
#[cfg(test)]
mod tests;
mod thinking;

use crate::config::Config;
pub(crate) use chance::Faults;
use driver::Command;
pub(crate) use generation::Generation;
use request::RequestId;
pub(crate) use request::{Finish, Refusal, Submission};
pub(crate) use router::ClientIds;
pub(crate) use state::{Counts, Pages, Phase, State, ratio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
pub(crate) use thinking::{Thinking, reasoning_tokens};
use tokio::sync::mpsc::unbounded_channel;

/// A running engine.
pub(crate) struct Engine {
    pub(crate) config: Config,
    commands: Sender<Command>,
    next: AtomicU64,
}

impl Engine {
    /// Allocates the pools and starts the engine's thread.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn start(config: Config) -> std::io::Result<Self> {
        Ok(Self {
            commands: driver::start(config.clone())?,
            config,
            next: AtomicU64::new(0),
        })
    }

    /// Asks for an answer to a prompt.
    pub(crate) fn submit(
        &self,
        submission: Submission,
        ids: ClientIds,
    ) -> Result<Generation, Refusal> {
        let id = RequestId(self.next.fetch_add(1, Ordering::Relaxed));
        let (events, received) = unbounded_channel();
        let tokens = submission.prompt.len();
        // From here on, whoever drops the generation aborts the request.
        let generation = Generation::new(id, tokens, received, self.commands.clone());
        let command = Command::Submit {
            id,
            submission,
            ids,
            events,
        };
        self.commands.send(command).map_err(|_| Refusal::Internal)?;
        Ok(generation)
    }

    /// What it is at now; nothing if it has stopped.
    pub(crate) fn state(&self) -> State {
        let (reply, answer) = std::sync::mpsc::channel();
        let sent = self.commands.send(Command::Tell(reply)).is_ok();
        let state = sent.then(|| answer.recv().ok()).flatten();
        state.unwrap_or_default()
    }
}
