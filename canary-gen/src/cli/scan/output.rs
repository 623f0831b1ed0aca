//! What is printed of a sighting. The canary's text is not: whoever reads the report would plant it.

use canary_gen::Sighting;
use canary_gen::scan::{Proof, Work};
use serde::Serialize;
use std::fmt;

/// One sighting.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// In NDJSON: the line, counted from 1, and the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    offset: u64,
    length: usize,
    form: &'static str,
    proof: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    damages: Option<u8>,
    weight_bits: u32,
    views: Vec<&'static str>,
    tenant: u64,
    probe: u64,
    slot: u64,
    key: String,
}

impl Line {
    pub(crate) fn new(file: Option<&str>, sighting: &Sighting) -> Self {
        Self {
            file: file.map(str::to_owned),
            line: None,
            field: None,
            offset: sighting.offset,
            length: sighting.length,
            form: sighting.form.as_str(),
            proof: sighting.proof.as_str(),
            damages: match sighting.proof {
                Proof::Repaired { damages } => Some(damages),
                Proof::Exact | Proof::Fragment { .. } => None,
            },
            weight_bits: sighting.weight_bits,
            views: sighting.views.iter().map(|view| view.as_str()).collect(),
            tenant: sighting.identity.tenant.get(),
            probe: sighting.identity.probe.get(),
            slot: sighting.identity.slot.get(),
            key: sighting.key.to_string(),
        }
    }

    /// The same sighting in a field of a line of NDJSON.
    pub(super) fn in_field(self, line: u64, field: Option<&str>) -> Self {
        Self {
            line: Some(line),
            field: field.map(str::to_owned),
            ..self
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}, ")?;
        }
        write!(
            f,
            "byte {}: {} of tenant {}, probe {}, slot {}",
            self.offset, self.form, self.tenant, self.probe, self.slot
        )?;
        match self.damages {
            Some(1) => f.write_str(", repaired (1 damage)")?,
            Some(damages) => write!(f, ", repaired ({damages} damages)")?,
            None if self.proof == "fragment" => write!(f, ", a part of {} bits", self.weight_bits)?,
            None => {}
        }
        if !self.views.is_empty() {
            write!(f, ", read through {}", self.views.join(" > "))?;
        }
        write!(f, " (key {})", self.key)
    }
}

/// What a whole run did.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    pub(super) inputs: usize,
    /// Bytes scanned, decompressed.
    pub(super) bytes: u64,
    pub(super) sightings: u64,
    pub(super) unreadable: u64,
    /// Lines that were expected to be JSON and are not; they were scanned whole.
    pub(super) lines_not_json: u64,
    /// Wanted fields that no line had.
    pub(super) fields_never_seen: Vec<String>,
    pub(super) seconds: f64,
    pub(super) openings: u64,
    /// Candidates whose damages were not, or not all, searched for (see `--effort`).
    pub(super) repairs_cut_short: u64,
}

impl Summary {
    pub(super) fn add(&mut self, work: &Work) {
        self.openings += work.openings;
        self.repairs_cut_short += work.repairs_cut_short;
    }
}

#[derive(Debug, Serialize)]
pub(super) struct LastLine<'a> {
    pub(super) summary: &'a Summary,
}
