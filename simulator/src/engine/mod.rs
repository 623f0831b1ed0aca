//! The engine: a scheduler that works in steps, a thread that drives it, and what clients hold of it.

mod chance;
mod driver;
mod generation;
mod pace;
mod request;
mod scheduler;
#[cfg(test)]
mod tests;

use crate::config::Config;
use crate::token::Token;
use driver::Command;
pub(crate) use generation::Generation;
pub(crate) use request::Refusal;
use request::{RequestId, Submission};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
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

    /// Serves a prompt of a tenant, under a salt that may be empty, up to the point where its answer can be read token by token.
    pub(crate) async fn serve(
        &self,
        tenant: &str,
        salt: &str,
        prompt: Vec<Token>,
        most: usize,
    ) -> Result<Generation, Refusal> {
        let id = RequestId(self.next.fetch_add(1, Ordering::Relaxed));
        let (events, received) = unbounded_channel();
        let tokens = prompt.len();
        let submission = Submission {
            prompt: prompt.into(),
            most,
            tenant: tenant.to_owned(),
            salt: salt.to_owned(),
        };
        // From here on, whoever drops the generation aborts the request.
        let generation = Generation::new(id, tokens, received, self.commands.clone());
        let command = Command::Submit {
            id,
            submission,
            events,
        };
        self.commands.send(command).map_err(|_| Refusal::Internal)?;
        generation.begun().await
    }

    /// Free and all pages of prefill and decode; none if the engine has stopped.
    pub(crate) fn pages(&self) -> [(usize, usize); 2] {
        let (reply, answer) = std::sync::mpsc::channel();
        let sent = self.commands.send(Command::Gauge(reply)).is_ok();
        let pages = sent.then(|| answer.recv().ok()).flatten();
        pages.unwrap_or_default()
    }
}
