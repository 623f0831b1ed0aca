//! The work of a scan, over threads: whole inputs, or pieces of NDJSON cut at line ends.

use super::input::{self, Input, READ_BYTES};
use super::ndjson::Fields;
use super::output::Line;
use super::printer::Printer;
use super::{Args, EffortArg};
use crate::cli::CliError;
use canary_gen::scan::{Effort, Work};
use canary_gen::{Search, Sighting};
use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Bytes of a piece of NDJSON, about.
const PIECE: usize = 8 << 20;
/// Bytes of the longest line that is read as JSON. A longer one is scanned as it is.
const LONGEST_LINE: usize = 64 << 20;

/// What a run came to.
pub(super) struct Outcome {
    pub(super) found: bool,
    pub(super) failed: bool,
}

/// A part of the work.
enum Job {
    /// All of an input.
    Whole(usize),
    /// Whole lines of an input.
    Lines {
        input: usize,
        bytes: Vec<u8>,
        first_line: u64,
    },
    /// An input ended with an error.
    Failed(usize, io::Error),
}

/// What came of a job.
#[derive(Default)]
pub(super) struct Report {
    pub(super) input: usize,
    pub(super) lines: Vec<Line>,
    pub(super) bytes: u64,
    pub(super) work: Vec<Work>,
    pub(super) lines_not_json: u64,
    pub(super) first_not_json: Option<u64>,
    pub(super) error: Option<io::Error>,
}

/// What all threads share.
pub(super) struct Shared<'a> {
    pub(super) args: &'a Args,
    search: &'a Search,
    fields: Fields,
    /// Which of the fields some line had.
    seen: Vec<AtomicBool>,
    pub(super) inputs: &'a [Input],
    pub(super) read: Arc<AtomicU64>,
    /// Nobody wants to know more.
    stop: AtomicBool,
}

pub(super) fn run(args: &Args, search: &Search) -> Result<Outcome, CliError> {
    let (inputs, unreadable) = input::inputs(&args.inputs);
    let shared = Shared {
        args,
        search,
        fields: Fields::new(&args.fields),
        seen: args.fields.iter().map(|_| AtomicBool::new(false)).collect(),
        inputs: &inputs,
        read: Arc::default(),
        stop: AtomicBool::new(false),
    };
    let threads = args
        .threads
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZero::get);
    let shared = &shared;
    thread::scope(|scope| {
        let (jobs, taken) = sync_channel::<(u64, Job)>(threads);
        let (done, reports) = sync_channel(2 * threads);
        let taken = Arc::new(Mutex::new(taken));
        scope.spawn(move || shared.hand_out(jobs));
        for _ in 0..threads {
            let (taken, done) = (Arc::clone(&taken), done.clone());
            scope.spawn(move || shared.work(&taken, done));
        }
        drop((taken, done));
        let printed = Printer::new(shared).print(&reports, &unreadable);
        // Whoever waits to hand something over finds nobody there, and ends.
        shared.stop.store(true, Ordering::Relaxed);
        drop(reports);
        printed
    })
}

impl Shared<'_> {
    fn hand_out(&self, jobs: SyncSender<(u64, Job)>) {
        let mut number = 0;
        let mut send = |job| {
            let sent = jobs.send((number, job)).is_ok();
            number += 1;
            sent && !self.stop.load(Ordering::Relaxed)
        };
        for index in 0..self.inputs.len() {
            let goes_on = if self.args.fields.is_empty() {
                send(Job::Whole(index))
            } else {
                self.hand_out_lines(index, &mut send)
            };
            if !goes_on {
                return;
            }
        }
    }

    fn hand_out_lines(&self, index: usize, send: &mut dyn FnMut(Job) -> bool) -> bool {
        let mut reader = match self.inputs[index].open(&self.read) {
            Ok(reader) => reader,
            Err(error) => return send(Job::Failed(index, error)),
        };
        let mut rest = Vec::new();
        let mut first_line = 1;
        loop {
            let start = rest.len();
            let error = input::append(&mut reader, PIECE, &mut rest);
            let ended = rest.len() - start < PIECE;
            let cut = if ended || rest.len() > LONGEST_LINE {
                rest.len()
            } else {
                memchr::memrchr(b'\n', &rest).map_or(0, |newline| newline + 1)
            };
            let tail = rest.split_off(cut);
            let bytes = std::mem::replace(&mut rest, tail);
            let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
            let piece = Job::Lines {
                input: index,
                bytes,
                first_line,
            };
            first_line += lines;
            if !send(piece) || error.is_some_and(|error| !send(Job::Failed(index, error))) {
                return false;
            }
            if ended {
                return true;
            }
        }
    }

    fn work(&self, jobs: &Mutex<Receiver<(u64, Job)>>, done: SyncSender<(u64, Report)>) {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((number, job)) = job else { return };
            let report = match job {
                Job::Whole(index) => self.scan_whole(index),
                Job::Lines {
                    input,
                    bytes,
                    first_line,
                } => self.scan_lines(input, &bytes, first_line),
                Job::Failed(input, error) => Report {
                    input,
                    error: Some(error),
                    ..Report::default()
                },
            };
            if self.stop.load(Ordering::Relaxed) || done.send((number, report)).is_err() {
                return;
            }
        }
    }

    fn scan_whole(&self, index: usize) -> Report {
        let input = &self.inputs[index];
        let mut report = Report {
            input: index,
            ..Report::default()
        };
        let mut reader = match input.open(&self.read) {
            Ok(reader) => reader,
            Err(error) => {
                report.error = Some(error);
                return report;
            }
        };
        let effort = self.effort(input.bytes.unwrap_or(u64::MAX));
        let mut scanner = self.search.clone().with_effort(effort).scanner();
        let mut found = Vec::new();
        let mut bytes = vec![0; READ_BYTES];
        loop {
            let (length, error) = input::fill(&mut reader, &mut bytes);
            report.bytes += length as u64;
            scanner.push(&bytes[..length], &mut found);
            report.error = error;
            let ended = length < bytes.len() || self.stop.load(Ordering::Relaxed);
            if ended || (self.args.quiet && !found.is_empty()) {
                break;
            }
        }
        report.work.push(scanner.finish(&mut found));
        let wanted = found.iter().filter(|sighting| self.is_wanted(sighting));
        report.lines = wanted
            .map(|sighting| Line::new(Some(&input.name), sighting))
            .collect();
        report
    }

    fn scan_lines(&self, index: usize, bytes: &[u8], first_line: u64) -> Report {
        let name = &self.inputs[index].name;
        let mut report = Report {
            input: index,
            bytes: bytes.len() as u64,
            ..Report::default()
        };
        // The effort is for the piece, not for every field of it.
        let mut left = self.effort(bytes.len() as u64);
        let mut scanner = self.search.scanner();
        let mut found = Vec::new();
        for (number, line) in (first_line..).zip(bytes.split(|&byte| byte == b'\n')) {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let mut scan = |field: Option<&str>, text: &[u8], report: &mut Report| {
                scanner.set_effort(left);
                scanner.push(text, &mut found);
                let work = scanner.finish_text(&mut found);
                left.openings = left.openings.saturating_sub(work.repair_openings);
                report.work.push(work);
                let wanted = found.drain(..).filter(|sighting| self.is_wanted(sighting));
                report.lines.extend(
                    wanted.map(|sighting| Line::new(Some(name), &sighting).in_field(number, field)),
                );
            };
            let read = if line.len() > LONGEST_LINE {
                None
            } else {
                let each = &mut |field: &str, text: &[u8]| {
                    self.mark_seen(field);
                    scan(Some(field), text, &mut report);
                };
                self.fields.read(line, each).ok()
            };
            if read.is_none() {
                scan(None, line, &mut report);
                report.lines_not_json += 1;
                report.first_not_json.get_or_insert(number);
            }
        }
        report
    }

    fn mark_seen(&self, field: &str) {
        for (path, seen) in self.args.fields.iter().zip(&self.seen) {
            // Most have been seen long before: reading does not disturb the other threads.
            if path.as_str() == field && !seen.load(Ordering::Relaxed) {
                seen.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The fields that no line had.
    pub(super) fn never_seen(&self) -> Vec<String> {
        let fields = self.args.fields.iter().zip(&self.seen);
        fields
            .filter(|(_, seen)| !seen.load(Ordering::Relaxed))
            .map(|(path, _)| path.as_str().to_owned())
            .collect()
    }

    fn effort(&self, bytes: u64) -> Effort {
        if self.args.exact {
            EffortArg::None.for_bytes(bytes)
        } else {
            self.args.effort.for_bytes(bytes)
        }
    }

    fn is_wanted(&self, sighting: &Sighting) -> bool {
        sighting.proof.is_verified() || sighting.weight_bits >= self.args.min_weight
    }
}
