//! What a scenario is told: everything that its schedule depends on.

use canary_gen::{Form, Seed};
use serde::{Deserialize, Serialize};

/// What a scenario may look at. Stored with its round, so that the round can be replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// What to do.
    pub recipe: Recipe,
    /// Of all choices; stored as the round's own number.
    #[serde(skip, default = "no_seed")]
    pub seed: Seed,
    /// How many tenants the endpoint has, at least 2.
    pub tenants: usize,
    /// The advertised context window, in tokens.
    pub context_tokens: u64,
    /// The limit the endpoint named when it refused a prompt, if it ever did, in tokens.
    pub measured_limit: Option<u64>,
    /// The engine's KV-cache page, in tokens.
    pub page_tokens: u32,
    /// How canaries are written.
    #[serde(with = "form_name")]
    pub form: Form,
    /// Room for an answer, in tokens.
    pub max_answer_tokens: u32,
}

/// How much is sent at once, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Length of each document, in tokens.
    pub tokens: u64,
    /// Requests of each tenant at once.
    pub requests: u32,
    /// How often all of it is done.
    pub waves: u32,
    /// A canary every so many tokens.
    pub stride_tokens: u32,
}

/// What is tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Recipe {
    /// Documents under, at and over the limit, each after a donor that fills the cache.
    Overflow {
        /// Lengths of the victims as fractions of the advertised window.
        ladder: Vec<f64>,
        /// Length of the donors, likewise.
        donor_fraction: f64,
    },
    /// All tenants send long, different documents at once.
    Crosstalk(Load),
    /// Clients go away during prefill and during decode, and send again.
    Cancel {
        /// What is sent.
        load: Load,
        /// They go away within so many milliseconds.
        within_ms: u32,
    },
    /// Enough at once to fill the KV cache.
    Pressure(Load),
    /// Sessions come back after others have filled the caches.
    Return(Load),
    /// The same request alone, after a stranger's and beside strangers'.
    Sandwich(Load),
    /// Lengths at multiples of the engine's pages and chunks, one less and one more.
    Boundary {
        /// Prefill works in chunks of so many tokens.
        chunk_tokens: u32,
        /// The longest document, in tokens.
        tokens: u64,
        /// How many multiples of each are tried.
        waves: u32,
    },
    /// Many short requests at once, of different lengths.
    Burst(Load),
    /// A tenant repeats a beginning that only another tenant has sent.
    Prefix {
        /// Length of each prompt, in tokens.
        tokens: u64,
        /// Of each kind of request so many.
        samples: u32,
    },
    /// Two tenants send prompts that are equal but for the canaries, and equal ones.
    Twin(Load),
    /// All tenants call their requests the same.
    Identity {
        /// What is sent.
        load: Load,
        /// Fields of the body that carry the name, beside the headers `x-request-id` and `traceparent`.
        id_fields: Vec<String>,
    },
    /// Which length of prompt is really accepted; chosen step by step ([`super::LimitSearch`]).
    Limits {
        /// How many tokens may be sent.
        budget_tokens: u64,
    },
}

impl Recipe {
    /// The name in configuration, tables and output.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Overflow { .. } => "overflow",
            Self::Crosstalk(_) => "crosstalk",
            Self::Cancel { .. } => "cancel",
            Self::Pressure(_) => "pressure",
            Self::Return(_) => "return",
            Self::Sandwich(_) => "sandwich",
            Self::Boundary { .. } => "boundary",
            Self::Burst(_) => "burst",
            Self::Prefix { .. } => "prefix",
            Self::Twin(_) => "twin",
            Self::Identity { .. } => "identity",
            Self::Limits { .. } => "limits",
        }
    }
}

fn no_seed() -> Seed {
    Seed::from_number(0)
}

/// Forms by their names.
mod form_name {
    use canary_gen::Form;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(form: &Form, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(form.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Form, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
