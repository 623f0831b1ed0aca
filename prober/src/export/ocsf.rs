//! A finding as an event of the Open Cybersecurity Schema Framework, class Detection Finding (2004).

use super::{explained, moment, numbers};
use crate::incident::State;
use crate::store::ExportedFinding;
use serde_json::{Value, json};
use time::OffsetDateTime;

/// The version of the schema.
const VERSION: &str = "1.8.0";
const CATEGORY: u32 = 2;
const CLASS: u32 = 2004;
/// A finding is told once, when it is recorded: "Create".
const CREATE: u32 = 1;

/// The event of a finding.
pub(super) fn event(finding: &ExportedFinding, link: Option<String>) -> Value {
    let (severity_id, severity) = severity(finding);
    let (status_id, status) = status(finding.incident.as_ref().map(|incident| incident.state));
    let is_confirmed = finding.certainty == "confirmed";
    let time = milliseconds(finding.found_at);
    let kind = explained(finding);
    let mut event = json!({
        "category_uid": CATEGORY, "category_name": "Findings",
        "class_uid": CLASS, "class_name": "Detection Finding",
        "activity_id": CREATE, "activity_name": "Create",
        "type_uid": CLASS * 100 + CREATE, "type_name": "Detection Finding: Create",
        "severity_id": severity_id, "severity": severity,
        "status_id": status_id, "status": status,
        "confidence_id": if is_confirmed { 3 } else { 1 },
        "confidence": if is_confirmed { "High" } else { "Low" },
        "is_alert": !finding.is_drill,
        "time": time,
        "message": message(finding),
        "metadata": {
            "version": VERSION,
            "uid": finding.id.to_string(),
            "product": {
                "name": "prober", "vendor_name": "prober", "version": env!("CARGO_PKG_VERSION"),
            },
            "labels": if finding.is_drill { vec!["drill"] } else { vec![] },
        },
        "finding_info": {
            "uid": finding.id.to_string(),
            "title": kind.map_or(finding.kind.as_str(), |kind| kind.title),
            "types": [finding.kind],
            "created_time": time,
            "analytic": {
                "name": finding.scenario, "uid": format!("{}/{}", finding.kind, finding.scenario),
                // "Fingerprinting": a finding is told by what was planted.
                "type_id": 5, "type": "Fingerprinting",
            },
        },
        "resources": [{
            "name": finding.endpoint, "type": "inference endpoint", "role_id": 3, "role": "Affected",
        }],
    });
    if let Some(kind) = kind {
        event["finding_info"]["desc"] = kind.meaning.into();
        event["remediation"] = json!({ "desc": kind.advice });
    }
    if let Some(incident) = &finding.incident {
        // What groups events of one incident.
        event["metadata"]["correlation_uid"] = incident.id.to_string().into();
        event["finding_info"]["uid_alt"] = incident.signature.clone().into();
    }
    if let Some(link) = link {
        event["finding_info"]["src_url"] = link.into();
    }
    event
}

/// Of a drill informational, whatever it rehearses; of a leak critical.
fn severity(finding: &ExportedFinding) -> (u32, &'static str) {
    if finding.is_drill {
        return (1, "Informational");
    }
    match (finding.kind.as_str(), finding.certainty.as_str()) {
        ("leak", "confirmed") => (5, "Critical"),
        ("leak", _) | ("shared_response" | "shared_prefix_cache", "confirmed") => (4, "High"),
        (_, "confirmed") => (3, "Medium"),
        _ => (2, "Low"),
    }
}

/// That of its incident.
fn status(state: Option<State>) -> (u32, &'static str) {
    match state {
        Some(State::Open) => (1, "New"),
        Some(State::Acknowledged) => (2, "In Progress"),
        Some(State::Resolved) => (4, "Resolved"),
        None => (0, "Unknown"),
    }
}

fn message(finding: &ExportedFinding) -> String {
    let mut message = format!(
        "{}{} ({}) at {} by {}: round {}, probe {} of tenant {}",
        if finding.is_drill { "DRILL: " } else { "" },
        finding.kind,
        finding.certainty,
        finding.endpoint,
        finding.scenario,
        finding.round,
        finding.probe,
        finding.tenant
    );
    if let Some(incident) = &finding.incident {
        message.push_str(&format!(", incident {}", incident.id));
    }
    if let Some(donor) = &finding.donor {
        let tenant = donor.tenant.as_deref().unwrap_or("unknown");
        message.push_str(&format!(
            "; canaries of {} (tenant {tenant}), planted by probe {}",
            donor.relation.replace('_', " "),
            donor.probe
        ));
        if let Some(at) = donor.planted_at {
            message.push_str(&format!(" at {}", moment(at)));
        }
        if let Some((first, last)) = donor.tokens {
            message.push_str(&format!(", about tokens {first} to {last}"));
        }
    }
    for (name, value) in numbers(finding) {
        message.push_str(&format!("; {name} {value}"));
    }
    message
}

fn milliseconds(at: OffsetDateTime) -> i64 {
    // From the year -9999 to 9999: far within the range.
    (at.unix_timestamp_nanos() / 1_000_000) as i64
}
