//! A finding in the words of this program.

use super::{moment, numbers};
use crate::store::ExportedFinding;
use serde_json::{Value, json};

/// Counts changes that a reader must know of; new members alone are none.
const VERSION: u32 = 1;

/// The object of a finding.
pub(super) fn object(finding: &ExportedFinding, link: Option<String>) -> Value {
    let incident = finding.incident.as_ref().map(|incident| {
        json!({
            "number": incident.id.get(), "signature": incident.signature, "state": incident.state.as_str(),
            "link": link,
        })
    });
    let donor = finding.donor.as_ref().map(|donor| {
        json!({
            "relation": donor.relation, "tenant": donor.tenant, "endpoint": donor.endpoint, "probe": donor.probe,
            "planted_at": donor.planted_at.map(moment), "slots": donor.slots, "tokens": donor.tokens,
        })
    });
    json!({
        "version": VERSION, "finding": finding.id, "found_at": moment(finding.found_at),
        "kind": finding.kind, "certainty": finding.certainty, "drill": finding.is_drill,
        "endpoint": finding.endpoint, "scenario": finding.scenario, "round": finding.round.get(),
        "probe": finding.probe, "tenant": finding.tenant, "evidence": finding.evidence,
        "incident": incident, "donor": donor, "numbers": numbers(finding),
    })
}
