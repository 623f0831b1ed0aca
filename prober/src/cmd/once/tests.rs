//! What tools that gather results are told of a round.
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;
use roxmltree::Document;
use serde_json::Value;
use time::macros::datetime;

/// The schema of SARIF 2.1.0 with errata 01, by OASIS: repository `oasis-tcs/sarif-spec`,
/// `sarif-2.1/schema/sarif-schema-2.1.0.json`, unchanged.
const SCHEMA: &str = include_str!("../../../tests/data/sarif/sarif-schema-2.1.0.json");

fn finding(kind: &'static str, certainty: &'static str) -> FindingReport {
    FindingReport {
        kind,
        signature: "more".to_owned(),
        certainty,
        probe: 17,
        tenant: "acme & <co>".to_owned(),
        prompt_tokens: 1_200,
        found_at: datetime!(2026-12-01 10:00 UTC),
        evidence: false,
        incident: Some(3),
        donor: None,
        limit_tokens: Some(1_000),
        reported_tokens: None,
        prefix: None,
        first_probe: None,
        divergence: None,
    }
}

fn report(verdict: &'static str, findings: Vec<FindingReport>) -> RoundReport {
    RoundReport {
        round: 5,
        endpoint: "glm".to_owned(),
        scenario: "overflow".to_owned(),
        seed: 1,
        replay_of: None,
        verdict,
        reason: (verdict == "inconclusive").then(|| "no_recall; timed_out".to_owned()),
        probes: 10,
        leaks: u32::from(verdict == "leak"),
        clean: 9,
        rejected: 0,
        cancelled: 0,
        inconclusive: 0,
        sensitivity: Some(0.9),
        sensitivity_by_depth: vec![(9, 10); 10],
        leak_rate_at_most: Some(0.3),
        history: None,
        context_tokens: 1_000,
        measured_limit_tokens: None,
        lengths_by: "usage",
        length_error: None,
        prompt_tokens: 9_000,
        completion_tokens: 90,
        duration_ms: 12_034,
        recorded: true,
        findings,
    }
}

/// A round of each verdict, with its exit code.
fn rounds() -> [(RoundReport, u8); 5] {
    let violation = || finding("limit_violation", "confirmed");
    let doubt = || finding("divergence", "suspected");
    let unrecorded = RoundReport {
        recorded: false,
        ..report("clean", vec![])
    };
    [
        (report("clean", vec![]), exit::CLEAN),
        (
            report("leak", vec![finding("leak", "confirmed"), violation()]),
            exit::FINDING,
        ),
        (report("finding", vec![violation(), doubt()]), exit::FINDING),
        (report("inconclusive", vec![]), exit::INCONCLUSIVE),
        (unrecorded, exit::ERROR),
    ]
}

#[test]
fn sarif_keeps_to_the_published_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for (report, code) in rounds() {
        let log = sarif::log(&report, code).unwrap();
        let errors: Vec<String> = (schema.iter_errors(&log))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", report.verdict);
    }
}

#[test]
fn sarif_has_a_result_per_finding_that_names_its_rule_and_its_incident() {
    for (report, code) in rounds() {
        let log = sarif::log(&report, code).unwrap();
        let run = &log["runs"][0];
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), report.findings.len());
        for (result, finding) in results.iter().zip(&report.findings) {
            let rule = result["ruleIndex"].as_u64().unwrap() as usize;
            let rule = &run["tool"]["driver"]["rules"][rule];
            assert_eq!(
                (&rule["id"], &result["ruleId"]),
                (&finding.kind.into(), &finding.kind.into())
            );
            let level = match finding.certainty {
                "confirmed" => "error",
                _ => "warning",
            };
            assert_eq!(result["level"], level);
            assert_eq!(
                result["partialFingerprints"]["incident/v1"],
                format!("glm:{}:more", finding.kind)
            );
            assert_eq!(result["properties"]["probe"], 17);
            assert_eq!(result["properties"]["round"], 5);
        }
    }
}

#[test]
fn sarif_of_a_round_that_proved_nothing_does_not_pass_for_a_clean_one() {
    let invocation = |report: &RoundReport, code| {
        sarif::log(report, code).unwrap()["runs"][0]["invocations"][0].clone()
    };
    for (report, code) in rounds() {
        let told = invocation(&report, code);
        assert_eq!(told["exitCode"], code);
        assert_eq!(told["executionSuccessful"], code < exit::ERROR);
        let notifications = told["toolExecutionNotifications"].as_array().unwrap();
        assert_eq!(notifications.is_empty(), code < exit::ERROR, "{told}");
    }
    let told = invocation(&report("inconclusive", vec![]), exit::INCONCLUSIVE);
    let notification = &told["toolExecutionNotifications"][0];
    assert_eq!(notification["level"], "warning");
    let text = notification["message"]["text"].as_str().unwrap();
    assert!(text.contains("no_recall; timed_out"), "{text}");
}

/// The cases of a document by name, each with what became of it, after its counts were checked.
fn cases(xml: &str) -> Vec<(String, String)> {
    let document = Document::parse(xml).unwrap();
    let suite = document.root_element().first_element_child().unwrap();
    assert_eq!(suite.tag_name().name(), "testsuite");
    let cases: Vec<_> = suite
        .children()
        .filter(|node| node.has_tag_name("testcase"))
        .map(|case| {
            let outcome = case.first_element_child();
            let outcome = outcome.map_or("passed", |node| node.tag_name().name());
            (
                case.attribute("name").unwrap().to_owned(),
                outcome.to_owned(),
            )
        })
        .collect();
    let counted = |wanted: &str| cases.iter().filter(|(_, one)| one == wanted).count();
    for node in [document.root_element(), suite] {
        for (attribute, count) in [
            ("tests", cases.len()),
            ("failures", counted("failure")),
            ("errors", counted("error")),
            ("skipped", counted("skipped")),
        ] {
            assert_eq!(
                node.attribute(attribute),
                Some(&*count.to_string()),
                "{xml}"
            );
        }
    }
    cases
}

#[test]
fn junit_has_the_same_cases_for_every_round_and_passes_only_what_is_proven() {
    let expected = [
        ["passed", "passed", "passed", "passed"],
        ["passed", "failure", "failure", "passed"],
        ["passed", "skipped", "failure", "passed"],
        ["error", "skipped", "skipped", "passed"],
        ["passed", "passed", "passed", "error"],
    ];
    for ((report, _), expected) in rounds().iter().zip(expected) {
        let cases = cases(&junit::document(report).unwrap());
        let names: Vec<&str> = cases.iter().map(|(name, _)| &**name).collect();
        assert_eq!(
            names,
            [
                "the round could have found something",
                "no leak",
                "no other finding",
                "everything is recorded"
            ]
        );
        let outcomes: Vec<&str> = cases.iter().map(|(_, outcome)| &**outcome).collect();
        assert_eq!(outcomes, expected, "{}", report.verdict);
    }
}

#[test]
fn junit_stays_small_however_much_was_found() {
    let many = vec![finding("limit_violation", "confirmed"); 10_000];
    let xml = junit::document(&report("finding", many)).unwrap();
    assert!(xml.len() < 20_000, "{}", xml.len());
    assert!(xml.contains("10000 other findings (limit_violation)"));
    assert!(xml.contains("and 9950 more"));
}

proptest! {
    #[test]
    fn junit_is_well_formed_whatever_names_and_reasons_hold(name in any::<String>(), reason in any::<String>()) {
        let finding = FindingReport { tenant: name.clone(), ..finding("limit_violation", "confirmed") };
        let report = RoundReport {
            endpoint: name.clone(),
            scenario: name,
            reason: Some(reason),
            ..report("inconclusive", vec![finding])
        };
        cases(&junit::document(&report).unwrap());
    }
}
