//! Reading logs at the speed of the machine and in constant memory: one thread reads, decompresses and cuts into
//! blocks of whole lines, others read the blocks, and the caller's adds up what they came to in their order.

mod cut;
mod input;

pub use input::Input;

use super::assess::Question;
use super::detect::{self, Choice};
use super::documents;
use super::log::{Log, Part};
use super::problem::{Problem, What};
use super::tally::Tally;
use cut::{Block, Cutter};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What is to be read, and how.
#[derive(Debug)]
pub(super) struct Order<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) choice: &'a Choice,
    pub(super) question: &'a Question,
    pub(super) threads: NonZero<usize>,
    /// So many problems are kept with their places.
    pub(super) most_problems: usize,
}

/// Who is told while logs are read.
pub trait Watcher {
    /// So many bytes have come from the disk.
    fn read(&mut self, bytes: u64);

    /// A problem, in the order of the lines; an error of its own ends the reading.
    ///
    /// # Errors
    /// Whatever the watcher's are.
    fn problem(&mut self, log: &str, line: u64, what: What) -> io::Result<()>;
}

/// What is to be said of one log.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) mapping: Option<String>,
    pub(super) layout: Option<&'static str>,
    pub(super) compression: Option<&'static str>,
    /// Decompressed.
    pub(super) bytes: u64,
    pub(super) records: u64,
    pub(super) unreadable: u64,
    /// Why it could not be read, or not to its end.
    pub(super) failure: Option<String>,
}

/// All that reading came to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) logs: Vec<Facts>,
    pub(super) tally: Tally,
    pub(super) problems: Vec<Problem>,
    pub(super) by_kind: BTreeMap<What, u64>,
}

/// A part of the work.
enum Job {
    Block(usize, Arc<Log>, Block),
    Documents(usize, Arc<Log>, Vec<u8>),
}

/// What came of a job, or is to be said of a log.
enum Report {
    Begun(Facts),
    Read(usize, Box<Part>),
    Failed(usize, String),
}

/// Reads all of it.
///
/// # Errors
/// Those of the watcher only: what is wrong with a log is part of the outcome.
pub(super) fn run(order: &Order<'_>, watcher: &mut dyn Watcher) -> io::Result<Outcome> {
    let threads = order.threads.get();
    let read = Arc::new(AtomicU64::new(0));
    thread::scope(|scope| {
        let (jobs, taken) = sync_channel::<(u64, Job)>(threads);
        let (done, reports) = sync_channel::<(u64, Report)>(2 * threads);
        let (used, empty) = channel::<Vec<u8>>();
        let taken = Arc::new(Mutex::new(taken));
        let feeder = Feeder {
            order,
            jobs,
            done: done.clone(),
            empty,
            read: Arc::clone(&read),
            number: 0,
        };
        scope.spawn(move || feeder.run());
        for _ in 0..threads {
            let (taken, done, used) = (Arc::clone(&taken), done.clone(), used.clone());
            scope.spawn(move || work(&taken, &done, &used, order.question));
        }
        // Whoever waits to hand something over when the watcher has had enough finds nobody there, and ends.
        drop((taken, done, used));
        add_up(order, reports, &read, watcher)
    })
}

struct Feeder<'a> {
    order: &'a Order<'a>,
    jobs: SyncSender<(u64, Job)>,
    done: SyncSender<(u64, Report)>,
    empty: Receiver<Vec<u8>>,
    read: Arc<AtomicU64>,
    number: u64,
}

impl Feeder<'_> {
    fn run(mut self) {
        for (index, input) in self.order.inputs.iter().enumerate() {
            if self.feed(index, input).is_none() {
                return;
            }
        }
    }

    fn tell(&mut self, report: Report) -> Option<()> {
        self.number += 1;
        self.done.send((self.number - 1, report)).ok()
    }

    fn send(&mut self, job: Job) -> Option<()> {
        self.number += 1;
        self.jobs.send((self.number - 1, job)).ok()
    }

    /// `None` if nobody listens any more.
    fn feed(&mut self, index: usize, input: &Input) -> Option<()> {
        let mut facts = Facts {
            name: input.name().to_owned(),
            ..Facts::default()
        };
        let opened = match input.open(&self.read) {
            Ok(opened) => opened,
            Err(error) => {
                self.tell(Report::Begun(facts))?;
                return self.tell(Report::Failed(index, format!("cannot be read: {error}")));
            }
        };
        facts.compression = opened.compression;
        let mut reader = opened.reader;
        let mut head = Vec::new();
        let (whole, broken) = cut::head(&mut reader, &mut head);
        let log = match detect::detect(&head, whole, self.order.choice) {
            Ok(log) => Arc::new(log),
            Err(unknown) => {
                self.tell(Report::Begun(facts))?;
                let why = broken.map_or_else(|| unknown.to_string(), |error| broke_off(&error));
                return self.tell(Report::Failed(index, why));
            }
        };
        facts.layout = Some(log.layout.as_str());
        facts.mapping = log.mapping.as_ref().map(|mapping| mapping.name.clone());
        self.tell(Report::Begun(facts))?;
        if let Some(error) = broken {
            self.tell(Report::Failed(index, broke_off(&error)))?;
        }
        let reader = io::Cursor::new(head).chain(reader);
        if log.choice.is_some() {
            return self.feed_documents(index, log, reader);
        }
        let mut cutter = Cutter::new(reader, log.layout);
        while let Some(mut block) = cutter.next(self.empty.try_recv().unwrap_or_default()) {
            let error = block.error.take();
            self.send(Job::Block(index, Arc::clone(&log), block))?;
            if let Some(error) = error {
                return self.tell(Report::Failed(index, broke_off(&error)));
            }
        }
        Some(())
    }

    fn feed_documents(&mut self, index: usize, log: Arc<Log>, reader: impl Read) -> Option<()> {
        let mut bytes = Vec::new();
        let most = documents::LARGEST as u64;
        if let Err(error) = reader.take(most + 1).read_to_end(&mut bytes) {
            self.tell(Report::Failed(index, broke_off(&error)))?;
        }
        if bytes.len() as u64 > most {
            let why = "is one JSON document of more than 64 MiB (write one record a line, for example with `jq -c '.[]'`)";
            return self.tell(Report::Failed(index, why.to_owned()));
        }
        self.send(Job::Documents(index, log, bytes))
    }
}

fn broke_off(error: &io::Error) -> String {
    format!("could not be read to its end: {error}")
}

fn work(
    jobs: &Mutex<Receiver<(u64, Job)>>,
    done: &SyncSender<(u64, Report)>,
    used: &Sender<Vec<u8>>,
    question: &Question,
) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, job)) = job else { return };
        let report = match job {
            Job::Block(index, log, block) => {
                let mut part = log.read(block.lines(), block.first_line, question);
                for (line, what) in block.faults {
                    part.fail(line, what);
                }
                if block.bytes.capacity() <= 2 * cut::BLOCK {
                    // To be filled again; if nobody wants it, it is gone.
                    let _ = used.send(block.bytes);
                }
                Report::Read(index, Box::new(part))
            }
            Job::Documents(index, log, bytes) => match documents::read(&log, &bytes, question) {
                Ok((mut part, mapping)) => {
                    part.mapping = Some(mapping.name.clone());
                    Report::Read(index, Box::new(part))
                }
                Err(unknown) => Report::Failed(index, unknown.to_string()),
            },
        };
        if done.send((number, report)).is_err() {
            return;
        }
    }
}

/// Adds reports up in the order of their numbers.
fn add_up(
    order: &Order<'_>,
    reports: Receiver<(u64, Report)>,
    read: &AtomicU64,
    watcher: &mut dyn Watcher,
) -> io::Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut early: BTreeMap<u64, Report> = BTreeMap::new();
    let mut next = 0;
    for (number, report) in reports {
        early.insert(number, report);
        while let Some(report) = early.remove(&next) {
            next += 1;
            take(order, report, &mut outcome, watcher)?;
        }
        watcher.read(read.load(Ordering::Relaxed));
    }
    Ok(outcome)
}

fn take(
    order: &Order<'_>,
    report: Report,
    outcome: &mut Outcome,
    watcher: &mut dyn Watcher,
) -> io::Result<()> {
    match report {
        Report::Begun(facts) => outcome.logs.push(facts),
        Report::Failed(index, why) => {
            if let Some(facts) = outcome.logs.get_mut(index) {
                facts.failure.get_or_insert(why);
            }
        }
        Report::Read(index, part) => {
            let Some(facts) = outcome.logs.get_mut(index) else {
                return Ok(());
            };
            facts.bytes += part.bytes;
            facts.records += part.tally.records();
            facts.unreadable += part.tally.unreadable;
            if part.mapping.is_some() {
                facts.mapping = part.mapping;
            }
            let mut problems = part.problems;
            problems.sort_by_key(|(line, _)| *line);
            for (line, what) in problems {
                watcher.problem(&facts.name, line, what)?;
                *outcome.by_kind.entry(what).or_default() += 1;
                if outcome.problems.len() < order.most_problems {
                    outcome.problems.push(Problem {
                        log: index,
                        line,
                        what,
                    });
                }
            }
            outcome.tally.add(part.tally);
        }
    }
    Ok(())
}
