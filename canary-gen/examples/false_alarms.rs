//! Looks for canaries where there are none: text of every kind that is likely to be mistaken for
//! one, and whatever files are given, against an index of a million canaries.
//!
//! ```text
//! cargo run --release -p canary-gen --example false_alarms -- --mib 1000 ~/src /usr/share/doc
//! ```
//!
//! Prints a table of sightings by kind of text and by proof. Exit status: 0 when nothing weighs
//! enough to be suspected, 1 when something does, 2 when the search or the reading of a file failed.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../benches/corpus/mod.rs"]
mod corpus;
#[path = "false_alarms/tally.rs"]
mod tally;

use canary_gen::{KeyRing, Search, Seed};
use clap::Parser;
use corpus::Kind;
use corpus::plant::{plant, search_with_index};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tally::Tally;

#[derive(Parser)]
struct Options {
    /// MiB of generated text, divided over the kinds.
    #[arg(long, default_value_t = 1000)]
    mib: usize,
    /// Canaries in the index.
    #[arg(long, default_value_t = 1_000_000)]
    canaries: u64,
    /// Another seed gives other texts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Files, and directories with all files in them, to be scanned as well.
    files: Vec<PathBuf>,
}

/// Texts are made and scanned in pieces of this many bytes.
const PIECE: usize = 16 << 20;

fn main() -> ExitCode {
    let options = Options::parse();
    let ring = KeyRing::from_root(&[7; 32]);
    eprintln!("planting {} canaries in the index", options.canaries);
    let search = search_with_index(&ring, options.canaries);
    if !sees_planted_canaries(&search, &ring) {
        eprintln!("the search does not find canaries that were planted: its silence means nothing");
        return ExitCode::from(2);
    }

    let seed = Seed::from_number(options.seed);
    let bytes_of_a_kind = (options.mib << 20) / Kind::ALL.len();
    let mut tallies: Vec<Tally> = Kind::ALL
        .into_iter()
        .map(|kind| scan_kind(&search, kind, &seed, bytes_of_a_kind))
        .collect();
    let mut unread = 0;
    for path in &options.files {
        eprintln!("{}", path.display());
        let mut tally = Tally::new(path.display().to_string());
        unread += scan_path(&search, path, &mut tally);
        tallies.push(tally);
    }

    tally::print(&tallies);
    if unread > 0 {
        eprintln!("{unread} files or directories could not be read");
    }
    match tallies.iter().map(Tally::suspected).sum::<u64>() {
        0 if unread > 0 => ExitCode::from(2),
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Whether the search can see at all: silence counts only if it can.
fn sees_planted_canaries(search: &Search, ring: &KeyRing) -> bool {
    let mut text = Kind::ModelLike.generate(&Seed::from_number(0), 1 << 20);
    let planted = plant(&mut text, ring, 100);
    let sightings = search.scan(&text);
    let mut sees_all = true;
    for missed in planted.iter().filter(|one| !one.is_among(&sightings)) {
        let dashes = if missed.bare { " without dashes" } else { "" };
        eprintln!("missed: {}{dashes}", missed.form);
        sees_all = false;
    }
    sees_all
}

fn scan_kind(search: &Search, kind: Kind, seed: &Seed, bytes: usize) -> Tally {
    let mut tally = Tally::new(kind.as_str());
    eprint!("{}:", kind.as_str());
    for (index, start) in (0..bytes).step_by(PIECE).enumerate() {
        let seed = seed.child_number("piece", index as u64);
        let text = kind.generate(&seed, PIECE.min(bytes - start));
        tally.scan(search, &text);
        eprint!(" {}", (start + text.len()) >> 20);
    }
    eprintln!(" MiB");
    tally
}

/// Scans a file, or all files of a directory; returns how many could not be read. Links are not
/// followed, so that no file is read twice and no directory without end.
fn scan_path(search: &Search, path: &Path, tally: &mut Tally) -> u64 {
    let scanned = path.symlink_metadata().and_then(|metadata| {
        if metadata.is_dir() {
            let mut entries: Vec<PathBuf> = path
                .read_dir()?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<io::Result<_>>()?;
            entries.sort();
            return Ok(entries
                .iter()
                .map(|entry| scan_path(search, entry, tally))
                .sum());
        }
        if metadata.is_file() {
            scan_file(search, path, tally)?;
        }
        Ok(0)
    });
    scanned.unwrap_or_else(|error| {
        eprintln!("{}: {error}", path.display());
        1
    })
}

fn scan_file(search: &Search, path: &Path, tally: &mut Tally) -> io::Result<()> {
    let mut file = File::open(path)?;
    loop {
        let mut piece = Vec::new();
        file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        if piece.is_empty() {
            return Ok(());
        }
        tally.scan(search, &piece);
    }
}
