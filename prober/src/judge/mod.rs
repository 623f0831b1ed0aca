//! The judge: what a response proves. Pure; one finding a file.
//!
//! Three-valued: a probe is a *leak*, *clean* with a proof that the endpoint could have told us, or
//! *inconclusive* with its reason. Silence alone is never clean.

mod leak;
mod limit;
mod verdict;

use crate::endpoint::{Exchange, Outcome};
use crate::scenario::Role;
use canary_gen::{ProbeNumber, Sighting, Slot, TenantNumber};
pub use verdict::{ProbeResult, RoundCounts, RoundVerdict, judge_round};

/// Everything a decision about one probe may look at.
#[derive(Debug)]
pub struct Case<'a> {
    /// Who sent it.
    pub tenant: TenantNumber,
    /// Which probe it is.
    pub probe: ProbeNumber,
    /// What it was for.
    pub role: Role,
    /// Whether its question asked for one of its own canaries.
    pub asked: bool,
    /// The advertised context window, in tokens.
    pub context_tokens: u64,
    /// Length of the prompt by the calibrated estimate, in tokens.
    pub estimated_tokens: u64,
    /// What the endpoint did.
    pub exchange: &'a Exchange,
    /// Every different canary found in the response.
    pub seen: &'a [Seen],
}

/// A canary in a response: where it was first seen, and how often.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Canaries of one other request stood in the response. Confirmed: each tag was verified.
    Leak {
        /// Tenant number in the canaries.
        donor_tenant: TenantNumber,
        /// Probe number in the canaries.
        donor_probe: ProbeNumber,
        /// The leaked slots of the donor's context, in order.
        slots: Vec<Slot>,
    },
    /// A prompt over the advertised limit was answered instead of refused.
    LimitViolation {
        /// The advertised limit, in tokens.
        limit: u64,
        /// Length of the prompt, in tokens: as reported, or by the estimate.
        prompt_tokens: u64,
    },
}

impl Finding {
    /// The kind's name in tables and output.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Leak { .. } => "leak",
            Self::LimitViolation { .. } => "limit_violation",
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
        Outcome::Answered if !case.asked => Verdict::Inconclusive(Doubt::NothingPlanted),
        Outcome::Answered => Verdict::Inconclusive(Doubt::NoRecall),
        Outcome::RejectedTooLong { .. } => Verdict::Clean(Proof::Rejected),
        other => Verdict::Inconclusive(Doubt::Outcome(other.as_str())),
    }
}

#[cfg(test)]
mod tests;
