//! What was seen in one kind of text.

use canary_gen::scan::Proof;
use canary_gen::{Search, Sighting};
use std::time::Instant;

/// From so many bits on a leak is suspected (docs/canary-format.md).
const SUSPECTED_BITS: u32 = 16;
/// Of each kind of text so many suspected sightings are shown.
const SHOWN: u64 = 5;

/// Sightings in one kind of text.
pub(crate) struct Tally {
    name: String,
    bytes: u64,
    seconds: f64,
    exact: u64,
    repaired: u64,
    fragments: u64,
    heaviest_fragment: Option<u32>,
    suspected: u64,
}

impl Tally {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            bytes: 0,
            seconds: 0.0,
            exact: 0,
            repaired: 0,
            fragments: 0,
            heaviest_fragment: None,
            suspected: 0,
        }
    }

    /// How many sightings are suspected to be leaks: false alarms, all of them.
    pub(crate) fn suspected(&self) -> u64 {
        self.suspected
    }

    /// Scans one text and counts what is seen.
    pub(crate) fn scan(&mut self, search: &Search, text: &[u8]) {
        let started = Instant::now();
        let sightings = search.scan(text);
        self.seconds += started.elapsed().as_secs_f64();
        self.bytes += text.len() as u64;
        for sighting in &sightings {
            self.count(sighting, text);
        }
    }

    fn count(&mut self, sighting: &Sighting, text: &[u8]) {
        match sighting.proof {
            Proof::Exact => self.exact += 1,
            Proof::Repaired { .. } => self.repaired += 1,
            Proof::Fragment { .. } => {
                self.fragments += 1;
                self.heaviest_fragment = self.heaviest_fragment.max(Some(sighting.weight_bits));
            }
        }
        if sighting.weight_bits < SUSPECTED_BITS {
            return;
        }
        self.suspected += 1;
        if self.suspected <= SHOWN {
            let start = sighting.offset as usize;
            let end = text.len().min(start + sighting.length);
            eprintln!(
                "\n{}: {:?}, {} bits, {}, {}: {:?}",
                self.name,
                sighting.proof,
                sighting.weight_bits,
                sighting.form,
                sighting.views,
                String::from_utf8_lossy(&text[start..end]),
            );
        }
    }
}

/// Prints the table in Markdown.
pub(crate) fn print(tallies: &[Tally]) {
    println!(
        "| text | MB | s | MB/s | exact | repaired | fragments | heaviest fragment, bits | at {SUSPECTED_BITS} bits or more |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for tally in tallies {
        let megabytes = tally.bytes as f64 / 1e6;
        println!(
            "| {} | {megabytes:.1} | {:.1} | {:.1} | {} | {} | {} | {} | {} |",
            tally.name,
            tally.seconds,
            megabytes / tally.seconds.max(f64::MIN_POSITIVE),
            tally.exact,
            tally.repaired,
            tally.fragments,
            tally
                .heaviest_fragment
                .map_or(String::new(), |bits| bits.to_string()),
            tally.suspected,
        );
    }
    let bytes: u64 = tallies.iter().map(|tally| tally.bytes).sum();
    let suspected: u64 = tallies.iter().map(Tally::suspected).sum();
    println!(
        "\n{:.1} MB without a canary: {suspected} sightings of {SUSPECTED_BITS} bits or more",
        bytes as f64 / 1e6
    );
}
