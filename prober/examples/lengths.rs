//! Measures how well lengths are reached, with the tokenizers of real models:
//!
//! ```text
//! cargo run --release -p prober --example lengths -- tokenizer.json…
//! ```
//!
//! For each file and wanted length: the error of an estimate from three small documents (`usage`), and
//! that of counting word by word (`file`), both against the tokenizer run over the whole text.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use canary_gen::document::Summary;
use canary_gen::{
    Document, DocumentSpec, Form, KeyRing, Layout, ProbeNumber, Question, Seed, TenantNumber,
    TokenMeasure,
};
use prober::length::{Calibration, Costs, Counter, FileTokenizer, sample, steer};
use prober::scenario::{Load, Need, Order, PlannedProbe, Recipe, calibration, schedule};
use std::path::Path;
use tokenizers::Tokenizer;

/// What the chat template adds, in tokens.
const TEMPLATE: u64 = 17;

#[tokio::main]
async fn main() {
    println!(
        "| tokenizer | layout | wanted | usage: tokens sent before | usage: off by | file: off by |"
    );
    println!("|---|---|---:|---:|---:|---:|");
    for path in std::env::args().skip(1) {
        let path = Path::new(&path);
        let file = FileTokenizer::load(path).unwrap();
        let truth = Tokenizer::from_file(path).unwrap();
        for sparse in [true, false] {
            for wanted in [1_000, 10_000, 100_000, 1_000_000] {
                let name = path.components().rev().nth(2).unwrap();
                let name = Path::new(&name).display();
                let layout = if sparse { "sparse" } else { "dense" };
                let (sent, estimated) = by_usage(&truth, sparse, wanted);
                let counted = by_counting(&file, &truth, sparse, wanted).await;
                let percent = 100.0 * (estimated as f64 / wanted as f64 - 1.0);
                println!(
                    "| {name} | {layout} | {wanted} | {sent} | {percent:+.3} % | {} |",
                    counted as i64 - wanted as i64
                );
            }
        }
    }
}

fn spec(probe: &PlannedProbe, measure: TokenMeasure) -> DocumentSpec {
    DocumentSpec {
        seed: probe.seed,
        tenant: TenantNumber::new(1).unwrap(),
        probe: ProbeNumber::new(77).unwrap(),
        form: probe.form,
        layout: probe.layout,
        tokens: probe.tokens,
        head: None,
        question: Question::One,
        closing: 0,
        measure,
    }
}

fn ring() -> KeyRing {
    KeyRing::from_root(&[3; 32])
}

/// The document's measures and its length as an endpoint would report it.
fn report(spec: DocumentSpec, truth: &Tokenizer) -> (Summary, u64) {
    let document = Document::new(spec, ring());
    let text: String = document.weave().collect();
    let tokens = truth.encode_fast(text, false).unwrap().len() as u64;
    (document.measure(), tokens + TEMPLATE)
}

fn order(sparse: bool, wanted: u64) -> Order {
    Order {
        recipe: if sparse {
            Recipe::Crosstalk(Load {
                tokens: wanted,
                requests: 1,
                waves: 1,
                stride_tokens: 1_024,
            })
        } else {
            Recipe::Overflow {
                ladder: vec![1.0],
                donor_fraction: 1.0,
            }
        },
        seed: Seed::from_number(wanted),
        tenants: 2,
        context_tokens: wanted,
        measured_limit: None,
        page_tokens: 64,
        form: Form::Code,
        max_answer_tokens: 64,
    }
}

fn the_probe(order: &Order, wanted: u64) -> PlannedProbe {
    let mut probe = schedule(order).steps[0][0];
    probe.tokens = wanted;
    probe
}

fn by_usage(truth: &Tokenizer, sparse: bool, wanted: u64) -> (u64, u64) {
    let order = order(sparse, wanted);
    let probe = the_probe(&order, wanted);
    let main = schedule(&order);
    let need = |_, layout: Layout| {
        if layout.as_str() == probe.layout.as_str() {
            Need::Measure
        } else {
            Need::Nothing
        }
    };
    let mut learnt = Calibration::new(Form::Code);
    let mut sent = 0;
    for small in calibration(&order, &main, need).steps.iter().flatten() {
        let (summary, tokens) = report(spec(small, learnt.measure()), truth);
        learnt.observe(&summary, tokens);
        sent += tokens;
    }
    let (_, tokens) = report(spec(&probe, learnt.measure()), truth);
    (sent, tokens)
}

async fn by_counting(file: &FileTokenizer, truth: &Tokenizer, sparse: bool, wanted: u64) -> u64 {
    let counter = Counter::File(file.clone());
    let probe = the_probe(&order(sparse, wanted), wanted);
    let mut learnt = Calibration::new(Form::Code);
    let sampled = sample(&counter, Costs::default(), probe.form, probe.layout).await;
    for (document, tokens) in &sampled.unwrap().documents {
        learnt.observe(document, *tokens);
    }
    let spec = spec(&probe, learnt.measure());
    let steered = steer(
        &counter,
        Costs::default(),
        &ring(),
        spec,
        Some(TEMPLATE as i64),
    )
    .await;
    report(steered.unwrap().spec, truth).1
}
