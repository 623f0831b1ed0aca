//! What other systems are told of findings.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::ids::{IncidentId, RoundId};
use crate::incident::State;
use crate::store::{ExportedDonor, ExportedIncident};
use csv_core::{ReadRecordResult, Reader};
use proptest::prelude::*;
use serde_json::json;
use time::macros::datetime;

/// The class as OCSF publishes it; where it is from stands in it.
const SCHEMA: &str = include_str!("../../tests/data/ocsf/detection_finding-1.8.0.schema.json");
const SITE: &str = "https://prober.example.org";

fn leak() -> ExportedFinding {
    ExportedFinding {
        id: 7,
        found_at: datetime!(2026-12-01 10:00:00.5 UTC),
        round: RoundId(5),
        scenario: "overflow".to_owned(),
        endpoint: "glm".to_owned(),
        kind: "leak".to_owned(),
        certainty: "confirmed".to_owned(),
        probe: 17,
        tenant: "acme".to_owned(),
        is_drill: false,
        evidence: true,
        incident: Some(ExportedIncident {
            id: IncidentId(3),
            signature: "other_tenant/over_limit/text".to_owned(),
            state: State::Open,
        }),
        donor: Some(ExportedDonor {
            relation: "other_tenant".to_owned(),
            tenant: Some("globex".to_owned()),
            endpoint: Some("glm".to_owned()),
            probe: 11,
            planted_at: Some(datetime!(2026-12-01 09:59 UTC)),
            slots: vec![3, 4],
            tokens: Some((128, 256)),
        }),
        detail: json!({ "key": "0011223344556677", "donor_tenant_number": 2, "map": [] }),
    }
}

/// Of every kind, certainty and state, in a drill and not; with and without what may be missing.
fn many() -> Vec<ExportedFinding> {
    let mut many = Vec::new();
    let kinds = KINDS.map(|kind| kind.name);
    for kind in kinds.into_iter().chain(["of_tomorrow"]) {
        for certainty in ["confirmed", "suspected"] {
            for (is_drill, state) in [
                (false, State::Open),
                (true, State::Acknowledged),
                (false, State::Resolved),
            ] {
                let mut finding = ExportedFinding {
                    kind: kind.to_owned(),
                    certainty: certainty.to_owned(),
                    is_drill,
                    ..leak()
                };
                finding.incident.as_mut().unwrap().state = state;
                many.push(finding.clone());
                finding.incident = None;
                finding.donor = None;
                finding.detail = json!({ "limit_tokens": 1_000, "prompt_tokens": 1_200 });
                many.push(finding);
            }
        }
    }
    many
}

fn object(format: Format, finding: &ExportedFinding) -> Value {
    let writer = Writer {
        format,
        site: Some(SITE),
    };
    serde_json::from_str(&writer.record(finding)).unwrap()
}

#[test]
fn events_keep_to_the_published_class() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for finding in many() {
        let event = object(Format::Ocsf, &finding);
        let errors: Vec<String> = (schema.iter_errors(&event))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{event}: {errors:#?}");
    }
}

#[test]
fn an_event_says_what_its_finding_is() {
    let event = object(Format::Ocsf, &leak());
    for (pointer, expected) in [
        ("/class_uid", json!(2004)),
        ("/type_uid", json!(200_401)),
        ("/severity", json!("Critical")),
        ("/status", json!("New")),
        ("/time", json!(1_796_119_200_500_i64)),
        ("/finding_info/uid", json!("7")),
        (
            "/finding_info/src_url",
            json!(format!("{SITE}/incidents/3")),
        ),
        ("/metadata/correlation_uid", json!("3")),
        ("/resources/0/name", json!("glm")),
        ("/is_alert", json!(true)),
    ] {
        assert_eq!(event.pointer(pointer), Some(&expected), "{pointer}");
    }
    let drill = ExportedFinding {
        is_drill: true,
        ..leak()
    };
    let event = object(Format::Ocsf, &drill);
    assert_eq!(event["severity"], "Informational");
    assert_eq!(event["is_alert"], false);
    assert!(event["message"].as_str().unwrap().starts_with("DRILL: "));
}

#[test]
fn only_known_numbers_leave() {
    let finding = ExportedFinding {
        detail: json!({
            "limit_tokens": 1_000, "beside": true, "chance": "a text", "answer": "a secret", "key": "a secret",
        }),
        ..leak()
    };
    let told = object(Format::Json, &finding);
    assert_eq!(
        told["numbers"],
        json!({ "limit_tokens": 1_000, "beside": true })
    );
    for format in [Format::Ocsf, Format::Json, Format::Csv] {
        let writer = Writer { format, site: None };
        assert!(!writer.record(&finding).contains("a secret"));
    }
}

/// The fields of a single record.
fn fields(record: &str) -> Vec<String> {
    let (mut reader, mut bytes, mut ends) = (Reader::new(), vec![0; record.len() + 1], [0; 64]);
    let record = format!("{record}\r\n");
    let (result, _, _, count) = reader.read_record(record.as_bytes(), &mut bytes, &mut ends);
    assert_eq!(result, ReadRecordResult::Record);
    let starts = [0].into_iter().chain(ends);
    let field = |(start, end): (usize, &usize)| String::from_utf8(bytes[start..*end].to_vec());
    let fields = starts.zip(&ends[..count]).map(field);
    fields.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_row_has_a_field_for_each_column() {
    let writer = Writer {
        format: Format::Csv,
        site: Some(SITE),
    };
    let columns = fields(&writer.header().unwrap());
    for finding in many() {
        assert_eq!(fields(&writer.record(&finding)).len(), columns.len());
    }
    let row = fields(&writer.record(&leak()));
    let of = |name: &str| &row[columns.iter().position(|column| column == name).unwrap()];
    assert_eq!((&**of("finding"), &**of("tenant")), ("7", "acme"));
    assert_eq!((&**of("donor_slots"), &**of("incident")), ("3 4", "3"));
}

proptest! {
    #[test]
    fn a_field_is_read_as_it_was_and_never_as_a_formula(text in any::<String>()) {
        for text in [text.clone(), format!("={text}"), format!("\"{text},\n")] {
            let read = fields(&format!("x,{}", csv::escaped(&text))).remove(1);
            let guarded = format!("'{text}");
            prop_assert!(read == text || read == guarded);
            prop_assert!(!read.starts_with(['=', '+', '-', '@', '\t', '\r']));
        }
    }
}
