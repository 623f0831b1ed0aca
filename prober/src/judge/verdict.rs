//! The verdict on a whole round.

use super::{Finding, Proof, Verdict};
use crate::endpoint::Outcome;
use crate::scenario::Role;
use std::collections::BTreeMap;

/// One judged probe, as the verdict on its round sees it.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// What it was for.
    pub role: Role,
    /// Whether its question asked for an own canary.
    pub asked: bool,
    /// What the endpoint did.
    pub outcome: Outcome,
    /// What it turned out to be.
    pub verdict: Verdict,
    /// How many different own canaries came back.
    pub own_canaries: u32,
    /// What it proves beyond that.
    pub findings: Vec<Finding>,
}

/// The numbers of a round, calibration left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Answered probes whose question asked for an own canary.
    pub asked: u32,
    /// Of those, how many gave one back.
    pub recalled: u32,
}

impl RoundCounts {
    /// Own-canary recall: how often the model told us what stood in its own context. `None` when
    /// nobody answered, so that nothing is known.
    #[must_use]
    pub fn sensitivity(&self) -> Option<f64> {
        (self.asked > 0).then(|| f64::from(self.recalled) / f64::from(self.asked))
    }
}

/// What a round turned out to be.
#[derive(Clone, Debug, PartialEq)]
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
pub fn judge_round(results: &[ProbeResult], min_sensitivity: f64) -> (RoundVerdict, RoundCounts) {
    let counts = count(results);
    let has_finding = results.iter().any(|result| !result.findings.is_empty());
    let verdict = if results.iter().any(|result| result.verdict == Verdict::Leak) {
        RoundVerdict::Leak
    } else if has_finding {
        RoundVerdict::Finding
    } else {
        match doubt(results, &counts, min_sensitivity) {
            Some(reason) => RoundVerdict::Inconclusive(reason),
            None => RoundVerdict::Clean,
        }
    };
    (verdict, counts)
}

fn count(results: &[ProbeResult]) -> RoundCounts {
    let mut counts = RoundCounts::default();
    for result in results {
        // A leak counts wherever it shows, even in an answer to a calibration request.
        counts.leaks += u32::from(result.verdict == Verdict::Leak);
        if result.role == Role::Calibration {
            continue;
        }
        counts.probes += 1;
        counts.clean += u32::from(matches!(result.verdict, Verdict::Clean(_)));
        counts.rejected += u32::from(result.verdict == Verdict::Clean(Proof::Rejected));
        counts.inconclusive += u32::from(matches!(result.verdict, Verdict::Inconclusive(_)));
        if result.asked && result.outcome == Outcome::Answered {
            counts.asked += 1;
            counts.recalled += u32::from(result.own_canaries > 0);
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
