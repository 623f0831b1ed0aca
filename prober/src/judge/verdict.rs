//! The verdict on a whole round.

use super::{Compared, Finding, Proof, Verdict};
use crate::bounds::{ByDepth, Sensitivity, Tally};
use crate::endpoint::{Digest, Outcome};
use crate::scenario::Role;
use canary_gen::ProbeNumber;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// One judged probe, as the verdict on its round sees it.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// Which one.
    pub number: ProbeNumber,
    /// The first probe that sent its document: itself, unless it repeats another's.
    pub document: ProbeNumber,
    /// Who sent it: an index into the endpoint's tenants.
    pub tenant: usize,
    /// What it was for.
    pub role: Role,
    /// Probes of one number are compared with each other.
    pub set: u32,
    /// Whether its question asked for own canaries.
    pub asked: bool,
    /// Of the canaries it asked for: how deep in its prompt each stood, and whether it came back.
    pub depths: Vec<(f64, bool)>,
    /// The answer's text.
    pub answer: Option<Digest>,
    /// What the endpoint calls its response.
    pub response_id: Option<Digest>,
    /// Tokens of the prompt that came from a cache, as the endpoint counted.
    pub cached_tokens: Option<u64>,
    /// Time to the answer's first text.
    pub ttft: Option<Duration>,
    /// Length of the prompt, in tokens: as reported, or by the estimate.
    pub prompt_tokens: u64,
    /// What the endpoint did.
    pub outcome: Outcome,
    /// What it turned out to be.
    pub verdict: Verdict,
    /// How many different own canaries came back.
    pub own_canaries: u32,
    /// What it proves beyond that.
    pub findings: Vec<Finding>,
}

/// The numbers of a round, calibration and prompts without canaries left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundCounts {
    /// Probes judged.
    pub probes: u32,
    /// Probes whose response held a foreign canary.
    pub leaks: u32,
    /// Probes that were clean by recall or refusal.
    pub clean: u32,
    /// Probes that proved nothing.
    pub inconclusive: u32,
    /// Probes refused as too long.
    pub rejected: u32,
    /// Probes whose client went away, as planned; they count as nothing else, unless they leaked.
    pub cancelled: u32,
    /// Answered probes whose question asked for an own canary.
    pub asked: u32,
    /// Of those, how many gave one back.
    pub recalled: u32,
    /// Recall of each canary that was asked for, by its depth.
    #[serde(skip)] // Of a report only: no table holds it.
    pub by_depth: ByDepth,
}

impl RoundCounts {
    /// Own-canary recall: how often the model told us what stood in its own context. `None` when
    /// nobody answered, so that nothing is known.
    #[must_use]
    pub fn sensitivity(&self) -> Option<f64> {
        (self.asked > 0).then(|| f64::from(self.recalled) / f64::from(self.asked))
    }

    /// The same, for bounds. Never more recalled than asked.
    #[must_use]
    pub fn recall(&self) -> Sensitivity {
        Sensitivity::new(self.recalled.into(), self.asked.into()).unwrap_or_default()
    }

    /// Responses that could have told of a leak, and those that did.
    #[must_use]
    pub fn responses(&self) -> Tally {
        let told = self.clean.saturating_sub(self.rejected) + self.leaks;
        Tally::new(self.leaks.into(), told.into()).unwrap_or_default()
    }
}

/// What a round turned out to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundVerdict {
    /// At least one response held a foreign canary.
    Leak,
    /// No leak, but another finding.
    Finding,
    /// No finding, and the round could have found one.
    Clean,
    /// Nothing was proven, because.
    Inconclusive(String),
}

impl RoundVerdict {
    /// The name in tables and output.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Finding => "finding",
            Self::Clean => "clean",
            Self::Inconclusive(_) => "inconclusive",
        }
    }

    /// Why it is inconclusive.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Inconclusive(reason) => Some(reason),
            _ => None,
        }
    }
}

/// The verdict on a round and its numbers.
///
/// Clean takes three things: no finding; own-canary recall of at least `min_sensitivity` among the
/// probes that answered; and for each role that is the point of the scenario, at least half of its
/// probes conclusive, so that a round whose over-long requests all timed out is not called clean.
#[must_use]
pub fn judge_round(
    results: &[ProbeResult],
    compared: &Compared,
    min_sensitivity: f64,
) -> (RoundVerdict, RoundCounts) {
    let counts = count(results);
    let has_finding =
        results.iter().any(|result| !result.findings.is_empty()) || !compared.findings.is_empty();
    let verdict = if results.iter().any(|result| result.verdict == Verdict::Leak) {
        RoundVerdict::Leak
    } else if has_finding {
        RoundVerdict::Finding
    } else {
        let mut doubts = Vec::from_iter(doubt(results, &counts, min_sensitivity));
        doubts.extend_from_slice(&compared.doubts);
        if doubts.is_empty() {
            RoundVerdict::Clean
        } else {
            // All of them, for each is about something else: where a model cannot recall, whether the
            // comparison had its control must still show.
            RoundVerdict::Inconclusive(doubts.join("; "))
        }
    };
    (verdict, counts)
}

fn count(results: &[ProbeResult]) -> RoundCounts {
    let mut counts = RoundCounts::default();
    for result in results {
        // A leak counts wherever it shows, even in an answer to a calibration request.
        counts.leaks += u32::from(result.verdict == Verdict::Leak);
        if matches!(result.role, Role::Calibration | Role::Twin) {
            continue;
        }
        counts.probes += 1;
        if result.outcome == Outcome::Cancelled {
            counts.cancelled += u32::from(result.verdict != Verdict::Leak);
            continue;
        }
        counts.clean += u32::from(matches!(result.verdict, Verdict::Clean(_)));
        counts.rejected += u32::from(result.verdict == Verdict::Clean(Proof::Rejected));
        counts.inconclusive += u32::from(matches!(result.verdict, Verdict::Inconclusive(_)));
        if result.asked && result.outcome == Outcome::Answered {
            counts.asked += 1;
            counts.recalled += u32::from(result.own_canaries > 0);
            for &(depth, came_back) in &result.depths {
                counts.by_depth.observe(depth, came_back);
            }
        }
    }
    counts
}

fn doubt(results: &[ProbeResult], counts: &RoundCounts, min_sensitivity: f64) -> Option<String> {
    let Some(sensitivity) = counts.sensitivity() else {
        return Some(match most_common_outcome(results) {
            Some(outcome) => format!("no probe was answered (mostly {outcome})"),
            None => "no probe was sent".to_owned(),
        });
    };
    if sensitivity < min_sensitivity {
        return Some(format!(
            "own-canary recall {sensitivity:.2} is below the required {min_sensitivity:.2}"
        ));
    }
    let mut roles: BTreeMap<Role, (u32, u32)> = BTreeMap::new();
    for result in results.iter().filter(|result| result.role.is_the_point()) {
        let (all, conclusive) = roles.entry(result.role).or_default();
        *all += 1;
        *conclusive += u32::from(!matches!(result.verdict, Verdict::Inconclusive(_)));
    }
    roles
        .into_iter()
        .find(|(_, (all, conclusive))| conclusive * 2 < *all)
        .map(|(role, (all, conclusive))| {
            format!(
                "only {conclusive} of {all} {} probes were conclusive",
                role.as_str()
            )
        })
}

fn most_common_outcome(results: &[ProbeResult]) -> Option<&'static str> {
    let mut counts: BTreeMap<&'static str, u32> = BTreeMap::new();
    for result in results {
        *counts.entry(result.outcome.as_str()).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(outcome, _)| outcome)
}
