//! The service itself: its build, its configuration, what it has leased, and the alerts that it sends.

use super::series::{Gauge, Registrar, Series, Spec};
use crate::alert::Next;
use prometheus_client::metrics::counter::Counter;
use time::OffsetDateTime;

/// What comes of an attempt to deliver an alert.
const RESULTS: [&str; 4] = ["delivered", "failed", "dead", "disabled"];

pub(super) struct Service {
    build: Series<Gauge>,
    reload_successful: Series<Gauge>,
    reload_at: Series<Gauge>,
    restart_required: Series<Gauge>,
    leases: Series<Gauge>,
    leases_lost: Series<Counter>,
    receivers: Series<Gauge>,
    deliveries: Series<Counter>,
}

/// A lease that is held, counted until this is dropped.
#[derive(Debug)]
pub struct HeldLease(Gauge);

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.0.set(0.0);
    }
}

impl Service {
    pub(super) fn new(registrar: &mut Registrar) -> Self {
        let mut gauge = |name, unit, help, labels| {
            registrar.gauge(&Spec {
                name,
                unit,
                help,
                labels,
            })
        };
        let service = Self {
            build: gauge(
                "prober_build_info",
                None,
                "1, with the version as a label",
                &["version"],
            ),
            reload_successful: gauge(
                "prober_config_last_reload_successful",
                None,
                "Whether the configuration could be taken over when that was last tried, at the start or since: 1 or 0",
                &[],
            ),
            reload_at: gauge(
                "prober_config_last_reload_success_timestamp",
                Some("seconds"),
                "When a configuration was last taken over",
                &[],
            ),
            restart_required: gauge(
                "prober_config_restart_required",
                None,
                "Whether the file asks for something that takes a restart: 1 or 0",
                &[],
            ),
            leases: gauge(
                "prober_leases_held",
                None,
                "Whether this prober has the endpoint for itself now: 1 or 0",
                &["endpoint"],
            ),
            receivers: gauge(
                "prober_alert_receivers",
                None,
                "How many receivers of alerts are configured",
                &[],
            ),
            leases_lost: registrar.counter(&Spec {
                name: "prober_leases_lost",
                unit: None,
                help: "Leases that were lost before they could be given back",
                labels: &["endpoint"],
            }),
            deliveries: registrar.counter(&Spec {
                name: "prober_alert_deliveries",
                unit: None,
                help: "Attempts to deliver a message, by what came of them; failed ones are tried again",
                labels: &["receiver", "result"],
            }),
        };
        service.build.of(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        service
    }

    pub(super) fn prepare_endpoint(&self, endpoint: &str) {
        self.leases.of(&[endpoint]);
        self.leases_lost.of(&[endpoint]);
    }

    pub(super) fn prepare_receiver(&self, receiver: &str) {
        for result in RESULTS {
            self.deliveries.of(&[receiver, result]);
        }
    }

    pub(super) fn receivers(&self, count: usize) {
        self.receivers.of(&[]).set(count as f64);
    }

    pub(super) fn config_taken(&self, at: OffsetDateTime, is_restart_required: bool) {
        self.reload_successful.of(&[]).set(1.0);
        self.reload_at.of(&[]).set(super::timestamp(at));
        self.restart_required(is_restart_required);
    }

    pub(super) fn config_refused(&self, is_restart_required: bool) {
        self.reload_successful.of(&[]).set(0.0);
        self.restart_required(is_restart_required);
    }

    fn restart_required(&self, is_required: bool) {
        let required = u8::from(is_required);
        self.restart_required.of(&[]).set(required.into());
    }

    pub(super) fn leased(&self, endpoint: &str) -> HeldLease {
        let gauge = self.leases.of(&[endpoint]);
        gauge.set(1.0);
        HeldLease(gauge)
    }

    pub(super) fn lease_lost(&self, endpoint: &str) {
        self.leases_lost.of(&[endpoint]).inc();
    }

    pub(super) fn attempted(&self, receiver: &str, next: &Next) {
        let result = match next {
            Next::Delivered => RESULTS[0],
            Next::Again { .. } => RESULTS[1],
            Next::Dead { .. } => RESULTS[2],
            Next::Disable => RESULTS[3],
        };
        self.deliveries.of(&[receiver, result]).inc();
    }
}
