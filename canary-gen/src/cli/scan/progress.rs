//! Progress on a terminal, for what takes longer than two seconds; nothing elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal as _, stderr};
use std::time::{Duration, Instant};

const AFTER: Duration = Duration::from_secs(2);
const KNOWN: &str = "{bytes} of {total_bytes} [{bar:30}] {bytes_per_sec}, {eta} left, {msg}";
const UNKNOWN: &str = "{bytes} {spinner} {bytes_per_sec}, {msg}";

pub(super) struct Progress {
    started: Instant,
    /// All bytes on disk, if they are known.
    total: Option<u64>,
    bar: Option<ProgressBar>,
    wanted: bool,
}

impl Progress {
    pub(super) fn new(total: Option<u64>) -> Self {
        Self {
            started: Instant::now(),
            total,
            bar: None,
            wanted: stderr().is_terminal(),
        }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    pub(super) fn show(&mut self, bytes: u64, sightings: u64) {
        if !self.wanted || self.started.elapsed() < AFTER {
            return;
        }
        let total = self.total;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = if total.is_some() { KNOWN } else { UNKNOWN };
            let style = ProgressStyle::with_template(template);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
                .with_elapsed(AFTER)
        });
        bar.set_position(bytes);
        bar.set_message(format!("{sightings} found"));
    }

    /// Prints without a bar in the way.
    pub(super) fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
