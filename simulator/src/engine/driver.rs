//! The thread that turns the scheduler's steps into time, and its events into messages.

use super::pace::Pace;
use super::request::{Event, RequestId, Submission};
use super::router::{ClientIds, Router};
use super::scheduler::Scheduler;
use super::state::{Busy, Phase, State};
use crate::config::Config;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// What the engine is told.
pub(super) enum Command {
    Submit {
        id: RequestId,
        submission: Submission,
        ids: ClientIds,
        events: UnboundedSender<Event>,
    },
    Abort(RequestId),
    /// Tell what it is at.
    Tell(Sender<State>),
}

/// Starts the thread; it ends when every sender is gone.
pub(super) fn start(config: Config) -> std::io::Result<Sender<Command>> {
    let (commands, received) = channel();
    let driver = Driver {
        pace: Pace::new(config.speeds),
        router: Router::new(&config),
        scheduler: Scheduler::new(config),
        busy: Busy::default(),
    };
    std::thread::Builder::new()
        .name("engine".to_owned())
        .spawn(move || driver.run(&received))?;
    Ok(commands)
}

struct Driver {
    scheduler: Scheduler,
    pace: Pace,
    router: Router,
    busy: Busy,
}

impl Driver {
    fn run(mut self, commands: &Receiver<Command>) {
        loop {
            let before = *self.scheduler.counts();
            let (prefills, decodes) = (
                self.scheduler.has(Phase::Prefill),
                self.scheduler.has(Phase::Decode),
            );
            let mut begun = Instant::now();
            let wait = if self.scheduler.is_idle() {
                self.pace.rest();
                None
            } else {
                Some(self.pace.tick())
            };
            let first = match wait {
                None => {
                    let first = commands.recv().map_err(|_| RecvTimeoutError::Disconnected);
                    begun = Instant::now();
                    first
                }
                Some(tick) => commands.recv_timeout(tick),
            };
            match first {
                Ok(command) => self.obey(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.router.stop(),
            }
            while let Ok(command) = commands.recv_timeout(Duration::ZERO) {
                self.obey(command);
            }
            for (id, event) in self.scheduler.step(self.pace.budget()) {
                self.router.tell(id, event);
            }
            // A short prompt comes and goes within one round.
            let (passed, after) = (begun.elapsed(), self.scheduler.counts());
            if prefills || after.computed_tokens > before.computed_tokens {
                self.busy.prefill += passed;
            }
            if decodes || after.given_tokens > before.given_tokens {
                self.busy.decode += passed;
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Submit {
                id,
                submission,
                ids,
                events,
            } => {
                self.router.open(id, ids, events);
                if let Err(refusal) = self.scheduler.submit(id, submission) {
                    self.router.tell(id, Event::Failed(refusal));
                }
            }
            Command::Abort(id) => {
                self.router.close(id);
                self.scheduler.abort(id);
            }
            Command::Tell(reply) => {
                let state = State {
                    busy: self.busy,
                    ..self.scheduler.state()
                };
                // Whoever asked may have stopped listening.
                let _ = reply.send(state);
            }
        }
    }
}
