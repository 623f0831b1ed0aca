//! What stands between HTTP and the engine: caches of answers, and connections that are used again.

mod answers;
mod reply;

use crate::config::Config;
use crate::engine::{ClientIds, Engine, Refusal, Submission};
use crate::fault::Fault;
use answers::Answers;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use reply::{Identity, Reply};

/// Connections that nobody uses, the longest idle first, each with the replies on it that nobody has read.
type Idle = Arc<Mutex<VecDeque<VecDeque<Reply>>>>;

/// The engine with what stands before it.
pub(crate) struct Front {
    pub(crate) engine: Engine,
    answers: Arc<Mutex<Answers>>,
    idle: Idle,
    /// The fault: a connection whose client went away is used again as it is.
    reuses_unread: bool,
}

impl Front {
    /// Starts the engine.
    ///
    /// # Errors
    /// When its thread cannot be started.
    pub(crate) fn start(config: Config) -> std::io::Result<Self> {
        Ok(Self {
            answers: Arc::new(Mutex::new(Answers::new(&config))),
            idle: Arc::default(),
            reuses_unread: config.has(Fault::ConnectionOffByOne),
            engine: Engine::start(config)?,
        })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.engine.config
    }

    /// Serves a prompt up to the point where its answer can be read token by token.
    pub(crate) async fn serve(
        &self,
        submission: Submission,
        ids: ClientIds,
        identity: Identity,
    ) -> Result<Connected, Refusal> {
        let answers = &self.answers;
        if let Some(kept) = lock(answers).find(&submission) {
            return Ok(Connected::alone(Reply::kept(kept, identity)));
        }
        let keeper = lock(answers).keeps_any().then(|| Arc::clone(answers));
        let generation = self.engine.submit(submission.clone(), ids)?;
        let reply = Reply::live(generation, identity, submission, keeper);
        let mut connected = if self.reuses_unread {
            Connected::on(Arc::clone(&self.idle), reply)
        } else {
            Connected::alone(reply)
        };
        connected.begun().await?;
        Ok(connected)
    }
}

/// A reply under way on its connection. Whoever drops it before its end has gone away.
pub(crate) struct Connected {
    reply: Reply,
    /// Replies on the same connection that come after this one.
    unread: VecDeque<Reply>,
    /// Where the connection goes when this reply is done with.
    idle: Option<Idle>,
}

impl Connected {
    /// On a connection of its own, which is closed with it.
    fn alone(reply: Reply) -> Self {
        Self {
            reply,
            unread: VecDeque::new(),
            idle: None,
        }
    }

    /// On a connection that is used again: replies come in the order of their requests.
    fn on(idle: Idle, reply: Reply) -> Self {
        let mut unread = lock(&idle).pop_front().unwrap_or_default();
        let reply = match unread.pop_front() {
            Some(first) => {
                unread.push_back(reply);
                first
            }
            None => reply,
        };
        Self {
            reply,
            unread,
            idle: Some(idle),
        }
    }
}

impl Deref for Connected {
    type Target = Reply;

    fn deref(&self) -> &Reply {
        &self.reply
    }
}

impl DerefMut for Connected {
    fn deref_mut(&mut self) -> &mut Reply {
        &mut self.reply
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let Some(idle) = &self.idle else {
            return;
        };
        let mut unread = std::mem::take(&mut self.unread);
        if !self.reply.has_ended() {
            unread.push_front(std::mem::replace(&mut self.reply, Reply::none()));
        }
        lock(idle).push_back(unread);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done while a lock is held.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
