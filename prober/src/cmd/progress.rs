//! Progress on a terminal; nothing when standard error is none.

use crate::round::{Event, Observer};
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An observer that draws a bar for the round under way.
pub(super) fn bars() -> Observer {
    let bar: Mutex<Option<ProgressBar>> = Mutex::new(None);
    Arc::new(move |event| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Started {
                endpoint,
                scenario,
                probes,
            } => *bar = Some(start(endpoint, scenario, *probes)),
            Event::Judged {
                role,
                tenant,
                tokens,
                verdict,
                ..
            } => {
                if let Some(bar) = bar.as_ref() {
                    bar.set_message(format!(
                        "{} of {tenant}, {tokens} tokens: {verdict}",
                        role.as_str()
                    ));
                    bar.inc(1);
                    if Some(bar.position()) == bar.length() {
                        bar.finish_and_clear();
                    }
                }
            }
        }
    })
}

/// An observer that shows nothing.
pub(super) fn none() -> Observer {
    Arc::new(|_| {})
}

fn start(endpoint: &str, scenario: &str, probes: usize) -> ProgressBar {
    let bar = crate::terminal::show(ProgressBar::new(probes as u64));
    let style = ProgressStyle::with_template("{prefix:<28} [{bar:24}] {pos}/{len} {elapsed} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(format!("{endpoint} {scenario}"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
