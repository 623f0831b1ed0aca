//! How fast documents are woven and canaries minted, on one core: `cargo bench -p canary-gen --bench weave`.
//!
//! Every weaving figure stands beside `copied`, the same text copied chunk by chunk into new strings:
//! what no weaver can beat, measured in the same minute on the same machine.

#![allow(clippy::unwrap_used)]

use canary_gen::{
    Canary, Document, DocumentSpec, Form, Identity, KeyRing, Layout, ProbeNumber, Question, Seed,
    Slot, TenantNumber, TokenMeasure,
};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

const TOKENS: u64 = 1_000_000;
/// Canaries sealed, opened or minted in one iteration.
const CANARIES: u64 = 1_024;

fn main() {
    divan::main();
}

fn ring() -> KeyRing {
    KeyRing::from_root(&[8; 32])
}

fn document(layout: Layout) -> Document {
    let spec = DocumentSpec {
        seed: Seed::from_number(11),
        tenant: TenantNumber::new(5).unwrap(),
        probe: ProbeNumber::new(900).unwrap(),
        form: Form::Code,
        layout,
        tokens: TOKENS,
        head: None,
        question: Question::One,
        closing: 0,
        measure: TokenMeasure::assumed(Form::Code),
    };
    Document::new(spec, ring())
}

fn identity(slot: u64) -> Identity {
    Identity {
        tenant: TenantNumber::new(5).unwrap(),
        probe: ProbeNumber::new(900).unwrap(),
        slot: Slot::new(slot).unwrap(),
    }
}

/// A document of a million tokens, its chunks dropped as they come.
mod weave {
    use super::*;

    fn woven(bencher: Bencher, layout: Layout) {
        let document = document(layout);
        bencher
            .counter(BytesCount::new(document.measure().bytes))
            .bench(|| document.weave().for_each(|chunk| drop(black_box(chunk))));
    }

    /// The target: 1 GB/s.
    #[divan::bench]
    fn sparse_1024(bencher: Bencher) {
        woven(
            bencher,
            Layout::Sparse {
                stride_tokens: 1_024,
            },
        );
    }

    /// Mostly minting: a canary every 64 tokens.
    #[divan::bench]
    fn dense(bencher: Bencher) {
        woven(bencher, Layout::Dense);
    }

    /// The peer: `sparse_1024`, copied.
    #[divan::bench]
    fn copied(bencher: Bencher) {
        let layout = Layout::Sparse {
            stride_tokens: 1_024,
        };
        let chunks: Vec<String> = document(layout).weave().collect();
        let bytes: usize = chunks.iter().map(String::len).sum();
        bencher.counter(BytesCount::new(bytes)).bench(|| {
            for chunk in &chunks {
                let mut copy = String::with_capacity(chunk.len());
                copy.push_str(black_box(chunk));
                drop(black_box(copy));
            }
        });
    }
}

/// Canaries without text.
mod canaries {
    use super::*;

    /// The target: a million canaries a second.
    #[divan::bench]
    fn seal(bencher: Bencher) {
        let ring = ring();
        bencher.counter(ItemsCount::new(CANARIES)).bench(|| {
            for slot in 0..CANARIES {
                black_box(ring.minting().seal(black_box(identity(slot)), 0));
            }
        });
    }

    #[divan::bench]
    fn open(bencher: Bencher) {
        let ring = ring();
        let sealed: Vec<Canary> = (0..CANARIES)
            .map(|slot| ring.minting().seal(identity(slot), 0))
            .collect();
        bencher.counter(ItemsCount::new(CANARIES)).bench(|| {
            for canary in &sealed {
                black_box(ring.open(black_box(canary)));
            }
        });
    }

    /// With the tweak: up to sixteen seals for one canary.
    #[divan::bench(args = Form::ALL)]
    fn mint(bencher: Bencher, form: Form) {
        let ring = ring();
        bencher.counter(ItemsCount::new(CANARIES)).bench(|| {
            for slot in 0..CANARIES {
                black_box(ring.minting().mint(black_box(identity(slot)), form));
            }
        });
    }
}
