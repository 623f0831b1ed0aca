//! The demo's closing report.

use super::Played;
use super::stage::{CONTEXT_TOKENS, HEALTHY, INCIDENT, PREFILL_TOKENS};
use crate::round::{RoundReport, grouped};
use crate::store::Counts;
use std::fmt;
use std::time::{Duration, Instant};

pub(super) struct Outcome {
    pub(super) rounds: Vec<Played>,
    pub(super) begun: Instant,
    pub(super) counts: Counts,
}

impl Outcome {
    /// The leak was proven, from another tenant's context, and the control stayed clean throughout.
    pub(super) fn is_proven(&self) -> bool {
        let mut control = self.at(HEALTHY).peekable();
        let clean = control.peek().is_some() && control.all(|round| round.verdict == "clean");
        clean && self.first_proof().is_some()
    }

    /// From the first request to the first proven leak of another tenant's canary at the incident endpoint.
    fn first_proof(&self) -> Option<Duration> {
        let leaks = self
            .rounds
            .iter()
            .filter(|played| played.report.endpoint == INCIDENT);
        leaks
            .flat_map(|played| {
                let donors = |finding: &&crate::round::FindingReport| {
                    finding
                        .donor
                        .as_ref()
                        .is_some_and(|donor| donor.relation == "other_tenant")
                };
                let proofs = played.report.findings.iter().filter(donors);
                proofs.map(|finding| played.began_after + played.proven_after(finding.found_at))
            })
            .min()
    }

    fn at(&self, endpoint: &'static str) -> impl Iterator<Item = &RoundReport> {
        let reports = self.rounds.iter().map(|played| &played.report);
        reports.filter(move |report| report.endpoint == endpoint)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (context, prefill) = (
            grouped(CONTEXT_TOKENS.into()),
            grouped(PREFILL_TOKENS.into()),
        );
        writeln!(f, "\nTHE FOUNDING INCIDENT, REPLAYED")?;
        writeln!(
            f,
            "Two endpoints advertise {context} tokens; the prefill group of each holds {prefill}.\n\
             A request in between must be refused. One endpoint refuses it; the other accepts it, cuts the\n\
             KV transfer short and decodes from pages that still hold earlier requests: HTTP 200, fluent text.\n"
        )?;
        writeln!(f, "— endpoint `{INCIDENT}`, with the fault")?;
        for report in self.at(INCIDENT) {
            writeln!(f, "{report}")?;
        }
        writeln!(
            f,
            "\n— endpoint `{HEALTHY}`, the control: the same engine without the fault"
        )?;
        for report in self.at(HEALTHY) {
            writeln!(f, "{report}")?;
        }
        writeln!(f)?;
        match self.first_proof() {
            Some(time) => writeln!(
                f,
                "From the first request to the first proof of a leak: {:.1} s.",
                time.as_secs_f64()
            )?,
            None => writeln!(f, "No leak of another tenant's data was proven.")?,
        }
        writeln!(
            f,
            "Recorded in Postgres: {} rounds, {} probes, {} sightings, {} findings.",
            self.counts.rounds, self.counts.judged, self.counts.sightings, self.counts.findings
        )?;
        let verdict = if self.is_proven() {
            "RESULT: the leak was proven, and the control stayed clean."
        } else {
            "RESULT: NOT as expected: the leak must be proven and the control must stay clean."
        };
        write!(
            f,
            "{verdict} ({:.1} s in all)",
            self.begun.elapsed().as_secs_f64()
        )
    }
}
