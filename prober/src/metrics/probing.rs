//! What was probed and what came of it.

use super::series::{Gauge, Registrar, Series, Spec};
use crate::judge::Finding;
use crate::plan::SkipReason;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use std::time::Duration;
use time::OffsetDateTime;

/// From a second to two hours: a round of a million tokens a prompt takes long.
const ROUND_SECONDS: [f64; 11] = [
    1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0,
];

/// The verdicts on probes, with their names.
const VERDICTS: [&str; 3] = ["leak", "clean", "inconclusive"];

/// How rounds end: the verdicts on them, and that one could not be recorded completely.
const ENDS: [&str; 5] = ["leak", "finding", "clean", "inconclusive", UNRECORDED];
const UNRECORDED: &str = "unrecorded";

pub(super) struct Probing {
    probes: Series<Counter>,
    inconclusive: Series<Counter>,
    last_conclusive: Series<Gauge>,
    findings: Series<Counter>,
    rounds: Series<Counter>,
    round_seconds: Series<Histogram>,
    skipped: Series<Counter>,
}

/// A judged probe, as far as it is counted.
#[derive(Clone, Copy, Debug)]
pub struct JudgedProbe<'a> {
    /// Name of the endpoint.
    pub endpoint: &'a str,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// The verdict's name.
    pub verdict: &'static str,
    /// Its reason, as a code.
    pub reason: Option<&'static str>,
    /// When it was judged.
    pub at: OffsetDateTime,
}

impl Probing {
    pub(super) fn new(registrar: &mut Registrar) -> Self {
        Self {
            probes: registrar.counter(&Spec {
                name: "prober_probes",
                unit: None,
                help: "Probes judged, calibration left out, by verdict",
                labels: &["endpoint", "scenario", "verdict"],
            }),
            inconclusive: registrar.counter(&Spec {
                name: "prober_probes_inconclusive",
                unit: None,
                help: "Probes that proved nothing, calibration left out, by reason",
                labels: &["endpoint", "scenario", "reason"],
            }),
            last_conclusive: registrar.gauge(&Spec {
                name: "prober_last_conclusive_probe_timestamp",
                unit: Some("seconds"),
                help: "When a probe last proved something, a leak or that there was none, by any prober; 0 if none ever did",
                labels: &["endpoint", "scenario"],
            }),
            findings: registrar.counter(&Spec {
                name: "prober_findings",
                unit: None,
                help: "Findings, by kind and certainty",
                labels: &["endpoint", "kind", "certainty"],
            }),
            rounds: registrar.counter(&Spec {
                name: "prober_rounds",
                unit: None,
                help: "Rounds that ended, by their verdict, or unrecorded",
                labels: &["endpoint", "scenario", "end"],
            }),
            round_seconds: registrar.histogram(
                &Spec {
                    name: "prober_round_duration",
                    unit: Some("seconds"),
                    help: "How long rounds took",
                    labels: &["endpoint", "scenario"],
                },
                || Histogram::new(ROUND_SECONDS),
            ),
            skipped: registrar.counter(&Spec {
                name: "prober_rounds_skipped",
                unit: None,
                help: "Rounds that were due and did not happen, by reason",
                labels: &["endpoint", "scenario", "reason"],
            }),
        }
    }

    /// Makes the series of a line, so that the first event is an increase.
    pub(super) fn prepare(&self, endpoint: &str, scenario: &str) {
        for verdict in VERDICTS {
            self.probes.of(&[endpoint, scenario, verdict]);
        }
        for end in ENDS {
            self.rounds.of(&[endpoint, scenario, end]);
        }
        for reason in SkipReason::ALL {
            self.skipped.of(&[endpoint, scenario, reason.as_str()]);
        }
        self.round_seconds.of(&[endpoint, scenario]);
        self.last_conclusive.of(&[endpoint, scenario]);
    }

    /// The same for what is counted by endpoint.
    pub(super) fn prepare_endpoint(&self, endpoint: &str) {
        for kind in Finding::KINDS {
            for certainty in ["confirmed", "suspected"] {
                self.findings.of(&[endpoint, kind, certainty]);
            }
        }
    }

    pub(super) fn judged(&self, probe: &JudgedProbe<'_>) {
        let JudgedProbe {
            endpoint,
            scenario,
            verdict,
            ..
        } = *probe;
        self.probes.of(&[endpoint, scenario, verdict]).inc();
        if verdict == "inconclusive" {
            let reason = probe.reason.unwrap_or_default();
            self.inconclusive.of(&[endpoint, scenario, reason]).inc();
        } else {
            self.conclusive(endpoint, scenario, probe.at);
        }
    }

    /// Something was proven at a moment; what was later stays.
    pub(super) fn conclusive(&self, endpoint: &str, scenario: &str, at: OffsetDateTime) {
        let last = self.last_conclusive.of(&[endpoint, scenario]);
        let at = super::timestamp(at);
        if at > last.get() {
            last.set(at);
        }
    }

    pub(super) fn found(&self, endpoint: &str, finding: &Finding) {
        let labels = [endpoint, finding.kind(), finding.certainty()];
        self.findings.of(&labels).inc();
    }

    pub(super) fn round_ended(
        &self,
        endpoint: &str,
        scenario: &str,
        verdict: &'static str,
        took: Duration,
    ) {
        self.rounds.of(&[endpoint, scenario, verdict]).inc();
        let seconds = self.round_seconds.of(&[endpoint, scenario]);
        seconds.observe(took.as_secs_f64());
    }

    pub(super) fn round_unrecorded(&self, endpoint: &str, scenario: &str) {
        self.rounds.of(&[endpoint, scenario, UNRECORDED]).inc();
    }

    pub(super) fn rounds_skipped(
        &self,
        endpoint: &str,
        scenario: &str,
        reason: SkipReason,
        rounds: u64,
    ) {
        let skipped = self.skipped.of(&[endpoint, scenario, reason.as_str()]);
        skipped.inc_by(rounds);
    }
}
