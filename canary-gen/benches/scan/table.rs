//! Measuring, and the table of what was measured.

use crate::corpus::plant::Planted;
use canary_gen::Form;
use std::time::Instant;

/// What it took to build something.
#[derive(Clone, Copy)]
pub(crate) struct Built {
    pub(crate) seconds: f64,
    /// What the process's resident memory grew by, in MiB: after building, not at its peak, and
    /// less than the thing takes if it was put where something else was freed.
    resident_mib: f64,
}

impl Built {
    /// Builds something and says what it took.
    pub(crate) fn measure<T>(build: impl FnOnce() -> T) -> (T, Self) {
        let before = resident_mib();
        let started = Instant::now();
        let built = build();
        let seconds = started.elapsed().as_secs_f64();
        let resident_mib = resident_mib() - before;
        (
            built,
            Self {
                seconds,
                resident_mib,
            },
        )
    }
}

/// Resident memory of this process in MiB; 0 where the system does not tell.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// Whose speed ours is divided by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    AhoCorasick,
    Daachorse,
}

/// One method and its figures.
pub(crate) struct Row {
    name: String,
    built: Option<Built>,
    peer: Option<Peer>,
    /// Of the fastest run, in 10⁹ bytes a second.
    speed: f64,
    hits: Option<usize>,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            built: None,
            peer: None,
            speed: 0.0,
            hits: None,
        }
    }

    /// The same row with what its automaton or index took to build.
    pub(crate) fn built(self, built: Built) -> Self {
        Self {
            built: Some(built),
            ..self
        }
    }

    /// The same row as what others are compared with, if it is.
    pub(crate) fn peer_if(self, is_peer: bool, peer: Peer) -> Self {
        Self {
            peer: is_peer.then_some(peer),
            ..self
        }
    }
}

/// All methods.
#[derive(Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    /// Runs a search `runs` times, which returns its hits, and enters the fastest run.
    pub(crate) fn measure(
        &mut self,
        row: Row,
        text: &[u8],
        runs: u32,
        mut search: impl FnMut(&[u8]) -> Option<usize>,
    ) {
        eprint!("{}:", row.name);
        let (mut speed, mut hits) = (0f64, None);
        for _ in 0..runs {
            let started = Instant::now();
            hits = search(std::hint::black_box(text));
            let this = text.len() as f64 / started.elapsed().as_secs_f64() / 1e9;
            eprint!(" {this:.3}");
            speed = speed.max(this);
        }
        eprintln!(" GB/s");
        self.0.push(Row { speed, hits, ..row });
    }

    /// Prints the table in Markdown.
    pub(crate) fn print(&self, bytes: usize) {
        let of = |peer| self.0.iter().find(|row| row.peer == Some(peer));
        let (aho_corasick, daachorse) = (of(Peer::AhoCorasick), of(Peer::Daachorse));
        println!("\n{} MiB, one thread, fastest run\n", bytes >> 20);
        println!(
            "| method | GB/s | times aho-corasick, 100000 | times daachorse, 100000 | hits | build s | resident MiB |"
        );
        println!("|---|---:|---:|---:|---:|---:|---:|");
        for row in &self.0 {
            let times = |peer: Option<&Row>| {
                peer.map_or(String::new(), |peer| {
                    format!("{:.1}", row.speed / peer.speed)
                })
            };
            let (seconds, mib) = row.built.map_or_else(Default::default, |built| {
                (
                    format!("{:.2}", built.seconds),
                    format!("{:.0}", built.resident_mib),
                )
            });
            println!(
                "| {} | {:.3} | {} | {} | {} | {seconds} | {mib} |",
                row.name,
                row.speed,
                times(aho_corasick),
                times(daachorse),
                row.hits.map_or(String::new(), |hits| hits.to_string()),
            );
        }
    }
}

/// Prints what decides how fast a text can be searched, and what was planted in it.
pub(crate) fn print_composition(text: &[u8], planted: &[Planted]) {
    const SHORTEST_RUN: usize = 26;
    let of_base32 =
        |byte: u8| matches!(byte, b'0'..=b'9' | b'A'..=b'Z') && !b"ILOU".contains(&byte);
    let share = text.iter().filter(|&&byte| of_base32(byte)).count() as f64 / text.len() as f64;
    let runs = text
        .split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'-'))
        .filter(|run| run.len() >= SHORTEST_RUN)
        .count();
    println!(
        "text: {:.2} % of the bytes are upper-case Crockford base32, {runs} runs of {SHORTEST_RUN} or more \
         letters, digits and dashes (one for each {} bytes)",
        100.0 * share,
        text.len() / runs.max(1),
    );
    let forms: Vec<String> = Form::ALL
        .into_iter()
        .map(|form| {
            let count = planted.iter().filter(|one| one.form == form).count();
            format!("{count} {form}")
        })
        .collect();
    let bare = planted.iter().filter(|one| one.bare).count();
    println!(
        "planted: {} ({bare} of them a code without dashes, the writing that the automata know)",
        forms.join(", ")
    );
}
