//! A round as JUnit's XML: one suite, whose cases are the same for every round, so that a pipeline can follow them.
//!
//! A case passes only where the round proves it: a round that proved nothing is an error, and what it left open is
//! skipped.

use crate::round::{FindingReport, RoundReport};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// So many findings are told in one case; a round may have thousands.
const MOST_FINDINGS: usize = 50;

/// What became of a case.
enum Outcome {
    Passed,
    /// Findings, in a line and at length.
    Failed(String, String),
    /// Nothing could be told, because.
    Error(String),
    /// Not told by this round, because.
    Skipped(&'static str),
}

/// The document of a round.
///
/// # Errors
/// Never: it is written into memory.
pub(super) fn document(report: &RoundReport) -> io::Result<String> {
    let cases = cases(report);
    let count = |wanted: fn(&Outcome) -> bool| {
        let number = cases.iter().filter(|(_, outcome)| wanted(outcome)).count();
        number.to_string()
    };
    let counts = [
        ("tests", cases.len().to_string()),
        ("failures", count(|one| matches!(one, Outcome::Failed(..)))),
        ("errors", count(|one| matches!(one, Outcome::Error(_)))),
        ("skipped", count(|one| matches!(one, Outcome::Skipped(_)))),
        ("time", seconds(report.duration_ms)),
    ];
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attributes(attributes(&counts))
        .write_inner_content(|writer| suite(writer, report, &counts, &cases))?;
    String::from_utf8(writer.into_inner()).map_err(io::Error::other)
}

fn suite(
    writer: &mut Writer<Vec<u8>>,
    report: &RoundReport,
    counts: &[(&'static str, String)],
    cases: &[(&'static str, Outcome)],
) -> io::Result<()> {
    let (scenario, endpoint) = (allowed(&report.scenario), allowed(&report.endpoint));
    let name = format!("{scenario} at {endpoint}");
    let class = format!("prober.{endpoint}.{scenario}");
    writer
        .create_element("testsuite")
        .with_attribute(("name", name.as_str()))
        .with_attributes(attributes(counts))
        .write_inner_content(|writer| {
            properties(writer, report)?;
            for (name, outcome) in cases {
                case(writer, (&class, name), outcome, report.duration_ms)?;
            }
            Ok(())
        })?;
    Ok(())
}

/// What tells one round from another.
fn properties(writer: &mut Writer<Vec<u8>>, report: &RoundReport) -> io::Result<()> {
    let number = |number: Option<f64>| number.map_or_else(String::new, |one| one.to_string());
    let all = [
        ("round", report.round.to_string()),
        ("seed", report.seed.to_string()),
        ("verdict", report.verdict.to_owned()),
        ("probes", report.probes.to_string()),
        ("leaks", report.leaks.to_string()),
        ("sensitivity", number(report.sensitivity)),
        ("leak_rate_at_most", number(report.leak_rate_at_most)),
    ];
    writer
        .create_element("properties")
        .write_inner_content(|writer| {
            for (name, value) in all.iter().filter(|(_, value)| !value.is_empty()) {
                writer
                    .create_element("property")
                    .with_attributes([("name", *name), ("value", value.as_str())])
                    .write_empty()?;
            }
            Ok(())
        })?;
    Ok(())
}

fn case(
    writer: &mut Writer<Vec<u8>>,
    (class, name): (&str, &str),
    outcome: &Outcome,
    duration_ms: u64,
) -> io::Result<()> {
    let time = seconds(duration_ms);
    let case = writer.create_element("testcase").with_attributes([
        ("classname", class),
        ("name", name),
        // All cases come of the same requests: their time is told once.
        ("time", if name == CONCLUSIVE { &time } else { "0" }),
    ]);
    let told = |element: &'static str, message: &str, text: Option<&str>| {
        (
            element,
            allowed(message).replace(['\n', '\r', '\t'], " "),
            text.map(allowed),
        )
    };
    let (element, message, text) = match outcome {
        Outcome::Passed => {
            case.write_empty()?;
            return Ok(());
        }
        Outcome::Failed(message, text) => told("failure", message, Some(text)),
        Outcome::Error(message) => told("error", message, None),
        Outcome::Skipped(message) => told("skipped", message, None),
    };
    case.write_inner_content(|writer| {
        let mut element = writer
            .create_element(element)
            .with_attribute(("message", message.as_str()));
        if !matches!(outcome, Outcome::Skipped(_)) {
            element = element.with_attribute(("type", element_type(outcome)));
        }
        match text {
            Some(text) => element.write_text_content(BytesText::new(&text))?,
            None => element.write_empty()?,
        };
        Ok(())
    })?;
    Ok(())
}

fn element_type(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Failed(..) => "finding",
        _ => "not_proven",
    }
}

/// The case that carries the round's time.
const CONCLUSIVE: &str = "the round could have found something";

fn cases(report: &RoundReport) -> [(&'static str, Outcome); 4] {
    let why = || report.reason.clone();
    let conclusive = match report.verdict {
        "inconclusive" => Outcome::Error(why().unwrap_or_else(|| "no reason is known".to_owned())),
        _ => Outcome::Passed,
    };
    let recorded = if report.recorded {
        Outcome::Passed
    } else {
        Outcome::Error("not everything of this round is in the store".to_owned())
    };
    let is_leak = |finding: &&FindingReport| finding.kind == "leak";
    let (leaks, others): (Vec<_>, Vec<_>) = report.findings.iter().partition(is_leak);
    [
        (CONCLUSIVE, conclusive),
        ("no leak", absence(report, &leaks, "leak")),
        (
            "no other finding",
            absence(report, &others, "other finding"),
        ),
        ("everything is recorded", recorded),
    ]
}

/// Whether the round proves that there are no such findings.
fn absence(report: &RoundReport, found: &[&FindingReport], what: &str) -> Outcome {
    if found.is_empty() {
        return match report.verdict {
            "clean" => Outcome::Passed,
            "inconclusive" => Outcome::Skipped("the round proved nothing"),
            // It ended by its finding; whether it could have shown another is not looked into.
            _ => Outcome::Skipped("a round with a finding does not prove that there is no other"),
        };
    }
    let many = if found.len() == 1 { "" } else { "s" };
    let message = format!("{} {what}{many} ({})", found.len(), kinds(found));
    let mut told: Vec<String> = (found.iter().take(MOST_FINDINGS))
        .map(|finding| super::sentences(finding))
        .collect();
    if let more @ 1.. = found.len().saturating_sub(MOST_FINDINGS) {
        told.push(format!("and {more} more"));
    }
    Outcome::Failed(message, told.join("\n"))
}

fn kinds(found: &[&FindingReport]) -> String {
    let mut kinds: Vec<&str> = found.iter().map(|finding| finding.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.join(", ")
}

fn attributes<'a>(pairs: &'a [(&'static str, String)]) -> impl Iterator<Item = (&'a str, &'a str)> {
    pairs.iter().map(|(name, value)| (*name, value.as_str()))
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

/// The text with what XML 1.0 cannot hold replaced (section 2.2, `Char`).
fn allowed(text: &str) -> String {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    let replaced = text
        .chars()
        .map(|c| if is_allowed(c) { c } else { '\u{FFFD}' });
    replaced.collect()
}
