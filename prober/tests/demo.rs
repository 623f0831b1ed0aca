//! The demo as a stranger runs it: at the incident's full size, on the embedded Postgres.
#![cfg(feature = "embedded-postgres")]
#![allow(clippy::unwrap_used)]

mod support;

use support::prober;

#[test]
fn the_demo_proves_the_leak_keeps_the_control_clean_and_leaves_no_folder_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let output = prober(&["demo"])
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert!(
        report.contains("RESULT: the leak was proven, and the control stayed clean."),
        "{report}"
    );
    for part in [
        "LEAK, confirmed",
        "planted by probe",
        "of the donor's context",
        "sensitivity",
        "first proof of a leak",
    ] {
        assert!(report.contains(part), "{part} is missing in:\n{report}");
    }
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}
