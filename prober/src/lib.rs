//! The prober: plans, weaves, sends, scans, judges, records, tells. ARCHITECTURE.md is the map.
//!
//! ```text
//! plan → scenario → (canary-gen: weave) → endpoint → (canary-gen: scan) → judge → store → alert
//! ```
//!
//! A station knows the next one's input type and nothing more; only [`round`] knows them all.

pub mod alert;
mod backoff;
pub mod bounds;
pub mod budget;
pub mod cli;
pub mod clock;
pub mod cmd;
pub mod config;
pub mod drill;
pub mod endpoint;
pub mod errors;
pub mod evidence;
pub mod export;
pub mod exposure;
pub mod ids;
pub mod incident;
pub mod judge;
pub mod length;
pub mod logging;
pub mod metrics;
pub mod plan;
pub mod reload;
pub mod round;
pub mod scenario;
pub mod serve;
pub mod spool;
pub mod store;
pub mod terminal;
pub mod watch;
