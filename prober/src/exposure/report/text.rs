//! The report as text.

use super::{Lengths, Report};
use crate::round::grouped;
use std::fmt::Write as _;

/// So many senders are shown; JSON and HTML have all.
const MOST_SENDERS: usize = 40;
/// Characters of a line.
const WIDTH: usize = 110;

/// `1 request`, `2 requests`
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{} {many}", grouped(number)),
    }
}

pub(super) fn write(report: &Report) -> String {
    let mut out = Out(String::new());
    out.paragraph("", &report.sentence());
    for reason in &report.reasons {
        out.paragraph("  not certain: ", reason);
    }
    incident(report, &mut out);
    found(report, &mut out);
    senders(report, &mut out);
    out.list("What this does not say", &report.limits);
    out.list("What to do", &report.next_steps);
    read(report, &mut out);
    out.0.trim_end().to_owned()
}

struct Out(String);

impl Out {
    fn line(&mut self, text: &str) {
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.line("");
        self.line(text);
    }

    /// A text in lines of bearable length, the later ones under the beginning of the first.
    fn paragraph(&mut self, start: &str, text: &str) {
        let indent = " ".repeat(start.chars().count());
        let mut line = start.to_owned();
        let mut is_empty = true;
        for word in text.split_whitespace() {
            if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(&line);
                line.clone_from(&indent);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        self.line(&line);
    }

    fn list(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.heading(heading);
        for item in items {
            self.paragraph("  - ", item);
        }
    }
}

fn incident(report: &Report, out: &mut Out) {
    let incident = &report.incident;
    out.heading("Incident");
    out.paragraph("  ", &incident.title);
    out.paragraph("  operator: ", &incident.operator);
    let certain = if incident.period_is_certain {
        ""
    } else {
        " (not known exactly)"
    };
    out.line(&format!(
        "  period: from {} to {}{certain}",
        incident.from, incident.until
    ));
    if let Some(reported) = &incident.reported {
        out.line(&format!("  reported: {reported}"));
    }
    for (name, facts) in [
        ("known", &incident.known),
        ("not known", &incident.unknown),
        ("source", &incident.sources),
    ] {
        for fact in facts {
            out.paragraph(&format!("  {name}: "), fact);
        }
    }
}

fn found(report: &Report, out: &mut Out) {
    if report.exposed.requests > 0 {
        out.heading("Exposed requests");
        lengths(&report.exposed, report.incident.limit_tokens, out);
        for day in &report.days {
            out.line(&format!(
                "  {}  {:>14} requests  {:>18} prompt tokens",
                day.day,
                grouped(day.requests),
                grouped(day.input_tokens)
            ));
        }
    }
    if report.possible.requests > 0 {
        out.heading("Requests that may be of the incident");
        lengths(&report.possible, report.incident.limit_tokens, out);
        for doubt in &report.doubts {
            out.paragraph(&format!("  {}: ", grouped(doubt.requests)), doubt.meaning);
        }
    }
    if !report.categories.is_empty() {
        out.heading("Categories of data, by the rules");
        for category in &report.categories {
            out.line(&format!(
                "  {}: {} of {}",
                category.name,
                count(category.requests, "request", "requests"),
                count(category.senders, "sender", "senders")
            ));
        }
    }
}

/// How long requests were, as far as it is known.
pub(super) fn length_facts(lengths: &Lengths, limit: Option<u64>) -> Vec<String> {
    let mut facts = Vec::new();
    if let (Some(first), Some(last)) = (lengths.first, lengths.last) {
        facts.push(format!(
            "{} from {first} to {last}",
            count(lengths.requests, "request", "requests")
        ));
    }
    if lengths.input_tokens > 0 || lengths.longest_input_tokens.is_some() {
        facts.push(format!(
            "{} of prompts, {} of answers",
            count(lengths.input_tokens, "token", "tokens"),
            grouped(lengths.output_tokens)
        ));
    }
    if let Some(longest) = lengths.longest_input_tokens {
        facts.push(format!(
            "longest prompt: {}",
            count(longest, "token", "tokens")
        ));
        if let Some(limit) = limit {
            facts.push(format!(
                "longer than {} tokens: {}",
                grouped(limit),
                grouped(lengths.over_the_limit)
            ));
        }
    }
    if lengths.logged_as_next_to_nothing > 0 {
        facts.push(format!(
            "logged with next to no prompt: {}",
            grouped(lengths.logged_as_next_to_nothing)
        ));
    }
    if let Some(longest) = lengths.longest_input_bytes {
        facts.push(format!(
            "known in bytes only: {}, {} bytes, the longest {}",
            count(lengths.known_in_bytes_only, "request", "requests"),
            grouped(lengths.input_bytes),
            grouped(longest)
        ));
    }
    if lengths.length_not_known > 0 {
        facts.push(format!(
            "no length of their own is known: {}",
            grouped(lengths.length_not_known)
        ));
    }
    if lengths.refused > 0 {
        facts.push(format!(
            "refused (status 4xx): {}",
            grouped(lengths.refused)
        ));
    }
    facts
}

fn lengths(lengths: &Lengths, limit: Option<u64>, out: &mut Out) {
    for fact in length_facts(lengths, limit) {
        out.paragraph("  ", &fact);
    }
}

fn senders(report: &Report, out: &mut Out) {
    if report.senders.is_empty() {
        return;
    }
    out.heading("By key and application");
    for sender in report.senders.iter().take(MOST_SENDERS) {
        let mut line = format!(
            "key {}, application {}: {} exposed",
            told(sender.key.as_deref()),
            told(sender.application.as_deref()),
            count(sender.exposed.requests, "request", "requests")
        );
        if let Some(longest) = sender.exposed.longest_input_tokens {
            let _ = write!(
                line,
                ", {} prompt tokens, the longest {}",
                grouped(sender.exposed.input_tokens),
                grouped(longest)
            );
        } else if sender.exposed.input_tokens > 0 {
            let _ = write!(
                line,
                ", {} prompt tokens",
                grouped(sender.exposed.input_tokens)
            );
        }
        if sender.possible_requests > 0 {
            let _ = write!(line, ", {} possible", grouped(sender.possible_requests));
        }
        if report.has_rules {
            let _ = write!(line, "; {}", categories(&sender.categories));
        }
        out.paragraph("  ", &line);
    }
    let more = report.senders.len().saturating_sub(MOST_SENDERS);
    if more > 0 {
        out.line(&format!(
            "  … and {} (all: --format json or html)",
            count(more as u64, "more", "more")
        ));
    }
    if let Some(others) = &report.other_senders {
        out.paragraph(
            "  ",
            &format!(
                "others: {} exposed (only the first {} senders are counted apart)",
                count(others.requests, "request", "requests"),
                grouped(report.most_senders as u64)
            ),
        );
    }
}

/// A name, or that there is none.
pub(super) fn told(name: Option<&str>) -> &str {
    name.unwrap_or("(not told)")
}

/// What somebody is said to send.
pub(super) fn categories(names: &[String]) -> String {
    match names {
        [] => "no rule names what is sent".to_owned(),
        names => names.join(", "),
    }
}

fn read(report: &Report, out: &mut Out) {
    out.heading("What was read");
    for log in &report.logs {
        let kind = kind(log);
        out.paragraph(
            "  ",
            &format!(
                "{}: {kind}{}, {} bytes{}",
                log.name,
                count(log.records, "record", "records"),
                grouped(log.bytes),
                match log.unreadable {
                    0 => String::new(),
                    many => format!(", {} UNREADABLE", grouped(many)),
                }
            ),
        );
        if let Some(failure) = &log.failure {
            out.paragraph("    FAILED: ", failure);
        }
    }
    let records = &report.records;
    out.paragraph(
        "  ",
        &format!(
            "{}: {} exposed, {} possible, {} outside the period, {} of another model, {} at another provider, {} unreadable",
            count(records.all, "record", "records"),
            grouped(records.exposed),
            grouped(records.possible),
            grouped(records.outside_the_period),
            grouped(records.of_another_model),
            grouped(records.at_another_provider),
            grouped(records.unreadable)
        ),
    );
    let problems = &report.problems;
    if problems.all == 0 {
        return;
    }
    out.heading(&format!("Problems: {}", grouped(problems.all)));
    for (what, number) in &problems.by_kind {
        out.paragraph(&format!("  {}: ", grouped(*number)), what);
    }
    for place in &problems.places {
        out.line(&format!("  {}:{}: {}", place.log, place.line, place.what));
    }
    let more = problems.all.saturating_sub(problems.places.len() as u64);
    if more > 0 {
        out.line(&format!(
            "  … and {} more (all: --problems-file FILE)",
            grouped(more)
        ));
    }
}

/// `litellm, JSON lines, gzip: `
pub(super) fn kind(log: &super::LogFacts) -> String {
    let parts = [log.format.as_deref(), log.layout, log.compression];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!("{}: ", parts.join(", ")),
    }
}
