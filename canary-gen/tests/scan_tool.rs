//! `canary-gen scan` as somebody uses it who searches a month of archived responses.
#![allow(clippy::unwrap_used)]

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn canary_gen(dir: &Path, args: &[&str]) -> Output {
    with_input(dir, args, b"")
}

fn with_input(dir: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_canary-gen"))
        .args(args)
        .current_dir(dir)
        .env("CANARY_KEYS", "keys")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that needs no input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn with_keys() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let made = canary_gen(dir.path(), &["keygen", "-o", "keys"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    dir
}

fn mint(dir: &Path, form: &str, probe: u32) -> String {
    let probe = probe.to_string();
    let args = [
        "mint", "--tenant", "7", "--slot", "3", "--form", form, "--probe", &probe,
    ];
    text(&canary_gen(dir, &args).stdout).trim().to_owned()
}

/// What `--json` prints: the sightings, and the summary.
fn json(output: &Output) -> (Vec<Value>, Value) {
    let lines = text(&output.stdout);
    let mut values: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut last = values.pop().unwrap();
    (values, last["summary"].take())
}

fn places(output: &Output) -> Vec<(String, u64)> {
    let place = |value: &Value| {
        (
            value["file"].as_str().unwrap().to_owned(),
            value["offset"].as_u64().unwrap(),
        )
    };
    json(output).0.iter().map(place).collect()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn directories_are_walked_in_order_and_archives_in_them_are_read() {
    let dir = with_keys();
    let canary = mint(dir.path(), "code", 1);
    let page = format!("noise {canary}\n");
    fs::create_dir_all(dir.path().join("logs/b")).unwrap();
    fs::write(dir.path().join("logs/c.txt"), &page).unwrap();
    fs::write(dir.path().join("logs/.hidden"), &page).unwrap();
    // Two members each, the canary torn between them.
    let (head, tail) = page.split_at(15);
    fs::write(
        dir.path().join("logs/a.gz"),
        [gzip(head), gzip(tail)].concat(),
    )
    .unwrap();
    let frame = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    fs::write(
        dir.path().join("logs/b/x.zst"),
        [frame(head), frame(tail)].concat(),
    )
    .unwrap();
    std::os::unix::fs::symlink("../logs", dir.path().join("logs/loop")).unwrap();
    for threads in ["1", "3"] {
        let scanned = canary_gen(
            dir.path(),
            &["scan", "--json", "--threads", threads, "logs"],
        );
        assert_eq!(scanned.status.code(), Some(0), "{}", text(&scanned.stderr));
        let found = places(&scanned);
        let expected = ["logs/.hidden", "logs/a.gz", "logs/b/x.zst", "logs/c.txt"]
            .map(|file| (file.to_owned(), 6));
        assert_eq!(found, expected);
        assert_eq!(json(&scanned).1["bytes"], 4 * page.len());
    }
}

#[test]
fn standard_input_is_decompressed_and_a_torn_archive_is_an_error_that_hides_nothing() {
    let dir = with_keys();
    let canary = mint(dir.path(), "uuid", 1);
    let page = format!("{canary}\n{}", "filler ".repeat(100_000));
    let whole = gzip(&page);
    let scanned = with_input(dir.path(), &["scan", "--json", "-"], &whole);
    assert_eq!(
        (scanned.status.code(), places(&scanned)),
        (Some(0), vec![("-".to_owned(), 0)])
    );
    let torn = with_input(dir.path(), &["scan", "--json"], &whole[..whole.len() - 20]);
    assert_eq!(
        (torn.status.code(), places(&torn)),
        (Some(2), vec![("-".to_owned(), 0)])
    );
    assert!(
        text(&torn.stderr).contains("read `-`"),
        "{}",
        text(&torn.stderr)
    );
}

#[test]
fn fields_of_ndjson_are_scanned_decoded_with_line_and_field() {
    let dir = with_keys();
    let canary = mint(dir.path(), "code", 1);
    let disguised = canary.replace('-', "\\u002d");
    let log = format!(
        "{{\"id\":\"{canary}\",\"choices\":[{{\"text\":\"no\"}},{{\"text\":\"ab {disguised}\"}}]}}\n\nnot json {canary}\n{{\"id\":1}}\n"
    );
    fs::write(dir.path().join("log"), log).unwrap();
    let scanned = canary_gen(
        dir.path(),
        &["scan", "--json", "--field", "choices[].text", "log"],
    );
    assert_eq!(scanned.status.code(), Some(0), "{}", text(&scanned.stderr));
    let (found, summary) = json(&scanned);
    assert_eq!(found.len(), 2);
    assert_eq!(
        (&found[0]["line"], &found[0]["field"], &found[0]["offset"]),
        (&1.into(), &"choices[].text".into(), &3.into())
    );
    assert_eq!(
        found[0]["views"],
        Value::Array(vec![]),
        "the field was decoded before"
    );
    assert_eq!(
        (&found[1]["line"], &found[1]["field"]),
        (&3.into(), &Value::Null)
    );
    assert_eq!(summary["lines_not_json"], 1);
    assert!(text(&scanned.stderr).contains("`log` line 3 is no JSON"));
    let refused = canary_gen(dir.path(), &["scan", "--field", "a..b", "log"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn fields_that_no_line_has_are_told_and_an_error_when_it_is_all_of_them() {
    let dir = with_keys();
    std::fs::write(
        dir.path().join("log"),
        "{\"text\":\"x\"}\n{\"text\":\"y\"}\n",
    )
    .expect("written");
    let wrong = canary_gen(dir.path(), &["scan", "--field", "txt", "log"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("no line has the field `txt`"));
    let half = ["scan", "--field", "txt", "--field", "text", "log"];
    let output = canary_gen(dir.path(), &half);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no line has the field `txt`"));
    let (_, summary) = json(&canary_gen(dir.path(), &[&half[..], &["--json"]].concat()));
    assert_eq!(summary["fields_never_seen"], serde_json::json!(["txt"]));
    let right = canary_gen(dir.path(), &["scan", "--field", "text", "log"]);
    assert_eq!(
        (right.status.code(), text(&right.stderr)),
        (Some(1), String::new())
    );
}

#[test]
fn the_effort_is_for_the_piece_and_not_for_every_field() {
    let dir = with_keys();
    // Looks like a canary on every line, and is none.
    let log: String = (0..400)
        .map(|line| format!("{{\"t\":\"a {line:08x}-1a2b-3c4d-5e6f-708192a3b4c5 z\"}}\n"))
        .collect();
    let scanned = with_input(
        dir.path(),
        &["scan", "--json", "--field", "t"],
        log.as_bytes(),
    );
    let summary = json(&scanned).1;
    let openings = summary["openings"].as_u64().unwrap();
    assert!((400..10_000).contains(&openings), "{summary}");
    assert!(
        summary["repairs_cut_short"].as_u64().unwrap() > 300,
        "{summary}"
    );
}

#[test]
fn lines_are_numbered_right_and_in_order_over_many_pieces() {
    let dir = with_keys();
    let canary = mint(dir.path(), "digits", 1);
    let filler = "word ".repeat(2_000);
    let mut log = String::new();
    for line in 1..=3_000 {
        let text = if line % 1_000 == 0 { &canary } else { &filler };
        log.push_str(&format!("{{\"t\":\"{text}\"}}\n"));
    }
    let scanned = with_input(
        dir.path(),
        &["scan", "--json", "--field", "t", "--threads", "3"],
        log.as_bytes(),
    );
    let lines: Vec<u64> = json(&scanned)
        .0
        .iter()
        .map(|value| value["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [1_000, 2_000, 3_000]);
}

#[test]
fn damaged_canaries_and_parts_of_planted_ones_are_found_and_told_apart() {
    let dir = with_keys();
    let (first, second) = (mint(dir.path(), "code", 1), mint(dir.path(), "code", 2));
    fs::write(
        dir.path().join("planted"),
        format!("# planted in May\n{first}\n{second}\n"),
    )
    .unwrap();
    let page = format!(
        "x {} y {} z",
        first.replacen('-', "", 1).replacen(&first[9..10], "", 1),
        &second[6..23]
    );
    let plain = with_input(dir.path(), &["scan", "--effort", "none"], page.as_bytes());
    assert_eq!(plain.status.code(), Some(1));
    let scanned = with_input(
        dir.path(),
        &["scan", "--json", "--planted", "planted"],
        page.as_bytes(),
    );
    let (found, _) = json(&scanned);
    let proofs: Vec<&str> = found
        .iter()
        .map(|value| value["proof"].as_str().unwrap())
        .collect();
    assert_eq!(
        (proofs, &found[1]["probe"]),
        (vec!["repaired", "fragment"], &2.into())
    );
    let heavy = with_input(
        dir.path(),
        &[
            "scan",
            "--json",
            "--planted",
            "planted",
            "--min-weight",
            "90",
        ],
        page.as_bytes(),
    );
    assert_eq!(json(&heavy).0.len(), 1);
    let human = with_input(
        dir.path(),
        &["scan", "--planted", "planted"],
        page.as_bytes(),
    );
    assert!(
        text(&human.stdout).contains("a part of"),
        "{}",
        text(&human.stdout)
    );
    fs::write(
        dir.path().join("planted"),
        format!("{first}\nsecret-text\n"),
    )
    .unwrap();
    let refused = with_input(dir.path(), &["scan", "--planted", "planted"], b"");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("`planted` line 2")
            && !text(&refused.stderr).contains("secret-text")
    );
}

#[test]
fn counts_names_and_silence_are_as_in_grep() {
    let dir = with_keys();
    let canary = mint(dir.path(), "code", 1);
    fs::write(
        dir.path().join("a"),
        format!("{canary} {}", mint(dir.path(), "code", 2)),
    )
    .unwrap();
    fs::write(dir.path().join("b"), "nothing").unwrap();
    let counted = canary_gen(dir.path(), &["scan", "-c", "a", "b"]);
    assert_eq!(
        (counted.status.code(), text(&counted.stdout).as_str()),
        (Some(0), "a: 2\nb: 0\n")
    );
    let named = canary_gen(dir.path(), &["scan", "-l", "a", "b"]);
    assert_eq!(text(&named.stdout), "a\n");
    let quiet = canary_gen(dir.path(), &["scan", "-q", "a", "b"]);
    assert_eq!(
        (quiet.status.code(), quiet.stdout.len(), quiet.stderr.len()),
        (Some(0), 0, 0)
    );
    assert_eq!(
        canary_gen(dir.path(), &["scan", "-q", "b"]).status.code(),
        Some(1)
    );
    assert_eq!(
        canary_gen(dir.path(), &["scan", "-q", "gone"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_scan_quietly() {
    let dir = with_keys();
    let canary = mint(dir.path(), "code", 1);
    fs::write(dir.path().join("a"), format!("{canary} \n").repeat(20_000)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_canary-gen"))
        .args(["scan", "--keys", "keys", "a", "a", "a", "a"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(text(&ended.stderr), "");
}
