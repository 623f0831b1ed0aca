//! The checks over recorded responses, and over whatever the fuzz targets once found.
#![allow(clippy::unwrap_used)]

use super::super::outcome::Outcome;
use super::*;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of recorded responses, and those of what `target` once found.
fn files(target: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = ["samples", "answers", "transcripts"]
        .map(|name| root.join("data").join(name))
        .to_vec();
    // Nothing was found by most targets yet.
    folders.push(root.join("fuzz_regressions").join(target));
    let files = folders
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    files.flatten().map(|file| file.unwrap().path()).collect()
}

/// Runs a check over every file of a target, and returns what it told of each.
fn over<T>(target: &str, check: impl Fn(&[u8]) -> T) -> Vec<T> {
    let told = files(target)
        .into_iter()
        .map(|path| check(&fs::read(path).unwrap()));
    told.collect()
}

/// The bodies of recorded errors.
fn error_bodies() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/outcomes");
    let files = fs::read_dir(folder).unwrap();
    let rows = files.flat_map(|file| {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        serde_json::from_slice::<Vec<Value>>(&bytes).unwrap()
    });
    let bodies = rows.filter_map(|row| Some(row["body"].as_str()?.to_owned()));
    bodies.collect()
}

#[test]
fn event_streams_are_read_by_the_rules() {
    let events: usize = over("event_stream", event_stream).into_iter().sum();
    assert!(events > 300, "{events}");
}

#[test]
fn documents_are_cut_out_as_a_strict_parser_finds_them() {
    let mut found = over("documents", documents);
    found.extend(error_bodies().iter().map(|body| documents(body.as_bytes())));
    assert!(found.iter().sum::<usize>() > 100);
}

#[test]
fn nothing_of_a_json_document_is_lost() {
    for api in Api::ALL {
        let mut read = over("json", |bytes| json(&api, bytes));
        read.extend(
            error_bodies()
                .iter()
                .map(|body| json(&api, body.as_bytes())),
        );
        let documents = read.iter().filter(|&&was_json| was_json).count();
        assert!(documents > 50, "{documents}");
    }
}

#[test]
fn responses_hold_in_every_shape_and_some_are_answers() {
    for first in 0..Api::ALL.len() as u8 {
        let mut answered = 0;
        for second in [0x00, 0x11, 0x26, 0x3b] {
            let shape = Shape::from_bytes([first, second]);
            let outcomes = over("response", |bytes| response(&shape, bytes));
            let is_answer = |outcome: &&Outcome| **outcome == Outcome::Answered;
            answered += outcomes.iter().filter(is_answer).count();
        }
        assert!(answered > 0, "no answer is one of API {first}");
    }
}

#[test]
fn refusals_hold_and_some_say_that_the_prompt_is_too_long() {
    let told = error_bodies();
    let told = told
        .iter()
        .map(|body| refusal(format!("1.5\n\n{body}").as_bytes()));
    let too_long = told.filter(|&is_too_long| is_too_long).count();
    assert!(too_long > 20, "{too_long}");
    over("refusal", refusal);
}

#[test]
fn answers_of_tokenize_hold() {
    let told: Vec<bool> = [
        r#"{"tokens":[{"id":1,"piece":" a"},{"id":2,"piece":[32,195]}]}"#,
        r#"{"tokens":[1,2],"token_strs":["a","Ġb"]}"#,
        r#"{"tokens":[[1],[2,3]]}"#,
        r#"{"tokens":[1,2]}"#,
    ]
    .map(|answer| tokenize_answer(answer.as_bytes()))
    .to_vec();
    assert_eq!(told, [true, true, true, false]);
    over("tokenize_answer", tokenize_answer);
}
