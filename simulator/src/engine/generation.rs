//! An answer under way, as its client holds it.

use super::driver::Command;
use super::request::{Event, Finish, Refusal, RequestId};
use crate::token::Token;
use std::sync::mpsc::Sender;
use tokio::sync::mpsc::UnboundedReceiver;

/// The answer to one request. Dropping it before its end aborts the request.
pub(crate) struct Generation {
    id: RequestId,
    prompt: usize,
    events: UnboundedReceiver<Event>,
    commands: Sender<Command>,
    /// An event that was received but not handed on yet.
    ready: Option<Event>,
    cached: usize,
    end: Option<Finish>,
}

impl Generation {
    pub(super) fn new(
        id: RequestId,
        prompt: usize,
        events: UnboundedReceiver<Event>,
        commands: Sender<Command>,
    ) -> Self {
        Self {
            id,
            prompt,
            events,
            commands,
            ready: None,
            cached: 0,
            end: None,
        }
    }

    /// Waits for the first thing that is told of the request.
    pub(crate) async fn begun(&mut self) -> Result<(), Refusal> {
        if self.ready.is_some() || self.end.is_some() {
            return Ok(());
        }
        match self.events.recv().await {
            Some(Event::Failed(refusal)) => {
                self.end = Some(Finish::Abort);
                Err(refusal)
            }
            Some(first) => {
                self.ready = Some(first);
                Ok(())
            }
            None => {
                // The engine's thread is gone.
                self.end = Some(Finish::Abort);
                Err(Refusal::Internal)
            }
        }
    }

    /// The next token.
    pub(crate) async fn next(&mut self) -> Option<Token> {
        if self.end.is_some() {
            return None;
        }
        let event = match self.ready.take() {
            Some(ready) => Some(ready),
            None => self.events.recv().await,
        };
        match event {
            Some(Event::Token(token)) => return Some(token),
            Some(Event::End {
                finish,
                prompt,
                cached,
            }) => {
                self.end = Some(finish);
                self.prompt = prompt;
                self.cached = cached;
            }
            // The engine is gone, or gave up in the midst of the answer.
            Some(Event::Failed(_)) | None => self.end = Some(Finish::Abort),
        }
        None
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Why the answer ended; known after its last token.
    pub(crate) fn finish(&self) -> Finish {
        self.end.unwrap_or(Finish::Abort)
    }

    /// Length of the prompt; after the last token, as it was computed.
    pub(crate) fn prompt_tokens(&self) -> usize {
        self.prompt
    }

    /// Tokens of the prompt that came from a cache; known after the last token.
    pub(crate) fn cached_tokens(&self) -> usize {
        self.cached
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        if self.end.is_none() {
            // An engine that has stopped needs no telling.
            let _ = self.commands.send(Command::Abort(self.id));
        }
    }
}
