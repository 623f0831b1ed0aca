//! The fuzz targets' checks over the seed corpus, and over whatever they once found.
#![allow(clippy::unwrap_used)]

mod fuzz_checks;

use canary_gen::Form;
use canary_gen::scan::View;
use fuzz_checks as checks;
use std::fs;
use std::path::Path;

/// Runs a check over every file of a target, and returns how many there were.
fn over(target: &str, check: impl Fn(&[u8])) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut count = 0;
    for kind in ["seeds", "regressions"] {
        let Ok(files) = fs::read_dir(root.join(kind).join(target)) else {
            continue;
        };
        for file in files {
            check(&fs::read(file.unwrap().path()).unwrap());
            count += 1;
        }
    }
    count
}

#[test]
fn every_target_holds_over_its_corpus() {
    assert!(over("key_file", checks::key_file) >= 4);
    for form in Form::ALL {
        let target = format!("form_{form}");
        assert!(
            over(&target, |bytes| checks::form(form, bytes)) >= 5,
            "{target}"
        );
    }
    for view in View::ALL {
        let target = format!("view_{}", view.as_str());
        assert!(
            over(&target, |bytes| checks::view(view, bytes)) >= 2,
            "{target}"
        );
    }
    assert!(over("scanner", checks::scanner) >= 10);
    assert!(over("scanner_planted", checks::scanner_planted) >= 10);
}
