//! A finding as a row of comma-separated values (RFC 4180).

use super::{moment, numbers};
use crate::store::ExportedFinding;

/// The columns, in their order. New ones come at the end.
const COLUMNS: [&str; 22] = [
    "finding",
    "found_at",
    "kind",
    "certainty",
    "drill",
    "endpoint",
    "scenario",
    "round",
    "probe",
    "tenant",
    "evidence",
    "incident",
    "signature",
    "state",
    "link",
    "donor_relation",
    "donor_tenant",
    "donor_endpoint",
    "donor_probe",
    "donor_slots",
    "donor_tokens",
    "numbers",
];

/// The names of the columns.
pub(super) fn header() -> String {
    COLUMNS.join(",")
}

/// The row of a finding.
pub(super) fn row(finding: &ExportedFinding, link: Option<String>) -> String {
    let incident = finding.incident.as_ref();
    let donor = finding.donor.as_ref();
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let slots = |slots: &[i32]| {
        let slots: Vec<String> = slots.iter().map(ToString::to_string).collect();
        slots.join(" ")
    };
    let tokens = donor.and_then(|donor| donor.tokens);
    let numbers: Vec<String> = (numbers(finding).iter())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let fields: [String; COLUMNS.len()] = [
        finding.id.to_string(),
        moment(finding.found_at),
        finding.kind.clone(),
        finding.certainty.clone(),
        finding.is_drill.to_string(),
        finding.endpoint.clone(),
        finding.scenario.clone(),
        finding.round.to_string(),
        finding.probe.to_string(),
        finding.tenant.clone(),
        finding.evidence.to_string(),
        incident.map_or_else(String::new, |incident| incident.id.to_string()),
        incident.map_or_else(String::new, |incident| incident.signature.clone()),
        incident.map_or_else(String::new, |incident| incident.state.as_str().to_owned()),
        link.unwrap_or_default(),
        donor.map_or_else(String::new, |donor| donor.relation.clone()),
        text(donor.and_then(|donor| donor.tenant.as_ref())),
        text(donor.and_then(|donor| donor.endpoint.as_ref())),
        donor.map_or_else(String::new, |donor| donor.probe.to_string()),
        donor.map_or_else(String::new, |donor| slots(&donor.slots)),
        tokens.map_or_else(String::new, |(first, last)| format!("{first} {last}")),
        numbers.join(" "),
    ];
    fields.map(|field| escaped(&field)).join(",")
}

/// A field as it is written. One that a spreadsheet would take for a formula gets an apostrophe before it (OWASP,
/// "CSV Injection").
pub(super) fn escaped(field: &str) -> String {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let guard = if is_formula { "'" } else { "" };
    let is_plain = !field.contains(['"', ',', '\r', '\n']);
    if is_plain {
        return format!("{guard}{field}");
    }
    format!("\"{guard}{}\"", field.replace('"', "\"\""))
}
