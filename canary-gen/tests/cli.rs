//! The `canary-gen` command as a person or a script uses it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn canary_gen(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_canary-gen"))
        .args(args)
        .current_dir(dir)
        .env_remove("CANARY_KEYS")
        .output()
        .unwrap()
}

fn with_input(dir: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_canary-gen"))
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
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

const PLANTER: [&str; 6] = ["--keys", "keys", "--tenant", "7", "--probe", "42"];

#[test]
fn a_minted_canary_is_inspected_and_scanned_back_to_its_planter() {
    let dir = with_keys();
    for form in ["code", "uuid", "digits", "words", "names"] {
        let minted = canary_gen(
            dir.path(),
            &[&["mint", "--slot", "3", "--form", form], &PLANTER[..]].concat(),
        );
        assert!(minted.status.success(), "{}", text(&minted.stderr));
        let canary = text(&minted.stdout).trim().to_owned();

        let inspected = canary_gen(
            dir.path(),
            &["inspect", "--keys", "keys", "--json", &canary],
        );
        let found: serde_json::Value = serde_json::from_slice(&inspected.stdout).unwrap();
        assert_eq!(
            (&found["tenant"], &found["probe"], &found["slot"]),
            (&7.into(), &42.into(), &3.into())
        );

        let log = format!("noise {canary} noise");
        let scanned = with_input(
            dir.path(),
            &["scan", "--keys", "keys", "--json"],
            log.as_bytes(),
        );
        assert_eq!(scanned.status.code(), Some(0));
        let first = text(&scanned.stdout).lines().next().unwrap().to_owned();
        let found: serde_json::Value = serde_json::from_str(&first).unwrap();
        assert_eq!(
            (&found["file"], &found["offset"], &found["form"]),
            (&"-".into(), &6.into(), &form.into())
        );
        assert!(
            !text(&scanned.stdout).contains(&canary),
            "a report must not plant the canary again"
        );
    }
}

#[test]
fn a_woven_document_is_reproducible_and_scan_finds_all_of_it() {
    let dir = with_keys();
    let args = [
        &[
            "weave", "--tokens", "4000", "--stride", "500", "--seed", "9",
        ],
        &PLANTER[..],
    ]
    .concat();
    let document = canary_gen(dir.path(), &args).stdout;
    assert_eq!(document, canary_gen(dir.path(), &args).stdout);
    fs::write(dir.path().join("a.txt"), &document).unwrap();
    fs::write(dir.path().join("b.txt"), "nothing here").unwrap();
    let scanned = canary_gen(
        dir.path(),
        &["scan", "--keys", "keys", "--json", "a.txt", "b.txt"],
    );
    assert_eq!(scanned.status.code(), Some(0));
    let slots: Vec<u64> = text(&scanned.stdout)
        .lines()
        .filter(|line| !line.starts_with("{\"summary\""))
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["slot"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(slots, [0, 1, 2, 3, 4, 5, 6, 7]);
    let clean = canary_gen(dir.path(), &["scan", "--keys", "keys", "b.txt"]);
    assert_eq!((clean.status.code(), clean.stdout.len()), (Some(1), 0));
}

#[test]
fn a_missing_file_is_an_error_but_hides_nothing_in_the_others() {
    let dir = with_keys();
    let canary = canary_gen(
        dir.path(),
        &[&["mint", "--slot", "3"], &PLANTER[..]].concat(),
    )
    .stdout;
    fs::write(dir.path().join("a.txt"), canary).unwrap();
    let scanned = canary_gen(dir.path(), &["scan", "--keys", "keys", "gone.txt", "a.txt"]);
    assert_eq!(scanned.status.code(), Some(2));
    assert!(text(&scanned.stdout).contains("a.txt: byte 0: code of tenant 7, probe 42, slot 3"));
    assert!(text(&scanned.stderr).contains("gone.txt"));
}

#[test]
fn a_key_ring_is_not_overwritten_and_an_open_one_is_refused_with_its_remedy() {
    let dir = with_keys();
    let again = canary_gen(dir.path(), &["keygen", "-o", "keys"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("never overwritten"));
    fs::set_permissions(dir.path().join("keys"), fs::Permissions::from_mode(0o644)).unwrap();
    let refused = canary_gen(dir.path(), &["scan", "--keys", "keys"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("chmod 600 keys"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    let dir = with_keys();
    let refused = canary_gen(
        dir.path(),
        &[
            "mint", "--keys", "keys", "--tenant", "4096", "--probe", "1", "--slot", "1",
        ],
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("from 0 to 4095"));
}
