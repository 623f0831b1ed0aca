//! Logging: one subscriber for the process, on standard error.
//!
//! Never logged, by any module: response text, documents, canaries in writing, credentials, key
//! material, database URLs.

use crate::config::{Log, LogFormat};
use crate::terminal::AboveBars;
use std::io::{IsTerminal as _, stderr};
use tracing_subscriber::EnvFilter;

/// Starts logging. `RUST_LOG` wins over the configured level. A second call changes nothing.
pub fn start(log: Log) {
    // Libraries below us log request lines and SQL at lower levels: only our own follow the setting.
    let default = format!("warn,prober={level},simulator={level}", level = log.level);
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(stderr().is_terminal())
        .with_writer(|| AboveBars);
    // It fails only if a subscriber is set already: then that one stays.
    let _ = match log.format {
        LogFormat::Human => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
