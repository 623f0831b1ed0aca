//! The dispatcher: routes what is new, sends what is due, and tells Alertmanagers again what is unresolved.

use super::receiver::{Alertmanager, Context, Kind, MOST_TOGETHER, Message, Receiver};
use super::retry::{Answer, next};
use super::send::{Sender, SenderError};
use super::{Next, Notice};
use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::errors;
use crate::metrics::Metrics;
use crate::store::{Claim, Lane, Route, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How often it is looked for what other processes have written, and for what is due again.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is noted that this prober's receivers have a prober.
const SEEN_EVERY: time::Duration = time::Duration::minutes(1);
/// Between two messages to people: Slack takes about one a second.
const SPACING: time::Duration = time::Duration::seconds(2);
/// What waits when the service stops has so long to leave; the rest leaves when it starts again.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Sends alerts to receivers.
pub struct Dispatcher {
    store: Store,
    clock: Arc<dyn Clock>,
    receivers: Arc<Vec<(Receiver, Sender)>>,
    site: Option<String>,
    chance: fn() -> f64,
    metrics: Metrics,
    /// Attempts; what came of them they record themselves.
    under_way: JoinSet<()>,
    /// When it was last noted that this prober lives.
    seen_at: Option<OffsetDateTime>,
}

impl Dispatcher {
    /// For these receivers, with the address of a status page. `chance` is asked for numbers from 0 to 1.
    ///
    /// # Errors
    /// When nothing can be sent to one of them.
    pub fn new(
        store: Store,
        clock: Arc<dyn Clock>,
        receivers: &[Receiver],
        site: Option<String>,
        chance: fn() -> f64,
    ) -> Result<Self, SenderError> {
        let receivers: Result<_, SenderError> = receivers
            .iter()
            .map(|receiver| Ok((receiver.clone(), Sender::new(receiver)?)))
            .collect();
        Ok(Self {
            store,
            clock,
            receivers: Arc::new(receivers?),
            site,
            chance,
            metrics: Metrics::new(),
            under_way: JoinSet::new(),
            seen_at: None,
        })
    }

    /// Tells these metrics what comes of attempts.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Works until told to stop; what waits then has a moment to leave.
    pub async fn run(mut self, stop: CancellationToken) {
        if self.receivers.is_empty() {
            return;
        }
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
                        "alerts wait for the database"
                    );
                    backoff.pause()
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.store.alerted() => {}
                Some(_) = self.under_way.join_next() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        match tokio::time::timeout(LAST_WORDS, self.catch_up()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => {
                tracing::warn!("some alerts wait until a prober starts again");
            }
        }
    }

    /// Does all that is due now, and waits for what comes of it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn catch_up(&mut self) -> Result<(), StoreError> {
        loop {
            self.turn().await?;
            if self.under_way.join_next().await.is_none() {
                return Ok(());
            }
        }
    }

    /// Begins all that is due now; attempts go on by themselves.
    async fn turn(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let turn = self.store.turn().await;
        if self.seen_at.is_none_or(|seen| now - seen >= SEEN_EVERY) {
            let names: Vec<String> = self
                .receivers
                .iter()
                .map(|(one, _)| one.name.clone())
                .collect();
            self.store.see_receivers(&names, now).await?;
            self.store.give_up_orphans(now).await?;
            self.seen_at = Some(now);
        }
        while self
            .store
            .route_alerts(now, |notice, names| self.routes(notice, names, now))
            .await?
            > 0
        {}
        for (name, urgent) in self.store.due_lanes(now).await? {
            let Some((receiver, sender)) = self.receivers.iter().find(|(one, _)| one.name == name)
            else {
                continue;
            };
            if !urgent && is_quiet(receiver, now) {
                continue;
            }
            if let Some(claim) = self.store.claim(&lane(receiver, urgent), now).await? {
                let message = receiver.message(&claim.envelopes, &self.context(now));
                let attempt = Attempt {
                    store: self.store.clone(),
                    clock: Arc::clone(&self.clock),
                    metrics: self.metrics.clone(),
                    sender: sender.clone(),
                    claim,
                    chance: (self.chance)(),
                };
                self.under_way.spawn(attempt.carry_out(message));
            }
        }
        let receivers = Arc::clone(&self.receivers);
        for (receiver, sender) in receivers.iter() {
            if let Kind::Alertmanager(to) = &receiver.kind {
                self.resend(receiver, to, sender, now).await?;
            }
        }
        drop(turn);
        Ok(())
    }

    /// Who of those that can be told is told of a notice.
    fn routes(&self, notice: &Notice, names: &[String], now: OffsetDateTime) -> Vec<Route> {
        let told = self.receivers.iter().filter(|(receiver, _)| {
            names.contains(&receiver.name) && receiver.filter.takes(&receiver.name, notice)
        });
        let routes = told.map(|(receiver, _)| {
            let urgent = notice.is_urgent();
            let waits = !urgent && receiver.kind.groups();
            Route {
                receiver: receiver.name.clone(),
                urgent,
                due_at: if waits {
                    now + receiver.group_wait
                } else {
                    now
                },
            }
        });
        routes.collect()
    }

    async fn resend(
        &mut self,
        receiver: &Receiver,
        to: &Alertmanager,
        sender: &Sender,
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let every = time::Duration::try_from(to.resend_every).unwrap_or(time::Duration::MINUTE);
        if !self.store.claim_resend(&receiver.name, every, now).await? {
            return Ok(());
        }
        let standing = self.store.standing_notices(now).await?;
        let wanted: Vec<&Notice> = standing
            .iter()
            .filter(|notice| receiver.filter.takes(&receiver.name, notice))
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let message = Message::Replicas(to.posts(&wanted, &self.context(now)));
        let (sender, name) = (sender.clone(), receiver.name.clone());
        self.under_way.spawn(async move {
            // It is told again soon, whatever comes of it.
            if let Answer::Failed { because, .. } | Answer::Refused { because } =
                sender.send(&message, now).await
            {
                tracing::warn!(
                    receiver = name,
                    because,
                    "unresolved incidents could not be sent again"
                );
            }
        });
        Ok(())
    }

    fn context(&self, now: OffsetDateTime) -> Context<'_> {
        Context {
            now,
            site: self.site.as_deref(),
        }
    }
}

/// Whether something can be sent to each of these receivers, as far as that is known without sending.
///
/// # Errors
/// When nothing can be sent to one of them.
pub fn check_receivers(receivers: &[Receiver]) -> Result<(), SenderError> {
    receivers
        .iter()
        .try_for_each(|receiver| Sender::new(receiver).map(drop))
}

fn is_quiet(receiver: &Receiver, now: OffsetDateTime) -> bool {
    receiver
        .quiet
        .as_ref()
        .is_some_and(|quiet| quiet.until(now).is_some())
}

fn lane(receiver: &Receiver, urgent: bool) -> Lane {
    let groups = receiver.kind.groups();
    Lane {
        receiver: receiver.name.clone(),
        urgent,
        together: if groups { MOST_TOGETHER } else { 1 },
        spacing: if groups {
            SPACING
        } else {
            time::Duration::ZERO
        },
    }
}

/// A message on its way.
struct Attempt {
    store: Store,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    sender: Sender,
    claim: Claim,
    chance: f64,
}

impl Attempt {
    async fn carry_out(self, message: Message) {
        let answer = self.sender.send(&message, self.clock.now()).await;
        let now = self.clock.now();
        let next = next(
            answer,
            self.claim.attempts,
            (self.claim.first_at, now),
            self.chance,
        );
        self.tell(&next);
        let _turn = self.store.turn().await;
        if let Err(error) = self.store.settle(&self.claim, &next, now).await {
            tracing::warn!(
                receiver = self.claim.receiver,
                error = errors::chain(&error),
                "what became of an alert could not be recorded; it may arrive twice"
            );
        }
    }

    fn tell(&self, next: &Next) {
        let receiver = &self.claim.receiver;
        self.metrics.attempted(receiver, next);
        let alerts = self.claim.envelopes.len();
        match next {
            Next::Delivered => tracing::info!(receiver, alerts, "alert delivered"),
            Next::Again { because, .. } => {
                tracing::warn!(
                    receiver,
                    alerts,
                    because,
                    attempts = self.claim.attempts,
                    "alert not delivered; it is tried again"
                );
            }
            Next::Dead { because } => {
                tracing::error!(
                    receiver,
                    alerts,
                    because,
                    attempts = self.claim.attempts,
                    "alert given up"
                );
            }
            Next::Disable => {
                tracing::error!(
                    receiver,
                    alerts,
                    "the receiver is gone (410) and is told nothing more: see `prober alert enable`"
                );
            }
        }
    }
}
