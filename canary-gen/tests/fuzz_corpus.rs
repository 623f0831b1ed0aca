//! The fuzz targets' checks over the seed corpus, and over whatever they once found.
#![allow(clippy::unwrap_used)]

mod fuzz_checks;

use canary_gen::Form;
use canary_gen::scan::{Proof, View};
use fuzz_checks as checks;
use std::fs;
use std::path::Path;

/// Runs a check over every file of a target, and returns what it told of each.
fn over<T>(target: &str, check: impl Fn(&[u8]) -> T) -> Vec<T> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut told = Vec::new();
    for folder in ["fuzz/seeds", "tests/fuzz_regressions"] {
        // Nothing was found by most targets yet.
        let Ok(files) = fs::read_dir(root.join(folder).join(target)) else {
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            // Shown when the check fails.
            told.push(check(&fs::read(path).unwrap()));
        }
    }
    told
}

#[test]
fn key_files_hold_and_some_seeds_are_key_rings() {
    let rings = over("key_file", checks::key_file);
    assert!(rings.contains(&true) && rings.contains(&false));
}

#[test]
fn forms_hold_and_some_seeds_of_each_are_writings() {
    for form in Form::ALL {
        let told = over(&format!("form_{form}"), |bytes| checks::form(form, bytes));
        let writings = told.iter().filter(|&&is_writing| is_writing).count();
        assert!(writings >= 2 && writings < told.len(), "{form}: {told:?}");
    }
}

#[test]
fn views_hold_and_each_reads_some_seeds() {
    for view in View::ALL {
        let target = format!("view_{}", view.as_str());
        let read = over(&target, |bytes| checks::view(view, bytes));
        assert!(read.iter().any(|&bytes| bytes > 0), "{target}");
    }
}

#[test]
fn scans_hold_and_the_seeds_have_every_form_every_proof_and_some_views() {
    let found = over("scanner", checks::scanner).concat();
    for form in Form::ALL {
        assert!(found.iter().any(|sighting| sighting.form == form), "{form}");
    }
    for proof in ["exact", "repaired", "fragment"] {
        let of_its_kind = |proof_found: Proof| proof_found.as_str() == proof;
        assert!(
            found.iter().any(|sighting| of_its_kind(sighting.proof)),
            "{proof}"
        );
    }
    for depth in 0..=2 {
        assert!(
            found.iter().any(|sighting| sighting.views.depth() == depth),
            "{depth} views"
        );
    }
}

#[test]
fn planted_canaries_are_found_among_the_seeds() {
    assert!(over("scanner_planted", checks::scanner_planted).len() >= 10);
}
