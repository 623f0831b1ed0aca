//! What a scan prints: reports in the order of the inputs, whatever the threads do, and a summary.

use super::EffortArg;
use super::input::Unreadable;
use super::jobs::{Outcome, Report, Shared};
use super::output::{LastLine, Summary};
use super::progress::Progress;
use crate::cli::CliError;
use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(200);

/// Prints reports in order, and counts.
pub(super) struct Printer<'a> {
    shared: &'a Shared<'a>,
    progress: Progress,
    summary: Summary,
    /// The input under way, and how many were found in it.
    current: (usize, u64),
    warned_of: Option<usize>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(shared: &'a Shared<'a>) -> Self {
        let sizes: Option<Vec<u64>> = shared.inputs.iter().map(|input| input.bytes).collect();
        Self {
            shared,
            progress: Progress::new(sizes.map(|sizes| sizes.iter().sum())),
            summary: Summary {
                inputs: shared.inputs.len(),
                ..Summary::default()
            },
            current: (0, 0),
            warned_of: None,
        }
    }

    pub(super) fn print(
        mut self,
        reports: &Receiver<(u64, Report)>,
        unreadable: &[Unreadable],
    ) -> Result<Outcome, CliError> {
        for Unreadable { name, source } in unreadable {
            self.summary.unreadable += 1;
            eprintln!("canary-gen: read `{name}`: {source}");
        }
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        loop {
            match reports.recv_timeout(TICK) {
                Ok((number, report)) => drop(waiting.insert(number, report)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Some(report) = waiting.remove(&next) {
                next += 1;
                self.report(report)?;
            }
            let read = self.shared.read.load(Ordering::Relaxed);
            self.progress.show(read, self.summary.sightings);
            if self.shared.args.quiet && self.summary.sightings > 0 {
                break;
            }
        }
        self.end_input(usize::MAX)?;
        self.finish()
    }

    fn report(&mut self, report: Report) -> Result<(), CliError> {
        self.end_input(report.input)?;
        let name = &self.shared.inputs[report.input].name;
        let found = report.lines.len() as u64;
        self.current.1 += found;
        self.summary.sightings += found;
        self.summary.bytes += report.bytes;
        self.summary.lines_not_json += report.lines_not_json;
        report.work.iter().for_each(|work| self.summary.add(work));
        let args = self.shared.args;
        if !(args.count || args.files_with_matches || args.quiet) {
            self.progress.suspend(|| {
                report.lines.iter().try_for_each(|line| {
                    print_line(&if args.json {
                        serde_json::to_string(line)?
                    } else {
                        line.to_string()
                    })
                })
            })?;
        }
        if let Some(line) = report.first_not_json
            && self.warned_of != Some(report.input)
        {
            self.warned_of = Some(report.input);
            self.progress.suspend(|| {
                eprintln!("canary-gen: `{name}` line {line} is no JSON: it and its like were scanned whole");
            });
        }
        if let Some(error) = report.error {
            self.summary.unreadable += 1;
            self.progress.suspend(|| {
                eprintln!("canary-gen: read `{name}`: {error} (what could be read was scanned)")
            });
        }
        Ok(())
    }

    /// Prints what is told once an input, for all inputs before `next`.
    fn end_input(&mut self, next: usize) -> Result<(), CliError> {
        let args = self.shared.args;
        while self.current.0 < next.min(self.shared.inputs.len()) {
            let (index, found) = self.current;
            let name = &self.shared.inputs[index].name;
            if args.count {
                self.progress
                    .suspend(|| print_line(&format!("{name}: {found}")))?;
            }
            if args.files_with_matches && found > 0 {
                self.progress.suspend(|| print_line(name))?;
            }
            self.current = (index + 1, 0);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Outcome, CliError> {
        self.progress.finish();
        self.summary.seconds = self.progress.seconds();
        let args = self.shared.args;
        self.summary.fields_never_seen = self.shared.never_seen();
        let summary = &self.summary;
        if !args.quiet && !args.json {
            for field in &summary.fields_never_seen {
                eprintln!("canary-gen: no line has the field `{field}`: nothing of it was scanned");
            }
        }
        if args.json {
            print_line(&serde_json::to_string(&LastLine { summary })?)?;
        }
        if summary.repairs_cut_short > 0
            && !args.quiet
            && !args.json
            && args.effort != EffortArg::None
        {
            eprintln!(
                "canary-gen: {} candidates could be canaries with damages and were not searched to the end (--effort thorough, or --planted, finds more)",
                summary.repairs_cut_short
            );
        }
        Ok(Outcome {
            found: summary.sightings > 0,
            // A field that is written wrong must not read as "no canaries".
            failed: summary.unreadable > 0
                || (summary.bytes > 0
                    && !args.fields.is_empty()
                    && summary.fields_never_seen.len() == args.fields.len()),
        })
    }
}

fn print_line(line: &str) -> Result<(), CliError> {
    writeln!(stdout().lock(), "{line}").map_err(CliError::Write)
}
