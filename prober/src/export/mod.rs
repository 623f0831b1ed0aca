//! Findings as records for other systems (docs/export.md). Pure: a record in, a line out; one format a file.
//!
//! Thin on purpose: names, numbers, places. No response text, no canary, no credential is in them.

mod csv;
mod json;
mod ocsf;
#[cfg(test)]
mod tests;

use crate::judge::{KINDS, Kind};
use crate::store::ExportedFinding;
use serde_json::{Map, Value};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// An event of the Open Cybersecurity Schema Framework a line, class Detection Finding.
    Ocsf,
    /// A JSON object in the words of this program a line.
    Json,
    /// A row of comma-separated values a line, after a header (RFC 4180).
    Csv,
}

/// Writes findings.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// In which format.
    pub format: Format,
    /// Where people find the status page, without a slash at the end.
    pub site: Option<&'a str>,
}

impl Writer<'_> {
    /// What comes before all records.
    #[must_use]
    pub fn header(&self) -> Option<String> {
        (self.format == Format::Csv).then(csv::header)
    }

    /// A finding, without a line's end.
    #[must_use]
    pub fn record(&self, finding: &ExportedFinding) -> String {
        let link = self.link(finding);
        match self.format {
            Format::Ocsf => ocsf::event(finding, link).to_string(),
            Format::Json => json::object(finding, link).to_string(),
            Format::Csv => csv::row(finding, link),
        }
    }

    fn link(&self, finding: &ExportedFinding) -> Option<String> {
        let incident = finding.incident.as_ref()?;
        Some(format!("{}/incidents/{}", self.site?, incident.id))
    }
}

/// The numbers behind a finding that may leave: known ones only, and of those what is a number or a yes or no.
fn numbers(finding: &ExportedFinding) -> Map<String, Value> {
    const KNOWN: [&str; 13] = [
        "limit_tokens",
        "prompt_tokens",
        "reported_tokens",
        "cached_tokens",
        "usual_tokens",
        "readers",
        "hits",
        "chance",
        "first_probe",
        "beside",
        "differing",
        "differing_alone",
        "sets",
    ];
    let known = KNOWN.iter().filter_map(|name| {
        let value = finding.detail.get(name)?;
        let is_plain = value.is_number() || value.is_boolean();
        is_plain.then(|| ((*name).to_owned(), value.clone()))
    });
    known.collect()
}

/// What its kind means; none for a kind that only a newer version knows.
fn explained(finding: &ExportedFinding) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == finding.kind)
}

/// The moment in UTC, to the microsecond that the store keeps.
fn moment(at: OffsetDateTime) -> String {
    at.to_offset(UtcOffset::UTC)
        .format(&Rfc3339)
        .unwrap_or_else(|_| at.to_string())
}
