//! The judge: what a response proves. Pure; one finding a file.
//!
//! Three-valued: a probe is a *leak*, *clean* with a proof that the endpoint could have told us, or
//! *inconclusive* with its reason. Silence alone is never clean.

mod compare;
mod divergence;
mod kind;
mod leak;
mod limit;
mod prefix;
mod signature;
mod twin;
mod usage;
mod verdict;

use crate::endpoint::{Exchange, Outcome};
use crate::scenario::Role;
use canary_gen::{KeyId, ProbeNumber, Sighting, Slot, TenantNumber};
pub use compare::{Compared, compare, is_compared, witnesses};
pub use kind::{KINDS, Kind};
pub use leak::runs;
use serde::{Deserialize, Serialize};
pub use signature::SeenIn;
pub use usage::is_odd as is_odd_count;
pub use verdict::{ProbeResult, RoundCounts, RoundVerdict, judge_round};

/// Everything a decision about one probe may look at.
#[derive(Debug)]
pub struct Case<'a> {
    /// Whose canaries are in its prompt.
    pub tenant: TenantNumber,
    /// The probe that these say they are of: itself, or the one whose document it sent again.
    pub probe: ProbeNumber,
    /// What it was for.
    pub role: Role,
    /// Which of its own canaries its question asked for, as far as the answer has room for them.
    pub asked: &'a [Slot],
    /// How many slots its document has.
    pub slots: u32,
    /// The advertised context window, in tokens.
    pub context_tokens: u64,
    /// The limit that the endpoint named when it last refused a prompt, in tokens.
    pub measured_limit: Option<u64>,
    /// Length of the prompt by the calibrated estimate, in tokens.
    pub estimated_tokens: u64,
    /// What the endpoint did.
    pub exchange: &'a Exchange,
    /// Every different canary found in the response.
    pub seen: &'a [Seen],
}

/// A canary in a response: where it was first seen, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The canary and its offset at the first place.
    pub sighting: Sighting,
    /// The first place: raw body, header, JSON path.
    pub place: String,
    /// Whether any place was the model's own words.
    pub in_answer: bool,
    /// How often it was seen, over all places and views.
    pub occurrences: u32,
}

/// What a probe turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The response held a canary that was planted in another request.
    Leak,
    /// No foreign canary, and the endpoint could have told us.
    Clean(Proof),
    /// Nothing was proven.
    Inconclusive(Doubt),
}

/// Why silence means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The model gave back canaries of its own document.
    Recall,
    /// The endpoint refused the prompt as too long, so no model read anything.
    Rejected,
}

/// Why nothing was proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The model answered without any canary of its own document: it might not tell a foreign one either.
    NoRecall,
    /// The probe only measures tokens.
    Calibration,
    /// The document was too short to carry a canary.
    NothingPlanted,
    /// The endpoint counted less than half of the prompt: it cut the rest, or counts wrong, and either
    /// way the answer does not tell what became of the prompt.
    Truncated,
    /// The endpoint did not answer properly; the outcome's code says how.
    Outcome(&'static str),
}

/// What the judge concludes beyond a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Canaries of one other request stood in the response. Confirmed: each tag was verified.
    Leak {
        /// Tenant number in the canaries.
        donor_tenant: TenantNumber,
        /// Probe number in the canaries.
        donor_probe: ProbeNumber,
        /// The key they were minted with.
        key: KeyId,
        /// The leaked slots of the donor's context, in the order in which they came out.
        slots: Vec<Slot>,
        /// Where in the response they stood.
        seen_in: SeenIn,
        /// Whether the prompt was longer than the endpoint takes, as far as it is known.
        is_over_limit: bool,
    },
    /// A prompt over the advertised limit was answered instead of refused.
    LimitViolation {
        /// The advertised limit, in tokens.
        limit: u64,
        /// Length of the prompt, in tokens: as reported, or by the estimate.
        prompt_tokens: u64,
    },
    /// The endpoint counted far more or fewer tokens than the prompt has, though it read all of it.
    UsageAnomaly {
        /// Length of the prompt, in tokens.
        estimated: u64,
        /// As the endpoint reported it.
        reported: u64,
    },
    /// The endpoint counted far fewer tokens than the prompt has and nothing shows that it read the rest.
    Truncation {
        /// Length of the prompt, in tokens.
        estimated: u64,
        /// As the endpoint reported it.
        reported: u64,
    },
    /// A beginning that only another tenant had sent came from a prefix cache.
    SharedPrefixCache {
        /// The most tokens that the endpoint counted as cached; `None` if only times tell.
        cached_tokens: Option<u64>,
        /// As many are cached of a beginning that nobody has sent.
        usual_tokens: Option<u64>,
        /// Of so many readers …
        readers: u64,
        /// … so many had more than usual.
        hits: u64,
        /// How likely such times are without a shared cache.
        chance: f64,
    },
    /// A response that another tenant had got was given again.
    SharedResponse {
        /// The probe that had got it.
        first: ProbeNumber,
    },
    /// Equal requests had different answers where a stranger was near.
    Divergence {
        /// Beside strangers' requests; else after one.
        beside: bool,
        /// In so many sets it differed …
        differing: u64,
        /// … and without a stranger in so many …
        differing_alone: u64,
        /// … of so many.
        sets: u64,
        /// How likely that is if strangers make no difference.
        chance: f64,
    },
}

impl Finding {
    /// The names of all kinds.
    pub const KINDS: [&'static str; 7] = [
        "leak",
        "limit_violation",
        "usage_anomaly",
        "truncation",
        "shared_prefix_cache",
        "shared_response",
        "divergence",
    ];

    /// The kind's name in tables and output.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Leak { .. } => "leak",
            Self::LimitViolation { .. } => "limit_violation",
            Self::UsageAnomaly { .. } => "usage_anomaly",
            Self::Truncation { .. } => "truncation",
            Self::SharedPrefixCache { .. } => "shared_prefix_cache",
            Self::SharedResponse { .. } => "shared_response",
            Self::Divergence { .. } => "divergence",
        }
    }

    /// `confirmed` by something that cannot come by chance, or `suspected`.
    #[must_use]
    pub fn certainty(&self) -> &'static str {
        match self {
            Self::Truncation { .. }
            | Self::Divergence { .. }
            | Self::SharedPrefixCache {
                cached_tokens: None,
                ..
            } => "suspected",
            _ => "confirmed",
        }
    }
}

impl Verdict {
    /// The name in tables and output.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Clean(_) => "clean",
            Self::Inconclusive(_) => "inconclusive",
        }
    }

    /// Why it is clean or inconclusive, as a code.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Leak => None,
            Self::Clean(Proof::Recall) => Some("recall"),
            Self::Clean(Proof::Rejected) => Some("rejected"),
            Self::Inconclusive(Doubt::NoRecall) => Some("no_recall"),
            Self::Inconclusive(Doubt::Calibration) => Some("calibration"),
            Self::Inconclusive(Doubt::NothingPlanted) => Some("nothing_planted"),
            Self::Inconclusive(Doubt::Truncated) => Some("truncated"),
            Self::Inconclusive(Doubt::Outcome(code)) => Some(code),
        }
    }
}

/// What one response proves.
#[must_use]
pub fn judge(case: &Case<'_>) -> (Verdict, Vec<Finding>) {
    let mut findings = leak::find(case);
    let leaked = !findings.is_empty();
    findings.extend(limit::find(case));
    findings.extend(usage::find(case));
    let verdict = if leaked {
        Verdict::Leak
    } else {
        without_leak(case)
    };
    (verdict, findings)
}

/// How many different own canaries the answer gave back. The request echoed in an error or a header
/// proves nothing about the model, so only its own words count.
#[must_use]
pub fn recalled(case: &Case<'_>) -> u32 {
    let own = |seen: &&Seen| is_own(case, seen) && seen.in_answer;
    case.seen.iter().filter(own).count() as u32
}

impl Case<'_> {
    /// How deep in the prompt a slot of its document stands, from 0 to 1.
    #[must_use]
    pub fn depth(&self, slot: Slot) -> f64 {
        slot.get() as f64 / f64::from(self.slots.max(1))
    }
}

/// Of the canaries that were asked for: how deep each stood, and whether the answer gave it back.
#[must_use]
pub fn recall_by_depth(case: &Case<'_>) -> Vec<(f64, bool)> {
    let came_back = |slot: Slot| {
        let mut own = case.seen.iter().filter(|seen| is_own(case, seen));
        own.any(|seen| seen.in_answer && seen.sighting.identity.slot == slot)
    };
    let asked = case.asked.iter();
    asked
        .map(|&slot| (case.depth(slot), came_back(slot)))
        .collect()
}

fn is_own(case: &Case<'_>, seen: &Seen) -> bool {
    seen.sighting.identity.tenant == case.tenant && seen.sighting.identity.probe == case.probe
}

/// Whether the endpoint counted less than half of the prompt. Estimates are far better than that.
fn is_truncated(case: &Case<'_>) -> bool {
    let usage = case.exchange.usage.as_ref();
    usage.is_some_and(|usage| usage.prompt_tokens.saturating_mul(2) < case.estimated_tokens)
}

fn without_leak(case: &Case<'_>) -> Verdict {
    match &case.exchange.outcome {
        Outcome::Answered if case.role == Role::Calibration => {
            Verdict::Inconclusive(Doubt::Calibration)
        }
        Outcome::Answered if is_truncated(case) => Verdict::Inconclusive(Doubt::Truncated),
        Outcome::Answered if recalled(case) > 0 => Verdict::Clean(Proof::Recall),
        Outcome::Answered if case.asked.is_empty() => Verdict::Inconclusive(Doubt::NothingPlanted),
        Outcome::Answered => Verdict::Inconclusive(Doubt::NoRecall),
        Outcome::RejectedTooLong { .. } => Verdict::Clean(Proof::Rejected),
        other => Verdict::Inconclusive(Doubt::Outcome(other.as_str())),
    }
}

#[cfg(test)]
mod tests;
