//! The alert rules: Prometheus takes them, their own tests hold, and they name what there is.

use prober::metrics::Metrics;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboards/prometheus")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// Runs promtool in the folder of the rules.
fn promtool(args: &[&str]) {
    let program = std::env::var_os("PROMTOOL_BIN");
    let program = program.expect("PROMTOOL_BIN is not set (run scripts/with-prometheus COMMAND)");
    let ran = Command::new(program)
        .args(args)
        .current_dir(folder())
        .output();
    let ran = ran.unwrap();
    let told = [ran.stdout, ran.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(ran.status.success(), "promtool {args:?}\n{told}");
}

/// What follows this word at the beginning of lines.
fn lines_with(text: &str, word: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim_start());
    let named = lines.filter_map(|line| line.strip_prefix(word));
    named.map(|rest| rest.trim().to_owned()).collect()
}

/// The words of a text that name our metrics or those of the process.
fn metric_names(text: &str) -> BTreeSet<&str> {
    let is_of_name =
        |character: char| character.is_ascii_alphanumeric() || "_:".contains(character);
    let words = text.split(|character| !is_of_name(character));
    let words = words.filter(|word| word.starts_with("prober_") || word.starts_with("process_"));
    words.collect()
}

#[test]
fn prometheus_takes_the_rules_and_each_fires_and_is_silent_as_its_test_says() {
    promtool(&["check", "rules", "rules.yml"]);
    promtool(&["check", "config", "prometheus.yml"]);
    promtool(&["test", "rules", "rules_test.yml"]);
}

#[test]
fn rules_and_their_tests_name_metrics_that_there_are() {
    let metrics = Metrics::new();
    let known: BTreeSet<&str> = metrics
        .described()
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    for file in ["rules.yml", "rules_test.yml"] {
        let text = read(file);
        let named = metric_names(&text);
        assert!(named.len() > 20, "{file}: {named:?}");
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

#[test]
fn every_alert_has_a_silent_and_a_firing_test_a_row_in_the_docs_and_says_what_to_do() {
    let rules = read("rules.yml");
    let alerts = lines_with(&rules, "- alert: ");
    assert!(alerts.len() > 20, "{alerts:?}");
    let tests = read("rules_test.yml");
    assert_eq!(lines_with(&tests, "- name: "), alerts);
    for test in tests.split("\n  - name: ").skip(1) {
        let (alert, test) = test.split_once('\n').unwrap();
        let of_alert = format!("ALERTS{{alertname=\"{alert}\"");
        assert!(test.contains(&of_alert), "{alert}: of another alert");
        assert!(test.contains("exp_samples: []"), "{alert}: never silent");
        assert!(test.contains("exp_samples:\n"), "{alert}: never fires");
    }
    let page = include_str!("../../../docs/metrics.md");
    let rows = page.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `Prober")?.split_once("` | ")?;
        Some((format!("Prober{name}"), rest.split_once(" |")?.0.to_owned()))
    });
    let severities = lines_with(&rules, "labels: { severity: ");
    let severities = severities
        .iter()
        .map(|one| one.trim_end_matches(" }").to_owned());
    let told: Vec<_> = alerts.iter().cloned().zip(severities).collect();
    assert_eq!(rows.collect::<Vec<_>>(), told);
    for rule in rules.split("- alert: ").skip(1) {
        let (alert, rule) = rule.split_once('\n').unwrap();
        assert!(rule.contains("summary: "), "{alert}: no summary");
        let (_, description) = rule.split_once("description: >-").unwrap();
        let pages = description
            .split([' ', '\n', ','])
            .filter(|word| word.starts_with("docs/"));
        let pages: Vec<_> = pages.collect();
        assert!(!pages.is_empty(), "{alert}: names no page");
        for page in pages {
            let path = folder().join("../..").join(page);
            assert!(path.exists(), "{alert}: {page}");
        }
    }
}
