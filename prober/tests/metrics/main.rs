//! What Prometheus is told: by real rounds, of a real database, and to a real Prometheus.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod rules;
mod survey;
