//! How fast texts are scanned, beside what everybody knows: reading memory, `memchr`, and the two
//! usual automata for many fixed strings. One run, one text, one thread, one table.
//!
//! ```text
//! cargo bench -p canary-gen --bench scan                  256 MiB, some minutes
//! cargo bench -p canary-gen --bench scan -- --quick       16 MiB, for trying out
//! ```
//!
//! The automata search for fixed strings: the 26 characters of `code`, in upper case, without dashes
//! (`ascii_case_insensitive` is off; with it, aho-corasick's automaton would be larger). The
//! searches of this crate read every writing of every form, in either case. So the hits differ: the
//! automata see only the canaries that were planted in just that writing.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "scan/table.rs"]
mod table;

use canary_gen::{KeyRing, Search, Seed};
use clap::Parser;
use corpus::Kind;
use corpus::plant::{Planted, bare_code, minted, plant, search_with_index};
use std::hint::black_box;
use table::{Built, Row, Table};

#[derive(Parser)]
struct Options {
    /// 16 MiB of text, to try the benchmark out; its figures are too noisy to be quoted.
    #[arg(long)]
    quick: bool,
    /// MiB of text [default: 256].
    #[arg(long)]
    mib: Option<usize>,
    /// How often each search runs; the fastest run counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// What `cargo bench` says; without it (`cargo test --benches`) there is nothing to do.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    fn mib(&self) -> usize {
        self.mib.unwrap_or(if self.quick { 16 } else { 256 })
    }
}

/// How many canaries are put into the text.
const PLANTED: usize = 100;
const INDEXED: [u64; 3] = [1_000, 100_000, 1_000_000];
const PATTERNS: [u64; 2] = [1_000, 100_000];
/// Occurs nowhere in the text.
const RARE_BYTE: u8 = b'~';

fn main() {
    let options = Options::parse();
    if !(options.bench || options.quick || options.mib.is_some()) {
        eprintln!("nothing to do: this is a benchmark, run it with `cargo bench`");
        return;
    }
    let ring = KeyRing::from_root(&[7; 32]);
    let seed = Seed::from_number(1);
    let bytes = options.mib() << 20;
    eprintln!("writing {} MiB of text", options.mib());
    let (mut text, built) = Built::measure(|| Kind::ModelLike.generate(&seed, bytes));
    eprintln!("  {:.0} MB/s", bytes as f64 / built.seconds / 1e6);
    let planted = plant(&mut text, &ring, PLANTED);
    table::print_composition(&text, &planted);

    let mut table = Table::default();
    baselines(&mut table, &text, options.runs);
    searches(&mut table, &text, &planted, &ring, options.runs);
    automata(&mut table, &text, &ring, options.runs);
    table.print(text.len());
    by_kind(&ring, &seed, bytes / 8);
}

fn baselines(table: &mut Table, text: &[u8], runs: u32) {
    table.measure(
        Row::new("sum of u64 (reading memory)"),
        text,
        runs,
        |text| {
            black_box(sum(text));
            None
        },
    );
    table.measure(Row::new("memchr of a rare byte"), text, runs, |text| {
        Some(memchr::memchr_iter(RARE_BYTE, text).count())
    });
}

/// The sum of a text's 64-bit words: as little as can be done with all of it.
fn sum(text: &[u8]) -> u64 {
    let (words, _) = text.as_chunks::<8>();
    words
        .iter()
        .fold(0, |sum, &word| sum.wrapping_add(u64::from_ne_bytes(word)))
}

fn searches(table: &mut Table, text: &[u8], planted: &[Planted], ring: &KeyRing, runs: u32) {
    // A search by key holds the key ring and nothing else: minting changes nothing in it. The two
    // rows are the same search, after so many canaries were made.
    let exact = Search::exact(ring.clone());
    for count in [1_000, 1_000_000] {
        for number in 0..count {
            black_box(minted(ring, number));
        }
        let name = format!("exact, by key; {count} canaries minted");
        table.measure(Row::new(name), text, runs, |text| {
            Some(exact.scan(text).len())
        });
    }
    let everything = Search::new(ring.clone());
    let sightings = everything.scan(text);
    let missed = planted.iter().filter(|one| !one.is_among(&sightings));
    eprintln!("planted canaries that were missed: {}", missed.count());
    table.measure(Row::new("everything, by key"), text, runs, |text| {
        Some(everything.scan(text).len())
    });
    for count in INDEXED {
        let (search, built) = Built::measure(|| search_with_index(ring, count));
        let row = Row::new(format!("everything, index of {count}")).built(built);
        table.measure(row, text, runs, |text| Some(search.scan(text).len()));
    }
}

fn automata(table: &mut Table, text: &[u8], ring: &KeyRing, runs: u32) {
    for count in PATTERNS {
        let patterns = patterns(ring, count);
        let (automaton, built) = Built::measure(|| aho_corasick::AhoCorasick::new(&patterns));
        let automaton = match automaton {
            Ok(automaton) => automaton,
            Err(error) => {
                eprintln!("aho-corasick refused {count} patterns: {error}");
                continue;
            }
        };
        let row = Row::new(format!("aho-corasick, {count} strings")).built(built);
        let row = row.peer_if(count == 100_000, table::Peer::AhoCorasick);
        table.measure(row, text, runs, |text| {
            Some(automaton.find_iter(text).count())
        });
    }
    let patterns = patterns(ring, 100_000);
    let (automaton, built) =
        Built::measure(|| daachorse::DoubleArrayAhoCorasick::<u32>::new(&patterns));
    match automaton {
        Ok(automaton) => {
            let row = Row::new("daachorse, 100000 strings").built(built);
            let row = row.peer_if(true, table::Peer::Daachorse);
            table.measure(row, text, runs, |text| {
                Some(automaton.find_iter(text).count())
            });
        }
        Err(error) => eprintln!("daachorse refused 100000 patterns: {error}"),
    }
}

fn patterns(ring: &KeyRing, count: u64) -> Vec<String> {
    (0..count)
        .map(|number| bare_code(&minted(ring, number).1))
        .collect()
}

/// What the kind of text does to the speed, once each, on shorter texts; and how many candidates of
/// 16 bytes were opened with the key, which explains most of it.
fn by_kind(ring: &KeyRing, seed: &Seed, bytes: usize) {
    let searches = [
        Search::exact(ring.clone()),
        Search::new(ring.clone()),
        search_with_index(ring, INDEXED[1]),
    ];
    println!("\nBy kind of text ({} MiB each)\n", bytes >> 20);
    println!(
        "| text | exact: GB/s | openings per KiB | everything, by key: GB/s | openings per KiB | index of {}: GB/s |",
        INDEXED[1]
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for kind in Kind::ALL {
        eprintln!("by kind: {}", kind.as_str());
        let text = kind.generate(seed, bytes);
        let [exact, everything, indexed] = searches.each_ref().map(|search| cost(search, &text));
        println!(
            "| {} | {:.2} | {:.1} | {:.3} | {:.1} | {:.3} |",
            kind.as_str(),
            exact.speed,
            exact.openings_per_kib,
            everything.speed,
            everything.openings_per_kib,
            indexed.speed,
        );
    }
}

struct Cost {
    /// In 10⁹ bytes a second.
    speed: f64,
    openings_per_kib: f64,
}

fn cost(search: &Search, text: &[u8]) -> Cost {
    let (openings, built) = Built::measure(|| {
        let mut scanner = search.scanner();
        let mut found = Vec::new();
        scanner.push(text, &mut found);
        // Before the end, which takes the scanner: what the last few bytes cost is left out.
        let openings = scanner.work().openings;
        scanner.finish(&mut found);
        openings
    });
    Cost {
        speed: text.len() as f64 / built.seconds / 1e9,
        openings_per_kib: openings as f64 * 1024.0 / text.len() as f64,
    }
}
