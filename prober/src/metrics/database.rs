//! The database, and what waits for it.

use super::series::{Gauge, Registrar, Series, Spec, unit};
use crate::spool::{self, Spooler};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

/// From a millisecond to the ten seconds after which a fact goes into the spool.
const WRITE_SECONDS: [f64; 12] = [
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
];

pub(super) struct Database {
    up: Series<Gauge>,
    write_seconds: Series<Histogram>,
    write_errors: Series<Counter>,
    connections: Series<Gauge>,
    spool: Arc<OnceLock<Spooler>>,
}

impl Database {
    pub(super) fn new(registrar: &mut Registrar) -> Self {
        let spool = Arc::new(OnceLock::new());
        let gauge = "gauge";
        for (spec, kind) in [
            (&RECORDS, gauge),
            (&BYTES, gauge),
            (&FULL, gauge),
            (&OLDEST, gauge),
            (&DAMAGED, gauge),
            (&REFUSED, "counter"),
        ] {
            registrar.describe(spec, kind);
        }
        let collector = SpoolCollector(Arc::clone(&spool));
        registrar.registry.register_collector(Box::new(collector));
        Self {
            up: registrar.gauge(&Spec {
                name: "prober_database_up",
                unit: None,
                help: "Whether the database answered when it was last asked: 1 or 0",
                labels: &[],
            }),
            write_seconds: registrar.histogram(
                &Spec {
                    name: "prober_database_write_duration",
                    unit: Some("seconds"),
                    help: "How long the database took to record something, by what it was",
                    labels: &["act"],
                },
                || Histogram::new(WRITE_SECONDS),
            ),
            write_errors: registrar.counter(&Spec {
                name: "prober_database_write_errors",
                unit: None,
                help: "Attempts to record something that failed, by what it was",
                labels: &["act"],
            }),
            connections: registrar.gauge(&Spec {
                name: "prober_database_connections",
                unit: None,
                help: "Connections to the database, by state: idle or used",
                labels: &["state"],
            }),
            spool,
        }
    }

    /// From now on it is told how it stands with this spool.
    pub(super) fn watch(&self, spool: Spooler) {
        // There is one a process.
        let _ = self.spool.set(spool);
    }

    pub(super) fn is_up(&self, up: bool) {
        self.up.of(&[]).set(f64::from(u8::from(up)));
    }

    pub(super) fn connections(&self, idle: u32, used: u32) {
        self.connections.of(&["idle"]).set(idle.into());
        self.connections.of(&["used"]).set(used.into());
    }

    pub(super) fn wrote(&self, act: &'static str, took: Duration, is_done: bool) {
        let errors = self.write_errors.of(&[act]);
        if is_done {
            let seconds = self.write_seconds.of(&[act]);
            seconds.observe(took.as_secs_f64());
        } else {
            errors.inc();
        }
    }
}

const RECORDS: Spec = Spec {
    name: "prober_spool_records",
    unit: None,
    help: "Records that wait on the disk for the database",
    labels: &[],
};
const BYTES: Spec = Spec {
    name: "prober_spool",
    unit: Some("bytes"),
    help: "Bytes of the disk that waiting records take",
    labels: &[],
};
const FULL: Spec = Spec {
    name: "prober_spool_full",
    unit: None,
    help: "Whether the spool takes nothing more but what is under way, so that no request is sent: 1 or 0",
    labels: &[],
};
const OLDEST: Spec = Spec {
    name: "prober_spool_oldest_record_timestamp",
    unit: Some("seconds"),
    help: "When the file with the oldest waiting record was begun; absent while none waits",
    labels: &[],
};
const DAMAGED: Spec = Spec {
    name: "prober_spool_damaged_pieces",
    unit: None,
    help: "Torn or damaged pieces that were set aside when the prober started",
    labels: &[],
};
const REFUSED: Spec = Spec {
    name: "prober_spool_refused_records",
    unit: None,
    help: "Records that were set aside because the database refuses them",
    labels: &[],
};

/// Tells how it stands with the spool when it is asked, without touching the disk.
#[derive(Debug)]
struct SpoolCollector(Arc<OnceLock<Spooler>>);

impl Collector for SpoolCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(spool) = self.0.get() else {
            return Ok(());
        };
        let spool::State {
            records,
            bytes,
            full,
            damaged,
            refused,
            oldest_at,
        } = spool.state();
        gauge(&mut encoder, &RECORDS, records as f64)?;
        gauge(&mut encoder, &BYTES, bytes as f64)?;
        gauge(&mut encoder, &FULL, f64::from(u8::from(full.is_some())))?;
        let since_epoch = oldest_at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        if let Some(since_epoch) = since_epoch {
            gauge(&mut encoder, &OLDEST, since_epoch.as_secs_f64())?;
        }
        gauge(&mut encoder, &DAMAGED, damaged as f64)?;
        counter(&mut encoder, &REFUSED, refused as f64)
    }
}

/// Writes a gauge without labels.
pub(super) fn gauge(encoder: &mut DescriptorEncoder<'_>, spec: &Spec, value: f64) -> fmt::Result {
    encode(encoder, spec, &ConstGauge::new(value))
}

/// Writes a counter without labels.
pub(super) fn counter(encoder: &mut DescriptorEncoder<'_>, spec: &Spec, value: f64) -> fmt::Result {
    encode(encoder, spec, &ConstCounter::new(value))
}

fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    spec: &Spec,
    metric: &impl EncodeMetric,
) -> fmt::Result {
    // A collector's texts are written as they are: the full stop is the registry's.
    let help = format!("{}.", spec.help);
    let unit = spec.unit.map(unit);
    let kind = metric.metric_type();
    metric.encode(encoder.encode_descriptor(spec.name, &help, unit.as_ref(), kind)?)
}
