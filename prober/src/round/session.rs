//! A session: one endpoint with its tenants' clients and what was learnt about it, kept from round
//! to round.

use super::lengths::Lengths;
use super::{RoundOrder, RoundReport};
use crate::clock::Clock;
use crate::config::{self, Scenario};
use crate::endpoint::{ClientError, Target, TenantClient};
use crate::ids::{EndpointId, RoundId};
use crate::length::Calibration;
use crate::scenario::{Order, measured_as};
use crate::store::{EndpointFacts, RegisteredEndpoint, Store, StoreError};
use canary_gen::document::Summary;
use canary_gen::{Form, Layout, Seed, TokenMeasure};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use time::OffsetDateTime;

/// With so many documents of a form and layout, a length can be steered.
const ENOUGH_OBSERVATIONS: u32 = 2;

/// An endpoint that says that it is another build in every answer fills no memory.
const MOST_BUILDS: usize = 64;

/// One endpoint, ready to be probed. Cheap to clone: all clones are one session.
#[derive(Clone)]
pub struct Session(Arc<State>);

impl Deref for Session {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// What a session holds.
pub struct State {
    /// What the configuration says of it.
    pub endpoint: config::Endpoint,
    /// What the store says of it.
    pub(super) registered: RegisteredEndpoint,
    pub(super) target: Target,
    /// One client a tenant: own connections, own TLS sessions, so that a mix-up can never be ours.
    pub(super) clients: Vec<TenantClient>,
    learnt: Mutex<Learnt>,
}

struct Learnt {
    /// By form and kind of layout: what stands around a canary costs tokens, too.
    calibrations: HashMap<(Form, &'static str), Calibration>,
    measured_limit: Option<u64>,
    lengths: Lengths,
    /// When an answer of each build (model, fingerprint) was last recorded.
    builds: HashMap<(String, String), OffsetDateTime>,
}

/// Why an endpoint could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A client could not be built.
    #[error("make the HTTP client of endpoint `{endpoint}`")]
    Client {
        /// Which endpoint.
        endpoint: String,
        /// Why.
        source: ClientError,
    },
}

impl Session {
    /// Makes an endpoint known to the store and builds its tenants' clients. Sends nothing yet.
    ///
    /// # Errors
    /// When the database fails or a client cannot be built.
    pub async fn open(
        store: &Store,
        endpoint: &config::Endpoint,
        clock: &dyn Clock,
    ) -> Result<Self, SessionError> {
        let facts = EndpointFacts {
            name: endpoint.name.clone(),
            api: endpoint.api.as_str(),
            base_url: endpoint.base_url.clone(),
            model: endpoint.model.clone(),
            context_tokens: endpoint.context_tokens,
            tenants: endpoint
                .tenants
                .iter()
                .map(|tenant| tenant.name.clone())
                .collect(),
        };
        let registered = store.register_endpoint(&facts, clock.now()).await?;
        let target = Target {
            base_url: endpoint.base_url.clone(),
            api: endpoint.api.clone(),
            model: endpoint.model.clone(),
            stream: endpoint.stream,
            limits: endpoint.limits,
        };
        let clients = clients(endpoint)?;
        Ok(Self(Arc::new(State {
            endpoint: endpoint.clone(),
            target,
            clients,
            learnt: Mutex::new(Learnt {
                calibrations: HashMap::new(),
                measured_limit: registered.measured_limit,
                lengths: Lengths::default(),
                builds: HashMap::new(),
            }),
            registered,
        })))
    }

    /// Whether a session could be opened, as far as that is known without the database.
    ///
    /// # Errors
    /// When a client cannot be built.
    pub fn check(endpoint: &config::Endpoint) -> Result<(), SessionError> {
        clients(endpoint).map(drop)
    }

    /// Its id in the store.
    #[must_use]
    pub fn id(&self) -> EndpointId {
        self.registered.id
    }

    /// What a scenario may look at.
    pub(super) fn order(&self, scenario: &Scenario, seed: Seed) -> Order {
        order_at(&self.endpoint, scenario, self.measured_limit(), seed)
    }

    /// Whether enough documents of this form and layout were measured to steer a length within 1 %.
    pub(super) fn is_calibrated(&self, form: Form, layout: Layout) -> bool {
        let learnt = self.learnt();
        let calibration = learnt.calibrations.get(&kind(form, layout));
        calibration.map_or(0, Calibration::observations) >= ENOUGH_OBSERVATIONS
    }

    /// The measure to weave the next document with.
    pub(super) fn measure(&self, form: Form, layout: Layout) -> TokenMeasure {
        let learnt = self.learnt();
        let calibration = learnt.calibrations.get(&kind(form, layout));
        calibration.map_or_else(|| TokenMeasure::assumed(form), Calibration::measure)
    }

    /// Learns from a reported prompt length; false when the report is absurd.
    pub(super) fn observe(
        &self,
        form: Form,
        layout: Layout,
        document: &Summary,
        prompt_tokens: u64,
    ) -> bool {
        let mut learnt = self.learnt();
        let calibration = learnt.calibrations.entry(kind(form, layout));
        calibration
            .or_insert_with(|| Calibration::new(form))
            .observe(document, prompt_tokens)
    }

    pub(super) fn lengths(&self) -> Lengths {
        self.learnt().lengths.clone()
    }

    pub(super) fn set_lengths(&self, lengths: Lengths) {
        self.learnt().lengths = lengths;
    }

    pub(super) fn change_lengths(&self, change: impl FnOnce(&mut Lengths)) {
        change(&mut self.learnt().lengths);
    }

    /// The limit that a refusal named.
    pub(super) fn measured_limit(&self) -> Option<u64> {
        self.learnt().measured_limit
    }

    /// Learns the limit that a refusal named; true when it is news.
    pub(super) fn learn_limit(&self, limit: u64) -> bool {
        let mut learnt = self.learnt();
        learnt.measured_limit.replace(limit) != Some(limit)
    }

    /// Whether it is worth recording that an answer came from this build: once an hour is enough.
    pub(super) fn is_news_of_build(
        &self,
        model: &str,
        fingerprint: &str,
        now: OffsetDateTime,
    ) -> bool {
        let builds = &mut self.learnt().builds;
        let build = (model.to_owned(), fingerprint.to_owned());
        let last = builds.get(&build);
        if last.is_some_and(|&last| now - last < time::Duration::HOUR) {
            return false;
        }
        if builds.len() >= MOST_BUILDS {
            builds.clear();
        }
        builds.insert(build, now);
        true
    }

    pub(super) fn empty_report(&self, round: RoundId, order: &RoundOrder<'_>) -> RoundReport {
        RoundReport {
            round: round.get(),
            endpoint: self.endpoint.name.clone(),
            scenario: order.scenario.name.clone(),
            seed: order.seed,
            replay_of: order.replay.as_ref().map(|replay| replay.of.get()),
            verdict: "inconclusive",
            reason: None,
            probes: 0,
            leaks: 0,
            clean: 0,
            rejected: 0,
            cancelled: 0,
            inconclusive: 0,
            sensitivity: None,
            sensitivity_by_depth: Vec::new(),
            leak_rate_at_most: None,
            history: None,
            context_tokens: self.endpoint.context_tokens,
            measured_limit_tokens: None,
            lengths_by: "usage",
            length_error: None,
            prompt_tokens: 0,
            completion_tokens: 0,
            duration_ms: 0,
            recorded: false,
            findings: Vec::new(),
        }
    }

    fn learnt(&self) -> MutexGuard<'_, Learnt> {
        // Nothing in here is ever left half written, so a panic elsewhere does no harm to it.
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client a tenant.
fn clients(endpoint: &config::Endpoint) -> Result<Vec<TenantClient>, SessionError> {
    let client = |tenant: &config::Tenant| {
        let credential = tenant.credential.clone();
        TenantClient::new(credential, &tenant.connection, &endpoint.limits)
    };
    let clients: Result<_, _> = endpoint.tenants.iter().map(client).collect();
    clients.map_err(|source| SessionError::Client {
        endpoint: endpoint.name.clone(),
        source,
    })
}

/// What a scenario may look at, at an endpoint that named this limit when it last refused a prompt.
pub(crate) fn order_at(
    endpoint: &config::Endpoint,
    scenario: &Scenario,
    measured_limit: Option<u64>,
    seed: Seed,
) -> Order {
    Order {
        recipe: scenario.recipe.clone(),
        seed,
        tenants: endpoint.tenants.len(),
        context_tokens: endpoint.context_tokens,
        measured_limit,
        page_tokens: endpoint.page_tokens,
        form: scenario.form,
        max_answer_tokens: scenario.max_answer_tokens,
    }
}

/// Documents whose measure is the same.
fn kind(form: Form, layout: Layout) -> (Form, &'static str) {
    (form, measured_as(layout).as_str())
}
