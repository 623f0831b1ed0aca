//! Sites: small simulated endpoints that share everything an engine shares between requests, and the
//! configuration that probes them. One fault is switched on at a time; nothing else differs.

use super::{Endpoint, EndpointText, TENANTS, Workplace, ready, simulate};
use prober::config::{self, Config};
use prober::round::{Executor, RoundOrder, RoundReport, Session};
use prober::store::Store;
use simulator::{Fault, FaultSetting, PrefixScope, Speeds};

const WINDOW: u32 = 4_096;

/// Every scenario, sized for the sites: their caches are small, so that little fills them.
const SCENARIOS: &str = r#"
[[scenarios]]
kind = "overflow"
ladder = [0.4, 0.78, 0.84, 0.9, 0.95, 1.1]
[[scenarios]]
kind = "crosstalk"
tokens = 1200
requests = 2
waves = 3
stride_tokens = 200
[[scenarios]]
kind = "cancel"
tokens = 1500
requests = 2
waves = 8
stride_tokens = 100
cancel_within = "60ms"
[[scenarios]]
kind = "pressure"
tokens = 1200
requests = 6
waves = 4
[[scenarios]]
kind = "return"
tokens = 1000
requests = 2
waves = 3
[[scenarios]]
kind = "sandwich"
tokens = 800
requests = 16
waves = 36
stride_tokens = 64
[[scenarios]]
kind = "boundary"
tokens = 2048
chunk_tokens = 1024
waves = 4
[[scenarios]]
kind = "burst"
tokens = 300
requests = 6
waves = 4
stride_tokens = 100
[[scenarios]]
kind = "prefix"
tokens = 800
samples = 8
[[scenarios]]
kind = "twin"
tokens = 600
waves = 2
stride_tokens = 150
[[scenarios]]
kind = "identity"
tokens = 500
requests = 1
waves = 4
stride_tokens = 150
"#;

/// What tells tenants apart, beside their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tenants {
    /// Nothing: the engine does.
    Alike,
    /// A `cache_salt` that each sends.
    Salted,
    /// An adapter of the model that each asks for.
    Adapted,
    /// How long each wants the model to think.
    Thinking,
}

impl Tenants {
    /// Who they must be for a fault to be one.
    fn for_fault(fault: Option<Fault>) -> Self {
        match fault {
            Some(Fault::PrefixWithoutSalt) => Self::Salted,
            Some(Fault::PrefixWithoutAdapter) => Self::Adapted,
            Some(Fault::BudgetOfNeighbour) => Self::Thinking,
            _ => Self::Alike,
        }
    }

    /// What a tenant, the `index`-th, adds to its requests.
    fn fields(self, tenant: &str, index: usize) -> String {
        match self {
            Self::Alike => String::new(),
            Self::Salted => format!("\nfields = {{ cache_salt = \"salt of {tenant}\" }}"),
            Self::Adapted => format!("\nfields = {{ model = \"adapter-{tenant}\" }}"),
            Self::Thinking => {
                // Less than it would think by itself.
                let budget = 25 + 15 * index;
                format!("\nfields = {{ thinking_token_budget = {budget} }}")
            }
        }
    }
}

/// A running endpoint with its configuration, known to a store.
pub(crate) struct Site {
    pub(crate) config: Config,
    pub(crate) executor: Executor,
    session: Session,
    _engine: Endpoint,
    _workplace: Workplace,
}

fn engine(tenants: Tenants, fault: Option<Fault>, seed: u64) -> simulator::Config {
    // Which memory is the bottleneck decides what waits for what, and what is where when it is needed again.
    let (prefill_tokens, decode_tokens, host_tokens) = match fault {
        Some(Fault::MetadataSlotReused) => (3_072, 65_536, 3_072),
        Some(Fault::FreedWhileWriting) => (16_384, 8_192, 3_072),
        Some(Fault::HostSlotNotPinned) => (3_072, 8_192, 6_144),
        _ => (3_072, 8_192, 3_072),
    };
    simulator::Config {
        context_tokens: WINDOW,
        prefill_tokens,
        decode_tokens: Some(decode_tokens),
        host_tokens: Some(host_tokens),
        disk_tokens: Some(6_144),
        keys: TENANTS
            .map(|(name, key)| (name.to_owned(), key.to_owned()).into())
            .to_vec(),
        adapters: TENANTS.map(|(name, _)| format!("adapter-{name}")).to_vec(),
        prefix_scope: match tenants {
            Tenants::Salted | Tenants::Adapted => PrefixScope::Everybody,
            Tenants::Alike | Tenants::Thinking => PrefixScope::Tenant,
        },
        // A transfer of a document takes milliseconds, as long as some tokens of an answer.
        speeds: Speeds {
            prefill: None,
            transfer: Some(60_000.0),
            decode: Some(3_000.0),
        },
        faults: fault
            .map(|fault| FaultSetting {
                fault,
                probability: 1.0,
            })
            .into_iter()
            .collect(),
        seed,
        ..simulator::Config::default()
    }
}

impl Site {
    /// Starts an endpoint with a fault, or healthy.
    pub(crate) async fn start(store: &Store, name: &str, fault: Option<Fault>, seed: u64) -> Self {
        let tenants = Tenants::for_fault(fault);
        let engine = simulate(engine(tenants, fault, seed)).await;
        let workplace = Workplace::new();
        let endpoint = EndpointText {
            name,
            base_url: &engine.base_url,
            context_tokens: WINDOW,
            more: "",
        };
        let path = workplace.write(&endpoint, SCENARIOS);
        let mut text = std::fs::read_to_string(&path).unwrap();
        for (index, (tenant, _)) in TENANTS.iter().enumerate() {
            let key = format!("key_file = \"{tenant}.key\"");
            let more = tenants.fields(tenant, index);
            text = text.replace(&key, &format!("{key}{more}"));
        }
        std::fs::write(&path, text).unwrap();
        let config =
            config::load_with(&path, &|_| None).unwrap_or_else(|errors| panic!("{errors}"));
        let (executor, session) = ready(&config, store).await;
        Self {
            config,
            executor,
            session,
            _engine: engine,
            _workplace: workplace,
        }
    }

    /// Names of the scenarios.
    pub(crate) fn scenarios(&self) -> Vec<String> {
        self.config
            .scenarios
            .iter()
            .map(|scenario| scenario.name.clone())
            .collect()
    }

    pub(crate) async fn round(&self, scenario: &str, seed: u64) -> RoundReport {
        let mut scenarios = self.config.scenarios.iter();
        let order = RoundOrder {
            scenario: scenarios
                .find(|candidate| candidate.name == scenario)
                .unwrap(),
            seed,
            due_at: None,
            replay: None,
        };
        self.executor.run(&self.session, &order).await.unwrap()
    }
}

/// So many rounds a fault has to be found.
pub(crate) const ROUNDS: u64 = 3;

/// The scenario that a fault is looked for with, and the healthy engine is compared on.
pub(crate) fn scenario_for(fault: Fault) -> &'static str {
    match fault {
        Fault::StalePages | Fault::HeadTruncated => "overflow",
        Fault::TransferFailureIgnored | Fault::LogitsShared => "crosstalk",
        Fault::FreedWhileWriting | Fault::ConnectionOffByOne => "cancel",
        Fault::SwapNotRestored | Fault::DecodeBeforeTransfer | Fault::SourceFreedEarly => {
            "pressure"
        }
        Fault::HostSlotNotPinned | Fault::DiskIndexStale => "return",
        Fault::MetadataSlotReused | Fault::BudgetOfNeighbour => "sandwich",
        Fault::BoundaryOffByOne => "boundary",
        Fault::PrefixWithoutTenant | Fault::PrefixWithoutSalt | Fault::PrefixWithoutAdapter => {
            "prefix"
        }
        Fault::PrefixKeyCollision | Fault::StateNotReset | Fault::StreamsSwapped => "burst",
        Fault::TableRowsNotMoved | Fault::DraftOfNeighbour => "burst",
        Fault::ResponseCacheWithoutTenant | Fault::SemanticCacheWithoutTenant => "twin",
        Fault::RequestIdReused | Fault::TraceIdCollides => "identity",
    }
}

/// What became of a fault under one seed: found in which round, after how long and how many tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) round: Option<u64>,
    pub(crate) seconds: f64,
    pub(crate) tokens: u64,
    pub(crate) kinds: Vec<&'static str>,
}

/// Rounds of a scenario at an engine with a fault, at most so many, until one has a finding.
pub(crate) async fn look_for(
    store: &Store,
    fault: Fault,
    scenario: &str,
    seed: u64,
    rounds: u64,
) -> Found {
    let name = format!("{fault}-{scenario}-{seed}");
    let site = Site::start(store, &name, Some(fault), seed).await;
    let mut found = Found::default();
    for round in 1..=rounds {
        let report = site.round(scenario, seed * rounds + round).await;
        found.seconds += report.duration_ms as f64 / 1_000.0;
        found.tokens += report.prompt_tokens;
        if !report.findings.is_empty() {
            found.kinds = report.findings.iter().map(|finding| finding.kind).collect();
            found.kinds.sort_unstable();
            found.kinds.dedup();
            found.round = Some(round);
            break;
        }
    }
    found
}
