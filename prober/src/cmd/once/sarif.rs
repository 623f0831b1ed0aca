//! A round as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"): one run, a rule per kind of finding, a
//! result per finding.

use crate::cmd::exit;
use crate::judge::KINDS;
use crate::round::{FindingReport, RoundReport};
use serde_json::{Value, json};

/// The schema it keeps to.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log of a round that ends with this exit code.
///
/// # Errors
/// When a number cannot be written as JSON.
pub(super) fn log(report: &RoundReport, code: u8) -> serde_json::Result<Value> {
    let RoundReport {
        endpoint,
        scenario,
        round,
        ..
    } = report;
    let results: Vec<Value> = (report.findings.iter())
        .map(|finding| result(report, finding))
        .collect::<Result<_, _>>()?;
    let mut numbers = serde_json::to_value(report)?;
    if let Some(numbers) = numbers.as_object_mut() {
        // They are the results.
        numbers.remove("findings");
    }
    Ok(json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "prober",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules(),
            } },
            "automationDetails": { "id": format!("prober/{scenario}/{endpoint}/{round}") },
            "invocations": [invocation(report, code)],
            "results": results,
            "properties": numbers,
        }],
    }))
}

fn rules() -> Vec<Value> {
    let rule = |kind: &crate::judge::Kind| {
        json!({
            "id": kind.name,
            "shortDescription": { "text": kind.title },
            "fullDescription": { "text": kind.meaning },
            "help": { "text": kind.advice },
            "defaultConfiguration": { "level": "error" },
            "properties": { "tags": ["security", "tenant-isolation"] },
        })
    };
    KINDS.iter().map(rule).collect()
}

/// How it ended. A round that proved nothing has no results, and must not pass for a clean one.
fn invocation(report: &RoundReport, code: u8) -> Value {
    let mut notifications = Vec::new();
    let mut notify = |id: &str, level: &str, text: String| {
        notifications.push(json!({
            "descriptor": { "id": id }, "level": level, "message": { "text": text },
        }));
    };
    if report.verdict == "inconclusive" {
        let why = report.reason.as_deref().unwrap_or("no reason is known");
        notify(
            "inconclusive",
            "warning",
            format!("Nothing was proven: {why}"),
        );
    } else if let Some(why) = &report.reason {
        notify("cut_short", "warning", why.clone());
    }
    if !report.recorded {
        let text = "Not everything of this round is in the store.";
        notify("not_recorded", "error", text.to_owned());
    }
    json!({
        "executionSuccessful": matches!(code, exit::CLEAN | exit::FINDING),
        "exitCode": code,
        "exitCodeDescription": match code {
            exit::CLEAN => "clean",
            exit::FINDING => "a finding",
            exit::INCONCLUSIVE => "inconclusive",
            _ => "an error",
        },
        "toolExecutionNotifications": notifications,
    })
}

fn result(report: &RoundReport, finding: &FindingReport) -> serde_json::Result<Value> {
    let (endpoint, scenario, kind) = (&report.endpoint, &report.scenario, finding.kind);
    let mut properties = serde_json::to_value(finding)?;
    properties["round"] = report.round.into();
    properties["seed"] = report.seed.into();
    let place = |name: &str, kind: &str| json!({ "name": name, "kind": kind });
    Ok(json!({
        "ruleId": kind,
        "ruleIndex": KINDS.iter().position(|known| known.name == kind),
        "level": if finding.certainty == "confirmed" { "error" } else { "warning" },
        "message": { "text": super::sentences(finding) },
        "locations": [{ "logicalLocations": [place(endpoint, "endpoint"), place(scenario, "scenario")] }],
        "partialFingerprints": { "incident/v1": format!("{endpoint}:{kind}:{}", finding.signature) },
        "properties": properties,
    }))
}
