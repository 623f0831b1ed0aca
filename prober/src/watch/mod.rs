//! The watch: what is due at which endpoint, carried out by whichever prober has leased it.
//!
//! Any number of probers may watch with one database. Each knows the whole timetable, looks which endpoints have
//! something due, and leases as many of them as it has room for. Who has a lease decides upon every tick that is due
//! there (`desk`), keeps the lease alive meanwhile (`keep`), and gives it back. Who dies loses it when it
//! expires; the next one goes on from what is recorded.

mod desk;
mod instance;
mod keep;
mod next;
mod reload;

pub use instance::{Instance, InstanceError};
pub(crate) use next::{not_run_since_change, seed_number};

use crate::clock::Clock as _;
use crate::config::{Config, Endpoint};
use crate::errors;
use crate::ids::EndpointId;
use crate::plan::Timetable;
use crate::round::{Executor, Session, SessionError};
use crate::store::{Decided, Gained, StoreError};
use desk::{Desk, Served};
use reload::{mine, next_of};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// Wake up at least so often: the clock may have been set.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// So many times while a lease lasts we ask again for what was due and could not be leased, and look whether a prober
/// has died and left something undone.
const ASKS_PER_LEASE: u32 = 10;

/// Everything a watch is made of.
pub struct Watch {
    config: Arc<Config>,
    timetable: Arc<Timetable>,
    executor: Executor,
    /// The name of this prober.
    name: String,
    /// Parts this installation's grid from others'.
    root_label: String,
    /// Configurations that are to be taken over, if any ever are.
    configs: Option<watch::Receiver<Arc<Config>>>,
    /// No two of one endpoint.
    places: Vec<Place>,
    /// Endpoints that become places as soon as the database answers, and what is left there of a configuration before
    /// is done.
    unopened: Vec<Endpoint>,
    /// They are not tried before then.
    open_at: Instant,
    /// Cancelled when another configuration holds.
    retired: CancellationToken,
    /// When all places that are not served are looked at again.
    look_at: Instant,
    tasks: JoinSet<Served>,
    /// Which endpoint each task serves, by name: known even if it panics.
    serving: HashMap<Id, String>,
    unrecorded: u32,
}

/// An endpoint that this prober may take.
struct Place {
    session: Session,
    decided: Decided,
    /// Whether a round is under way there that nobody carries out any more. Its tick is due again, once somebody has
    /// taken the lease over.
    is_abandoned: bool,
    /// Not asked for before then: another one has it.
    ask_again_at: Option<Instant>,
    is_served: bool,
    /// Whether it is of a configuration before: it goes when it is not served any more.
    is_leaving: bool,
}

impl Place {
    fn new(session: Session) -> Self {
        Self {
            session,
            decided: Decided::default(),
            is_abandoned: false,
            ask_again_at: None,
            is_served: false,
            is_leaving: false,
        }
    }

    fn name(&self) -> &str {
        &self.session.endpoint.name
    }
}

impl Watch {
    /// A watch of every endpoint whose labels are among this prober's. `root_label` parts this installation's
    /// grid from others' (see [`Timetable::new`]).
    ///
    /// # Errors
    /// When the database fails or a client cannot be built.
    pub async fn open(
        config: Arc<Config>,
        executor: Executor,
        name: String,
        root_label: &str,
    ) -> Result<Self, SessionError> {
        let timetable = Arc::new(Timetable::new(&config, root_label));
        let mut watch = Self {
            timetable,
            executor,
            name,
            root_label: root_label.to_owned(),
            configs: None,
            places: Vec::new(),
            unopened: mine(&config),
            open_at: Instant::now(),
            retired: CancellationToken::new(),
            look_at: Instant::now(),
            tasks: JoinSet::new(),
            serving: HashMap::new(),
            unrecorded: 0,
            config,
        };
        watch.open_places().await?;
        watch.look().await?;
        Ok(watch)
    }

    /// Takes each of these configurations over when it comes. The one that is there already is the watch's own.
    #[must_use]
    pub fn following(self, configs: watch::Receiver<Arc<Config>>) -> Self {
        let configs = Some(configs);
        Self { configs, ..self }
    }

    /// How many endpoints this prober may take.
    #[must_use]
    pub fn endpoints(&self) -> usize {
        self.places.len()
    }

    /// Watches until told to stop, then waits for the rounds under way. How many rounds could not be recorded.
    pub async fn until_stopped(mut self) -> u32 {
        let stop = self.executor.stop.clone();
        while !stop.is_cancelled() {
            let may_begin = self.executor.may_begin();
            if may_begin && self.can_open() {
                self.try_to_open_places().await;
            }
            if may_begin && let Err(error) = self.take().await {
                tracing::warn!(
                    error = errors::chain(&error),
                    "no endpoint could be leased; trying again"
                );
                self.put_off(|_| true);
            }
            let pause = if may_begin {
                self.until_next()
            } else {
                LONGEST_SLEEP
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.executor.until_it_may_begin(), if !may_begin => {}
                () = stop.cancelled() => {}
                config = next_of(&mut self.configs) => self.adopt(config),
                Some(ended) = self.tasks.join_next_with_id() => self.note(ended),
            }
        }
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.note(ended);
        }
        self.unrecorded
    }

    /// Looks now and then at all places that are not served: what others have decided upon, or left undone.
    async fn look(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        if now < self.look_at {
            return Ok(());
        }
        let places = 0..self.places.len();
        let free: Vec<usize> = places
            .filter(|&place| !self.places[place].is_served)
            .collect();
        // Also when it fails: it is tried again then.
        self.look_at = now + self.config.fleet.lease / ASKS_PER_LEASE;
        self.look_up(&free).await
    }

    /// Leases endpoints where something is due, as many as there is room for, and serves them.
    async fn take(&mut self) -> Result<(), StoreError> {
        self.look().await?;
        let (now, asked_at) = (self.executor.clock.now(), Instant::now());
        let room = self.config.fleet.rounds_at_once
            - self.tasks.len().min(self.config.fleet.rounds_at_once);
        let wanted: Vec<usize> = (0..self.places.len())
            .filter(|&place| self.is_wanted(place, now, asked_at))
            .collect();
        if wanted.is_empty() || room == 0 {
            return Ok(());
        }
        let ids: Vec<EndpointId> = wanted
            .iter()
            .map(|&place| self.places[place].session.id())
            .collect();
        let duration = self.config.fleet.lease;
        let turn = self.executor.store.turn().await;
        let gained = self
            .executor
            .store
            .lease(&ids, &self.name, duration, room)
            .await?;
        drop(turn);
        for gained in gained {
            let id = gained.lease.endpoint;
            if let Some(place) = wanted
                .iter()
                .copied()
                .find(|&place| self.places[place].session.id() == id)
            {
                self.serve(place, gained, asked_at);
            }
        }
        // Another one has these, or there was no room. What was decided upon meanwhile is not due any more.
        let others: Vec<usize> = wanted
            .into_iter()
            .filter(|&place| !self.places[place].is_served)
            .collect();
        self.look_up(&others).await?;
        self.put_off(|place| !place.is_served);
        Ok(())
    }

    /// Looks up how far the grids of these places are decided upon, and which of them were abandoned.
    async fn look_up(&mut self, places: &[usize]) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let ids: Vec<EndpointId> = places
            .iter()
            .map(|&place| self.places[place].session.id())
            .collect();
        let turn = self.executor.store.turn().await;
        let mut decided = self.executor.store.decided(&ids).await?;
        let abandoned = self.executor.store.abandoned(&ids, &self.name).await?;
        drop(turn);
        for (&place, id) in places.iter().zip(ids) {
            let place = &mut self.places[place];
            place.decided = decided.remove(&id).unwrap_or_default();
            place.is_abandoned = abandoned.contains(&id);
        }
        Ok(())
    }

    fn is_wanted(&self, place: usize, now: OffsetDateTime, asked_at: Instant) -> bool {
        let place = &self.places[place];
        !place.is_served
            && place.ask_again_at.is_none_or(|at| at <= asked_at)
            && (place.is_abandoned || self.next(place).is_some_and(|next| next <= now))
    }

    /// The next tick at a place that is not decided upon.
    fn next(&self, place: &Place) -> Option<OffsetDateTime> {
        self.timetable
            .next(&place.session.endpoint.name, &place.decided)
    }

    /// What is to be done at these places is asked for again later.
    fn put_off(&mut self, which: impl Fn(&Place) -> bool) {
        let now = self.executor.clock.now();
        let later = Instant::now() + self.config.fleet.lease / ASKS_PER_LEASE;
        for place in 0..self.places.len() {
            let is_due = self
                .next(&self.places[place])
                .is_some_and(|next| next <= now);
            let place = &mut self.places[place];
            if which(place) {
                place.ask_again_at = (is_due || place.is_abandoned).then_some(later);
            }
        }
    }

    fn serve(&mut self, place: usize, gained: Gained, asked_at: Instant) {
        let session = self.places[place].session.clone();
        self.places[place].is_served = true;
        self.places[place].is_abandoned = false;
        if gained.lost > 0 {
            tracing::warn!(
                endpoint = session.endpoint.name,
                rounds.lost = gained.lost,
                "taken over from a prober that lost its lease"
            );
        }
        let name = session.endpoint.name.clone();
        let desk = Desk {
            config: Arc::clone(&self.config),
            timetable: Arc::clone(&self.timetable),
            session,
            retired: self.retired.clone(),
        };
        let executor = self.executor.clone();
        let task = self
            .tasks
            .spawn(async move { desk.serve(executor, gained.lease, asked_at).await });
        self.serving.insert(task.id(), name);
    }

    fn until_next(&self) -> Duration {
        let instant = Instant::now();
        let waits = self.places.iter().filter(|place| !place.is_served);
        let waits = waits.filter_map(|place| {
            let asked = place
                .ask_again_at
                .map_or(Duration::ZERO, |at| at - instant.min(at));
            let due = if place.is_abandoned {
                Duration::ZERO
            } else {
                self.executor.clock.until(self.next(place)?)
            };
            Some(asked.max(due))
        });
        let is_full = self.tasks.len() >= self.config.fleet.rounds_at_once;
        let wait = waits.min().filter(|_| !is_full);
        let look = self.look_at.saturating_duration_since(instant);
        let open = if self.has_unopened() {
            self.open_at.saturating_duration_since(instant)
        } else {
            LONGEST_SLEEP
        };
        wait.unwrap_or(look).min(look).min(open).min(LONGEST_SLEEP)
    }

    fn note(&mut self, ended: Result<(Id, Served), JoinError>) {
        let (id, served) = match ended {
            Ok((id, served)) => (id, Some(served)),
            Err(error) => {
                tracing::error!(panicked = error.is_panic(), "a round ended abnormally");
                (error.id(), None)
            }
        };
        self.unrecorded += served.as_ref().map_or(1, |served| served.unrecorded);
        let Some(name) = self.serving.remove(&id) else {
            return;
        };
        let Some(at) = self.places.iter().position(|place| place.name() == name) else {
            return;
        };
        if self.places[at].is_leaving {
            self.places.remove(at);
            self.open_at = Instant::now();
            return self.tell_names();
        }
        let place = &mut self.places[at];
        place.is_served = false;
        let Some(served) = served else {
            // What was decided before it is recorded; the rest is due again when the lease has expired.
            place.ask_again_at = Some(Instant::now() + self.config.fleet.lease);
            return;
        };
        place.decided = served.decided;
        place.ask_again_at = served
            .gave_up
            .then(|| Instant::now() + self.config.fleet.lease / ASKS_PER_LEASE);
    }
}
