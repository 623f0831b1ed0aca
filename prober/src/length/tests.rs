//! Against a small tokenizer file of our own (`tests/data/tokenizer.json`: byte-level BPE with 1,600
//! entries, trained on our filler and docs), in which many words are several tokens.

#![allow(clippy::unwrap_used)]

use super::*;
use canary_gen::document::SMALLEST_STRIDE;
use canary_gen::{
    Document, DocumentSpec, Form, KeyRing, Layout, ProbeNumber, Question, Seed, TenantNumber,
    TokenMeasure,
};
use std::path::{Path, PathBuf};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tokenizer.json")
}

fn ring() -> KeyRing {
    KeyRing::from_root(&[4; 32])
}

fn spec(form: Form, layout: Layout, tokens: u64, seed: u64) -> DocumentSpec {
    DocumentSpec {
        seed: Seed::from_number(seed),
        tenant: TenantNumber::new(3).unwrap(),
        probe: ProbeNumber::new(12).unwrap(),
        form,
        layout,
        tokens,
        head: None,
        question: Question::One,
        closing: 0,
        measure: TokenMeasure::assumed(form),
    }
}

/// With the measure that a sample tells.
async fn measured(counter: &Counter, spec: DocumentSpec) -> DocumentSpec {
    let sample = sample(counter, Costs::default(), spec.form, spec.layout).await;
    let mut calibration = Calibration::new(spec.form);
    for (document, tokens) in &sample.unwrap().documents {
        calibration.observe(document, *tokens);
    }
    DocumentSpec {
        measure: calibration.measure(),
        ..spec
    }
}

/// What the tokenizer says to the whole text.
fn tokens_of_whole(spec: DocumentSpec) -> u64 {
    let text: String = Document::new(spec, ring()).weave().collect();
    let tokenizer = tokenizers::Tokenizer::from_file(path()).unwrap();
    tokenizer.encode_fast(text, false).unwrap().len() as u64
}

#[tokio::test]
async fn a_document_gets_exactly_the_wanted_length_template_included() {
    let counter = Counter::File(FileTokenizer::load(&path()).unwrap());
    let sparse = |stride_tokens| Layout::Sparse { stride_tokens };
    for (form, layout, tokens) in [
        (Form::Code, sparse(1_024), 1_000),
        (Form::Code, sparse(SMALLEST_STRIDE), 1_001),
        (Form::Uuid, sparse(512), 4_096),
        (Form::Words, sparse(300), 3_333),
        (Form::Code, Layout::Dense, 8_192),
        (Form::Code, sparse(1_024), 50_000),
    ] {
        let wanted = measured(&counter, spec(form, layout, tokens, tokens)).await;
        let steered = steer(&counter, Costs::default(), &ring(), wanted, Some(17)).await;
        let steered = steered.unwrap();
        assert_eq!(steered.tokens, tokens - 17, "{form} {layout:?}");
        assert_eq!(
            tokens_of_whole(steered.spec),
            tokens - 17,
            "{form} {layout:?}"
        );
    }
}

#[tokio::test]
async fn a_wrong_measure_of_canaries_does_not_keep_dense_documents_from_their_length() {
    let counter = Counter::File(FileTokenizer::load(&path()).unwrap());
    let mut base = measured(&counter, spec(Form::Code, Layout::Dense, 8_192, 1)).await;
    base.measure.per_canary *= 0.95;
    for seed in 0..40 {
        let tokens = 5_000 + seed * 17;
        let wanted = DocumentSpec {
            measure: base.measure,
            ..spec(Form::Code, Layout::Dense, tokens, seed)
        };
        let steered = steer(&counter, Costs::default(), &ring(), wanted, Some(17)).await;
        let off = steered.unwrap().tokens.abs_diff(tokens - 17);
        assert!(off <= 1, "seed {seed}: {off} tokens off");
    }
}

#[tokio::test]
async fn a_length_that_no_document_has_is_missed_by_as_little_as_can_be_and_told() {
    let counter = Counter::File(FileTokenizer::load(&path()).unwrap());
    let wanted = spec(Form::Code, Layout::Dense, 10, 1);
    let steered = steer(&counter, Costs::default(), &ring(), wanted, Some(0)).await;
    let steered = steered.unwrap();
    assert!(
        steered.tokens > 10,
        "the opening and the question are longer"
    );
    assert_eq!(steered.tokens, tokens_of_whole(steered.spec));
}

#[tokio::test]
async fn what_was_learnt_is_not_asked_for_again_and_words_with_digits_are_not_kept() {
    let counter = Counter::File(FileTokenizer::load(&path()).unwrap());
    let sparse = Layout::Sparse {
        stride_tokens: 1_024,
    };
    let mut costs = Costs::default();
    for seed in 0..3 {
        let wanted = spec(Form::Code, sparse, 20_000, seed);
        let steered = steer(&counter, costs.clone(), &ring(), wanted, Some(17)).await;
        costs = costs.with(&steered.unwrap().known);
    }
    let shown = format!("{costs:?}");
    assert!(shown.contains("\"the\""));
    let key_like = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit()) && word.len() > 20;
    assert!(!shown.split('"').any(key_like), "a canary was kept");
    let wanted = spec(Form::Code, sparse, 20_000, 9);
    let Count::Unknown { others, .. } =
        words::count(&Document::new(wanted, ring()), &Known::new(costs))
    else {
        panic!("its canaries are new");
    };
    let without_digit = others
        .iter()
        .filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit()));
    assert!(without_digit.count() < 40, "the filler is known by now");
}

#[test]
fn what_is_no_tokenizer_is_an_error_that_says_so() {
    let error = FileTokenizer::load(Path::new("/nowhere/tokenizer.json")).unwrap_err();
    assert!(!error.to_string().is_empty());
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert!(FileTokenizer::load(&other).is_err());
}

#[tokio::test]
async fn a_file_without_tokens_for_our_words_is_an_error_and_not_a_count() {
    let words_alone = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
        "decoder": null, "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}}"#;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokenizer.json");
    std::fs::write(&path, words_alone).unwrap();
    let counter = Counter::File(FileTokenizer::load(&path).unwrap());
    let count =
        |words: &[&str]| counter.count(words.iter().map(|word| (*word).to_owned()).collect());
    assert_eq!(count(&["a", "a"]).await.unwrap(), [1, 1]);
    for words in [["a", "b"], ["b", "a"]] {
        assert!(matches!(count(&words).await, Err(CountError::File)));
    }
}
