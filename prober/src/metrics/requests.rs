//! Requests to endpoints: how long, how much, and what came of them.

use super::series::{Gauge, Registrar, Series, Spec};
use crate::endpoint::Exchange;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use std::time::Duration;

/// From a tenth of a second, which a small prompt takes, to half an hour.
const REQUEST_SECONDS: [f64; 13] = [
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0,
];
/// To the beginning of an answer.
const FIRST_SECONDS: [f64; 13] = [
    0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
/// Of one text: a short answer takes microseconds, a million tokens seconds.
const SCAN_SECONDS: [f64; 11] = [
    0.000_1, 0.000_5, 0.002_5, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0,
];

pub(super) struct Requests {
    requests: Series<Counter>,
    in_flight: Series<Gauge>,
    seconds: Series<Histogram>,
    first_byte: Series<Histogram>,
    first_token: Series<Histogram>,
    sent_bytes: Series<Counter>,
    received_bytes: Series<Counter>,
    sent_tokens: Series<Counter>,
    received_tokens: Series<Counter>,
    scan_seconds: Series<Histogram>,
    scanned_bytes: Series<Counter>,
}

/// What an exchange moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// Bytes of the request's body that were handed to the connection.
    pub sent_bytes: u64,
    /// Bytes of the response's body that were read.
    pub received_bytes: u64,
    /// Length of the prompt, if all of it left: as reported, or by the estimate.
    pub sent_tokens: u64,
    /// Length of the answer, as far as it was reported.
    pub received_tokens: u64,
}

/// Which text was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// The body of a request, before it leaves.
    Request,
    /// Everything of a response.
    Response,
}

/// What scanning took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scanned {
    /// So many bytes.
    pub bytes: u64,
    /// So long.
    pub took: Duration,
}

/// A request under way, counted until this is dropped.
#[derive(Debug)]
pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Requests {
    pub(super) fn new(registrar: &mut Registrar) -> Self {
        let mut counter = |name, unit, help, labels| {
            registrar.counter(&Spec {
                name,
                unit,
                help,
                labels,
            })
        };
        let by_endpoint: &[&str] = &["endpoint"];
        let (bytes, tokens) = (Some("bytes"), Some("tokens"));
        let requests = counter(
            "prober_requests",
            None,
            "Requests that ended, calibration too, by what came of them",
            &["endpoint", "outcome"],
        );
        let sent_bytes = counter(
            "prober_sent",
            bytes,
            "Bytes of requests' bodies handed to connections",
            by_endpoint,
        );
        let received_bytes = counter(
            "prober_received",
            bytes,
            "Bytes of responses' bodies read, unpacked",
            by_endpoint,
        );
        let sent_tokens = counter(
            "prober_sent",
            tokens,
            "Tokens of prompts that left completely, as reported or else estimated",
            by_endpoint,
        );
        let received_tokens = counter(
            "prober_received",
            tokens,
            "Tokens of answers, as far as they were reported",
            by_endpoint,
        );
        let scanned_bytes = counter(
            "prober_scanned",
            bytes,
            "Bytes that were scanned for canaries; those of a response once as they came and once as texts",
            &["text"],
        );
        let mut histogram = |name, help, labels, make| {
            let unit = Some("seconds");
            registrar.histogram(
                &Spec {
                    name,
                    unit,
                    help,
                    labels,
                },
                make,
            )
        };
        Self {
            requests,
            seconds: histogram(
                "prober_request_duration",
                "From the first attempt to connect to the end of the response",
                by_endpoint,
                || Histogram::new(REQUEST_SECONDS),
            ),
            first_byte: histogram(
                "prober_time_to_first_byte",
                "From the first byte of a request to the head of its response",
                by_endpoint,
                || Histogram::new(FIRST_SECONDS),
            ),
            first_token: histogram(
                "prober_time_to_first_token",
                "From the first byte of a request to the first text of its answer",
                by_endpoint,
                || Histogram::new(FIRST_SECONDS),
            ),
            scan_seconds: histogram(
                "prober_scan_duration",
                "How long the scan of a whole request or response took, waiting left out",
                &["text"],
                || Histogram::new(SCAN_SECONDS),
            ),
            sent_bytes,
            received_bytes,
            sent_tokens,
            received_tokens,
            scanned_bytes,
            in_flight: registrar.gauge(&Spec {
                name: "prober_requests_in_flight",
                unit: None,
                help: "Requests under way",
                labels: by_endpoint,
            }),
        }
    }

    pub(super) fn prepare_endpoint(&self, endpoint: &str) {
        self.requests.of(&[endpoint, "answered"]);
        self.in_flight.of(&[endpoint]);
        for histogram in [&self.seconds, &self.first_byte, &self.first_token] {
            histogram.of(&[endpoint]);
        }
        for counter in [
            &self.sent_bytes,
            &self.received_bytes,
            &self.sent_tokens,
            &self.received_tokens,
        ] {
            counter.of(&[endpoint]);
        }
    }

    pub(super) fn begun(&self, endpoint: &str) -> InFlight {
        let gauge = self.in_flight.of(&[endpoint]);
        gauge.inc();
        InFlight(gauge)
    }

    pub(super) fn ended(&self, endpoint: &str, exchange: &Exchange, moved: Moved) {
        let outcome = exchange.outcome.as_str();
        self.requests.of(&[endpoint, outcome]).inc();
        let observe = |histogram: &Series<Histogram>, time: Option<Duration>| {
            if let Some(time) = time {
                histogram.of(&[endpoint]).observe(time.as_secs_f64());
            }
        };
        observe(&self.seconds, Some(exchange.duration));
        observe(&self.first_byte, exchange.ttfb);
        observe(&self.first_token, exchange.ttft);
        let add = |counter: &Series<Counter>, count| {
            counter.of(&[endpoint]).inc_by(count);
        };
        add(&self.sent_bytes, moved.sent_bytes);
        add(&self.received_bytes, moved.received_bytes);
        add(&self.sent_tokens, moved.sent_tokens);
        add(&self.received_tokens, moved.received_tokens);
    }

    pub(super) fn scanned(&self, text: Text, scanned: Scanned) {
        let text = match text {
            Text::Request => "request",
            Text::Response => "response",
        };
        self.scanned_bytes.of(&[text]).inc_by(scanned.bytes);
        let seconds = self.scan_seconds.of(&[text]);
        seconds.observe(scanned.took.as_secs_f64());
    }
}
