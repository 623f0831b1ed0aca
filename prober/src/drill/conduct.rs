//! Carries drills out, and watches over all of them, whoever began them.

use super::stage::Stage;
use super::{NewDrill, Settings, Standing, standing};
use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::errors;
use crate::ids::DrillId;
use crate::incident;
use crate::metrics::Metrics;
use crate::round::{Executor, RoundError, RoundOrder, Session, SessionError};
use crate::store::{Store, StoreError};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

/// How often it is looked whether one is due, or over.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Why a drill could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// Its endpoint found no socket.
    #[error("listen on the loopback address")]
    Socket(#[source] io::Error),
    /// Its endpoint could not be made.
    #[error("make the endpoint of a drill")]
    Simulator(#[from] simulator::ConfigError),
    /// Its endpoint could not be made known.
    #[error("make the endpoint of a drill known")]
    Session(#[from] SessionError),
    /// Its round could not be recorded.
    #[error("carry out the round of a drill")]
    Round(#[from] RoundError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The leak was there, and the prober did not see it.
    #[error("the prober did not find the leak of a drill (its round is {verdict})")]
    NotFound {
        /// The verdict on its round.
        verdict: &'static str,
    },
}

/// Carries drills out, and watches over them.
#[derive(Clone)]
pub struct Conductor {
    executor: Executor,
    settings: Settings,
    /// The names of the endpoints that take turns.
    endpoints: Vec<String>,
    seed: fn() -> u64,
}

impl Conductor {
    /// For these endpoints, by their names. Rounds are carried out as `executor` does; `seed` is asked for their seeds.
    #[must_use]
    pub fn new(
        executor: &Executor,
        settings: Settings,
        endpoints: Vec<String>,
        seed: fn() -> u64,
    ) -> Self {
        let executor = Executor {
            // Whether the database takes it is a part of what is tried.
            spool: None,
            // There is nothing to prove.
            evidence: None,
            // Each has an incident of its own, so that each is told as a new one.
            incidents: incident::Rules {
                reopen_within: time::Duration::MIN,
                ..executor.incidents
            },
            // Nobody reads these: it is counted apart.
            metrics: Metrics::new(),
            tenure: None,
            ..executor.clone()
        };
        Self {
            executor,
            settings,
            endpoints,
            seed,
        }
    }

    fn store(&self) -> &Store {
        &self.executor.store
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.executor.clock
    }

    /// Begins drills that are due and ends those that are over, until told to stop.
    pub async fn run(&self, stop: &CancellationToken) {
        let mut backoff = Backoff::new();
        while !stop.is_cancelled() {
            let pause = match self.turn().await {
                Ok(()) => {
                    backoff = Backoff::new();
                    LOOK_EVERY
                }
                Err(error) => {
                    tracing::warn!(
                        error = errors::chain(&error),
                        "drills wait for the database"
                    );
                    backoff.pause()
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Does all that is due now, once.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn turn(&self) -> Result<(), StoreError> {
        self.watch().await?;
        if let Some(drill) = self.due().await? {
            let turn = self.store().turn().await;
            let begun = self.store().begin_drill(&drill).await?;
            drop(turn);
            if let Some(id) = begun {
                tracing::info!(drill.id = id.get(), endpoint = drill.endpoint, "drill");
                // What went wrong ends it when somebody looks, here or in another process.
                if let Err(error) = self.carry_out(id).await {
                    tracing::error!(
                        drill.id = id.get(),
                        error = errors::chain(&error),
                        "a drill failed"
                    );
                }
            }
        }
        Ok(())
    }

    /// The drill that is due and has not been.
    async fn due(&self) -> Result<Option<NewDrill>, StoreError> {
        let now = self.clock().now();
        let Some((due_at, number)) = self.settings.due(now) else {
            return Ok(None);
        };
        let last = self.store().last_due_drill().await?;
        if self.endpoints.is_empty() || last.is_some_and(|last| last >= due_at) {
            return Ok(None);
        }
        let turn = (number % self.endpoints.len() as u64) as usize;
        Ok(Some(self.order(
            self.endpoints[turn].clone(),
            None,
            Some(due_at),
        )))
    }

    fn order(
        &self,
        endpoint: String,
        who: Option<String>,
        due_at: Option<OffsetDateTime>,
    ) -> NewDrill {
        let begun_at = self.clock().now();
        NewDrill {
            endpoint,
            who,
            due_at,
            begun_at,
            deadline_at: begun_at + self.settings.deadline,
        }
    }

    /// Begins a drill of an endpoint by hand; `None` if one is under way.
    ///
    /// # Errors
    /// When the database fails; nothing has begun then.
    pub async fn begin(&self, endpoint: &str, who: String) -> Result<Option<DrillId>, StoreError> {
        // One whose prober died holds up no other.
        self.watch().await?;
        let order = self.order(endpoint.to_owned(), Some(who), None);
        let _turn = self.store().turn().await;
        self.store().begin_drill(&order).await
    }

    /// Lets the endpoint of drills leak, and finds that as any leak is found.
    ///
    /// # Errors
    /// When the leak could not be made, or was not found and recorded. Whoever watches ends the drill then, at the
    /// latest when its time is up.
    pub async fn carry_out(&self, id: DrillId) -> Result<(), DrillError> {
        let stage = Stage::open().await?;
        let done = self.probe(&stage, id).await;
        stage.close().await;
        done
    }

    async fn probe(&self, stage: &Stage, id: DrillId) -> Result<(), DrillError> {
        let turn = self.store().turn().await;
        let session = Session::open(self.store(), &stage.endpoint, self.clock().as_ref()).await?;
        drop(turn);
        let order = RoundOrder {
            scenario: &stage.scenario,
            seed: (self.seed)(),
            due_at: None,
            replay: None,
        };
        let report = self.executor.run(&session, &order).await?;
        if report.verdict != "leak" {
            return Err(DrillError::NotFound {
                verdict: report.verdict,
            });
        }
        let _turn = self.store().turn().await;
        self.store().drill_found(id, self.clock().now()).await?;
        Ok(())
    }

    /// Ends the drill that is under way if it has arrived or failed, and what is left of others.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn watch(&self) -> Result<(), StoreError> {
        let _turn = self.store().turn().await;
        let now = self.clock().now();
        let Some(drill) = self.store().drill_under_way().await? else {
            self.store().close_late_drills(now).await?;
            return Ok(());
        };
        let (id, endpoint) = (drill.id.get(), &drill.endpoint);
        match standing(&drill, now) {
            Standing::Waits => {}
            Standing::Arrived => {
                if self.store().end_drill(drill.id, None, now).await? {
                    tracing::info!(drill.id = id, endpoint, "a drill reached every receiver");
                }
            }
            Standing::Failed(because) => {
                if self
                    .store()
                    .end_drill(drill.id, Some(&because), now)
                    .await?
                {
                    tracing::error!(
                        drill.id = id,
                        endpoint,
                        because,
                        "a drill did not reach every receiver: nor would a leak"
                    );
                }
            }
        }
        Ok(())
    }
}
