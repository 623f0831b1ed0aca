//! Sites: small simulated endpoints that share everything an engine shares between requests, and the
//! configuration that probes them. One fault is switched on at a time; nothing else differs.

use super::{Endpoint, EndpointText, TENANTS, Workplace, ready, simulate};
use prober::config::{self, Config};
use prober::round::{Executor, RoundOrder, RoundReport, Session};
use prober::store::Store;
use simulator::{Fault, FaultSetting, PrefixScope, Speeds};

const WINDOW: u32 = 8_192;

/// Every scenario, sized for the sites: their caches are small, so that little fills them.
const SCENARIOS: &str = r#"
[[scenarios]]
kind = "overflow"
ladder = [0.4, 0.7, 0.95, 1.1]
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
waves = 4
stride_tokens = 100
cancel_within = "60ms"
[[scenarios]]
kind = "pressure"
tokens = 1200
requests = 6
waves = 2
max_answer_tokens = 512
[[scenarios]]
kind = "return"
tokens = 1800
requests = 2
waves = 2
[[scenarios]]
kind = "sandwich"
tokens = 500
requests = 2
waves = 8
stride_tokens = 100
[[scenarios]]
kind = "boundary"
tokens = 2048
chunk_tokens = 1024
waves = 1
stride_tokens = 200
[[scenarios]]
kind = "burst"
tokens = 300
requests = 6
waves = 2
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
waves = 2
stride_tokens = 150
"#;

/// How tenants are kept apart in the prefix cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// By the engine.
    ByTenant,
    /// By a `cache_salt` that each tenant sends.
    BySalt,
}

impl Apart {
    /// How they must be for a fault to be one.
    pub(crate) fn for_fault(fault: Option<Fault>) -> Self {
        match fault {
            Some(Fault::PrefixWithoutSalt) => Self::BySalt,
            _ => Self::ByTenant,
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

fn engine(apart: Apart, fault: Option<Fault>, seed: u64) -> simulator::Config {
    simulator::Config {
        context_tokens: WINDOW,
        prefill_tokens: 6_144,
        decode_tokens: Some(9_216),
        host_tokens: Some(3_072),
        disk_tokens: Some(6_144),
        keys: TENANTS
            .map(|(name, key)| (name.to_owned(), key.to_owned()).into())
            .to_vec(),
        prefix_scope: match apart {
            Apart::ByTenant => PrefixScope::Tenant,
            Apart::BySalt => PrefixScope::Everybody,
        },
        response_cache: true,
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
        let apart = Apart::for_fault(fault);
        let engine = simulate(engine(apart, fault, seed)).await;
        let workplace = Workplace::new();
        let endpoint = EndpointText {
            name,
            base_url: &engine.base_url,
            context_tokens: WINDOW,
            more: "",
        };
        let path = workplace.write(&endpoint, SCENARIOS);
        if apart == Apart::BySalt {
            let mut text = std::fs::read_to_string(&path).unwrap();
            for (tenant, _) in TENANTS {
                let key = format!("key_file = \"{tenant}.key\"");
                let salted = format!("{key}\nfields = {{ cache_salt = \"salt of {tenant}\" }}");
                text = text.replace(&key, &salted);
            }
            std::fs::write(&path, text).unwrap();
        }
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
