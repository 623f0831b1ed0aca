//! The settings of a simulated engine.

use crate::fault::{Fault, FaultSetting};
use crate::kv::PAGE_TOKENS;
use crate::scope::PrefixScope;
use crate::shape::Shape;
use std::fmt;

/// What kind of engine to be.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which server's manners it has.
    pub shape: Shape,
    /// Name of the model.
    pub model: String,
    /// LoRA adapters that are served beside the base model; a request chooses one by its `model`.
    pub adapters: Vec<String>,
    /// Advertised context window, in tokens.
    pub context_tokens: u32,
    /// Capacity of the prefill group's KV cache, in tokens (whole pages are used).
    pub prefill_tokens: u32,
    /// Capacity of the decode group's KV cache, in tokens; `None`: the window and 65,536 more.
    pub decode_tokens: Option<u32>,
    /// Host memory for pages that went out of the prefix cache, in tokens; `None`: twice the prefill group's.
    pub host_tokens: Option<u32>,
    /// Disk for pages that the host has no room for, in tokens; `None`: four times the prefill group's.
    pub disk_tokens: Option<u32>,
    /// Who may share prefixes of prompts.
    pub prefix_scope: PrefixScope,
    /// Whether a step may bring several tokens: a drafter proposes them, the model verifies them.
    pub speculative: bool,
    /// Chance that a transfer fails half way; a healthy engine answers with an error then.
    pub transfer_failures: f64,
    /// Whether answers are kept for the same request of the same tenant.
    pub response_cache: bool,
    /// Whether answers are kept for requests of the same tenant that are nearly the same.
    pub semantic_cache: bool,
    /// Tenants with their API keys; without any, no key is asked for.
    pub keys: Vec<TenantKey>,
    /// What is broken; nothing by default.
    pub faults: Vec<FaultSetting>,
    /// How fast it works.
    pub speeds: Speeds,
    /// Of the faults' probabilities.
    pub seed: u64,
    /// Length of an answer in tokens when a request does not say.
    pub max_completion_default: u32,
}

/// Speeds in tokens a second; `None` is as fast as it can.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speeds {
    /// Of the prefill group, for all requests together.
    pub prefill: Option<f64>,
    /// Of the KV transfer, for one request.
    pub transfer: Option<f64>,
    /// Of the decode group, for one request; with speculation a step may bring several tokens.
    pub decode: Option<f64>,
}

/// A tenant and its API key.
#[derive(Clone)]
pub struct TenantKey {
    pub(crate) tenant: String,
    key: String,
}

impl From<(String, String)> for TenantKey {
    fn from((tenant, key): (String, String)) -> Self {
        Self { tenant, key }
    }
}

impl fmt::Debug for TenantKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantKey({}, …)", self.tenant)
    }
}

impl TenantKey {
    /// Whether `candidate` is the key, in a time that does not tell how much of it is right.
    pub(crate) fn is(&self, candidate: &[u8]) -> bool {
        let key = self.key.as_bytes();
        let difference = key
            .iter()
            .zip(candidate)
            .fold(0, |all, (a, b)| all | (a ^ b));
        key.len() == candidate.len() && std::hint::black_box(difference) == 0
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            model: "simulated-1m".to_owned(),
            adapters: Vec::new(),
            context_tokens: 1_048_576,
            prefill_tokens: 1_048_576,
            decode_tokens: None,
            host_tokens: None,
            disk_tokens: None,
            prefix_scope: PrefixScope::Tenant,
            speculative: false,
            transfer_failures: 0.0,
            response_cache: false,
            semantic_cache: false,
            keys: Vec::new(),
            faults: Vec::new(),
            speeds: Speeds::default(),
            seed: 0,
            max_completion_default: 256,
        }
    }
}

/// Why an engine cannot start: mostly, which settings contradict each other.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A pool or the window has no page.
    #[error("{what} of {tokens} tokens is less than one page of {PAGE_TOKENS} tokens")]
    TooSmall {
        /// Which one.
        what: &'static str,
        /// Its size, in tokens.
        tokens: u32,
    },
    /// A request of full length would wait for ever.
    #[error(
        "the decode pool of {decode} tokens cannot hold a request of the full window of {context} tokens (leave it out, or raise it)"
    )]
    DecodePool {
        /// Its size, in tokens.
        decode: u32,
        /// The window, in tokens.
        context: u32,
    },
    /// A speed that is none.
    #[error("the {what} speed must be above 0 tokens a second")]
    Speed {
        /// Which one.
        what: &'static str,
    },
    /// A probability that is none.
    #[error("the probability of fault `{fault}` is {probability} (expected above 0 and at most 1)")]
    Probability {
        /// Of which fault.
        fault: Fault,
        /// As set.
        probability: f64,
    },
    /// A chance that is none.
    #[error("the chance that a transfer fails is {0} (expected 0 to 1)")]
    TransferFailures(f64),
    /// A fault has two settings.
    #[error("fault `{0}` is set twice (keep one)")]
    FaultTwice(Fault),
    /// Two models, the base model or adapters, have one name, or one has none.
    #[error(
        "adapter `{0}` needs a name of its own (not empty, not the model's, not another adapter's)"
    )]
    AdapterName(String),
    /// The system gave no thread.
    #[error("start the engine's thread: {0}")]
    Thread(std::io::Error),
    /// Two tenants share a key.
    #[error("tenants `{0}` and `{1}` have the same key")]
    SharedKey(String, String),
}

impl Config {
    pub(crate) fn decode_capacity(&self) -> u32 {
        self.decode_tokens
            .unwrap_or(self.context_tokens.saturating_add(65_536))
    }

    /// The adapter that a request's `model` names, `Some(None)` for the base model.
    pub(crate) fn adapter(&self, model: &str) -> Option<Option<&str>> {
        if model == self.model {
            return Some(None);
        }
        let adapter = self.adapters.iter().find(|adapter| *adapter == model);
        adapter.map(|adapter| Some(adapter.as_str()))
    }

    /// Whether a step may bring several tokens.
    pub(crate) fn speculates(&self) -> bool {
        self.speculative || self.has(Fault::DraftOfNeighbour)
    }

    /// Whether it has a fault at all.
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.faults.iter().any(|setting| setting.fault == fault)
    }

    pub(crate) fn host_capacity(&self) -> u32 {
        self.host_tokens
            .unwrap_or(self.prefill_tokens.saturating_mul(2))
    }

    pub(crate) fn disk_capacity(&self) -> u32 {
        self.disk_tokens
            .unwrap_or(self.prefill_tokens.saturating_mul(4))
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("the context window", self.context_tokens),
            ("the prefill pool", self.prefill_tokens),
            ("the decode pool", self.decode_capacity()),
        ];
        for (what, tokens) in sizes {
            if (tokens as usize) < PAGE_TOKENS {
                return Err(ConfigError::TooSmall { what, tokens });
            }
        }
        let (decode, context) = (self.decode_capacity(), self.context_tokens);
        if decode as usize / PAGE_TOKENS < (context as usize).div_ceil(PAGE_TOKENS) {
            return Err(ConfigError::DecodePool { decode, context });
        }
        let Speeds {
            prefill,
            transfer,
            decode,
        } = self.speeds;
        for (what, speed) in [
            ("prefill", prefill),
            ("transfer", transfer),
            ("decode", decode),
        ] {
            if speed.is_some_and(|speed| !(speed.is_finite() && speed > 0.0)) {
                return Err(ConfigError::Speed { what });
            }
        }
        // Not a number is in no range.
        if !(0.0..=1.0).contains(&self.transfer_failures) {
            return Err(ConfigError::TransferFailures(self.transfer_failures));
        }
        self.check_adapters()?;
        self.check_faults()?;
        self.check_keys()
    }

    fn check_adapters(&self) -> Result<(), ConfigError> {
        let mut names = self.adapters.iter().enumerate();
        let taken = names.find(|&(index, name)| {
            name.is_empty() || *name == self.model || self.adapters[..index].contains(name)
        });
        taken.map_or(Ok(()), |(_, name)| {
            Err(ConfigError::AdapterName(name.clone()))
        })
    }

    fn check_faults(&self) -> Result<(), ConfigError> {
        for (index, &FaultSetting { fault, probability }) in self.faults.iter().enumerate() {
            if !(probability > 0.0 && probability <= 1.0) {
                return Err(ConfigError::Probability { fault, probability });
            }
            if self.faults[..index]
                .iter()
                .any(|other| other.fault == fault)
            {
                return Err(ConfigError::FaultTwice(fault));
            }
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<(), ConfigError> {
        for (index, one) in self.keys.iter().enumerate() {
            if let Some(other) = self.keys[..index].iter().find(|other| other.key == one.key) {
                return Err(ConfigError::SharedKey(
                    other.tenant.clone(),
                    one.tenant.clone(),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_each_contradiction_is_named() {
        assert!(Config::default().check().is_ok());
        let fault = |config: Config| config.check().expect_err("contradiction").to_string();
        assert!(
            fault(Config {
                prefill_tokens: 63,
                ..Config::default()
            })
            .contains("prefill pool")
        );
        assert!(
            fault(Config {
                decode_tokens: Some(640),
                ..Config::default()
            })
            .contains("decode pool")
        );
        let speeds = Speeds {
            decode: Some(0.0),
            ..Speeds::default()
        };
        assert!(
            fault(Config {
                speeds,
                ..Config::default()
            })
            .contains("decode speed")
        );
        let keys = ["a", "b"]
            .map(|tenant| (tenant.to_owned(), "same".to_owned()).into())
            .to_vec();
        assert_eq!(
            fault(Config {
                keys,
                ..Config::default()
            }),
            "tenants `a` and `b` have the same key"
        );
        for adapters in [&["m"][..], &["a", "a"], &[""]] {
            let named = Config {
                model: "m".to_owned(),
                adapters: adapters.iter().map(|&name| name.to_owned()).collect(),
                ..Config::default()
            };
            assert!(fault(named).contains("needs a name of its own"));
        }
        for transfer_failures in [-0.1, 1.1, f64::NAN] {
            let failing = Config {
                transfer_failures,
                ..Config::default()
            };
            assert!(fault(failing).contains("the chance that a transfer fails is"));
        }
        let faults = |settings: &[f64]| Config {
            faults: settings
                .iter()
                .map(|&probability| FaultSetting {
                    fault: Fault::StalePages,
                    probability,
                })
                .collect(),
            ..Config::default()
        };
        assert!(fault(faults(&[f64::NAN])).contains("probability of fault `stale-pages` is NaN"));
        assert!(fault(faults(&[1.5])).contains("is 1.5"));
        assert!(fault(faults(&[0.5, 0.5])).contains("`stale-pages` is set twice"));
    }

    #[test]
    fn a_key_is_itself_only_and_is_not_shown() {
        let key = TenantKey::from(("acme".to_owned(), "secret".to_owned()));
        assert!(
            key.is(b"secret")
                && !key.is(b"secreT")
                && !key.is(b"secre")
                && !key.is(b"secrets")
                && !key.is(b"")
        );
        assert!(!format!("{key:?}").contains("secret"));
    }
}
