//! What Prometheus' client libraries tell of every process, under the names that they agreed upon.

use super::database::{counter, gauge};
use super::series::Spec;
use procfs::process::{LimitValue, Process};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

pub(super) const SPECS: [(Spec, &str); 7] = [
    (CPU, "counter"),
    (RESIDENT, "gauge"),
    (VIRTUAL, "gauge"),
    (OPEN_FILES, "gauge"),
    (MOST_FILES, "gauge"),
    (THREADS, "gauge"),
    (START, "gauge"),
];

const CPU: Spec = Spec {
    name: "process_cpu",
    unit: Some("seconds"),
    help: "Time that processors spent on this process, in user and system mode",
    labels: &[],
};
const RESIDENT: Spec = Spec {
    name: "process_resident_memory",
    unit: Some("bytes"),
    help: "Memory of this process that is in RAM",
    labels: &[],
};
const VIRTUAL: Spec = Spec {
    name: "process_virtual_memory",
    unit: Some("bytes"),
    help: "Memory that this process has mapped",
    labels: &[],
};
const OPEN_FILES: Spec = Spec {
    name: "process_open_fds",
    unit: None,
    help: "Files and sockets that are open",
    labels: &[],
};
const MOST_FILES: Spec = Spec {
    name: "process_max_fds",
    unit: None,
    help: "So many files and sockets may be open",
    labels: &[],
};
const THREADS: Spec = Spec {
    name: "process_threads",
    unit: None,
    help: "Threads of this process",
    labels: &[],
};
const START: Spec = Spec {
    name: "process_start_time",
    unit: Some("seconds"),
    help: "When this process began, since 1970",
    labels: &[],
};

/// Asks the operating system when it is asked.
#[derive(Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Where `/proc` is closed, there is nothing to tell.
        let Ok((process, stat)) = Process::myself().and_then(|me| {
            let stat = me.stat()?;
            Ok((me, stat))
        }) else {
            return Ok(());
        };
        let ticks = procfs::ticks_per_second() as f64;
        let encoder = &mut encoder;
        counter(encoder, &CPU, (stat.utime + stat.stime) as f64 / ticks)?;
        let resident = stat.rss * procfs::page_size();
        gauge(encoder, &RESIDENT, resident as f64)?;
        gauge(encoder, &VIRTUAL, stat.vsize as f64)?;
        if let Ok(open) = process.fd_count() {
            gauge(encoder, &OPEN_FILES, open as f64)?;
        }
        if let Ok(limits) = process.limits()
            && let LimitValue::Value(most) = limits.max_open_files.soft_limit
        {
            gauge(encoder, &MOST_FILES, most as f64)?;
        }
        gauge(encoder, &THREADS, stat.num_threads as f64)?;
        if let Ok(booted) = procfs::boot_time_secs() {
            gauge(
                encoder,
                &START,
                booted as f64 + stat.starttime as f64 / ticks,
            )?;
        }
        Ok(())
    }
}
