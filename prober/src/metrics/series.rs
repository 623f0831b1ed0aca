//! Series: one metric for each set of labels, of names that are known.
//!
//! The library's own family makes a series for whatever labels it is given and forgets none. Here labels that name
//! something of the configuration (endpoints, scenarios, receivers) make one only while the configuration has it, so
//! that there are never more series than somebody has written down.

use super::known::Known;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge as AnyGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};

/// A gauge of any number.
pub(super) type Gauge = AnyGauge<f64, AtomicU64>;

type Map<M> = BTreeMap<Vec<String>, M>;

/// The series of one metric. Cheap to clone: all clones are one.
#[derive(Clone)]
pub(super) struct Series<M> {
    labels: &'static [&'static str],
    known: Arc<RwLock<Known>>,
    series: Arc<RwLock<Map<M>>>,
    make: fn() -> M,
}

impl<M: Clone> Series<M> {
    /// The series of these values of the labels, in their order. Of a name that is not known (any more) it is one
    /// that nobody will see.
    pub(super) fn of(&self, values: &[&str]) -> M {
        let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        // Held until it is made, so that nobody forgets the name in between.
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if !known.has(self.labels, &values) {
            return (self.make)();
        }
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        series.entry(values).or_insert_with(self.make).clone()
    }

    /// Forgets the series of these values.
    pub(super) fn remove(&self, values: &[&str]) {
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        series.retain(|known, _| known != values);
    }
}

/// What can forget the series of names that are not known any more.
pub(super) trait Forgetful: Send + Sync {
    /// Forgets them.
    fn forget(&self, known: &Known);
}

impl<M: Send + Sync> Forgetful for Series<M> {
    fn forget(&self, known: &Known) {
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        series.retain(|values, _| known.has(self.labels, values));
    }
}

impl<M> fmt::Debug for Series<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series")
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for Series<M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        for (values, metric) in series.iter() {
            let names = self.labels.iter().copied();
            let labels: Vec<(&str, &str)> = names.zip(values.iter().map(String::as_str)).collect();
            metric.encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        series.is_empty()
    }
}

/// A metric as it is documented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its whole name, without the endings of a histogram's parts.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The names of its labels, in order.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: &'static str,
}

/// A name, its unit if it has one, and what it says. The unit and a counter's `_total` are added to the name.
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) unit: Option<&'static str>,
    /// Without a full stop: the library adds it.
    pub(super) help: &'static str,
    pub(super) labels: &'static [&'static str],
}

/// Makes metrics known, and remembers which there are.
#[derive(Default)]
pub(super) struct Registrar {
    pub(super) registry: Registry,
    pub(super) described: Vec<Described>,
    pub(super) forgetful: Vec<Box<dyn Forgetful>>,
    pub(super) known: Arc<RwLock<Known>>,
}

impl Registrar {
    pub(super) fn counter(&mut self, spec: &Spec) -> Series<Counter> {
        self.series(spec, "counter", Counter::default)
    }

    pub(super) fn gauge(&mut self, spec: &Spec) -> Series<Gauge> {
        self.series(spec, "gauge", Gauge::default)
    }

    pub(super) fn histogram(&mut self, spec: &Spec, make: fn() -> Histogram) -> Series<Histogram> {
        self.series(spec, "histogram", make)
    }

    /// Notes what a collector tells.
    pub(super) fn describe(&mut self, spec: &Spec, kind: &'static str) {
        let unit = spec.unit.map(|unit| format!("_{unit}"));
        let total = if kind == "counter" { "_total" } else { "" };
        self.described.push(Described {
            name: format!("{}{}{total}", spec.name, unit.unwrap_or_default()),
            kind,
            labels: spec.labels,
            help: spec.help,
        });
    }

    fn series<M>(&mut self, spec: &Spec, kind: &'static str, make: fn() -> M) -> Series<M>
    where
        M: EncodeMetric + TypedMetric + Clone + Send + Sync + 'static,
    {
        self.describe(spec, kind);
        let series = Series {
            labels: spec.labels,
            known: Arc::clone(&self.known),
            series: Arc::default(),
            make,
        };
        if spec.labels.is_empty() {
            // There is one, and it is there from the start.
            series.of(&[]);
        }
        self.forgetful.push(Box::new(series.clone()));
        match spec.unit {
            Some(name) => {
                let unit = unit(name);
                self.registry
                    .register_with_unit(spec.name, spec.help, unit, series.clone());
            }
            None => self.registry.register(spec.name, spec.help, series.clone()),
        }
        series
    }
}

/// The unit of a name.
pub(super) fn unit(name: &str) -> Unit {
    match name {
        "seconds" => Unit::Seconds,
        "bytes" => Unit::Bytes,
        other => Unit::Other(other.to_owned()),
    }
}
