//! The report: what was found, what it does not say, and what to do. The same facts as text, JSON and HTML.

mod advice;
mod html;
mod text;

use super::assess::Doubt;
use super::incident::Incident;
use super::moment::Moment;
use super::read::Outcome;
use super::rules::Rules;
use super::tally::{MOST_SENDERS, Sent, Sums};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Requests were.
    Exposed,
    /// None is known to have been, but that is not certain.
    Inconclusive,
    /// None of these logs was.
    NotExposed,
}

/// A report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What it comes to.
    pub conclusion: Conclusion,
    /// Why it is not certain, if it is not.
    reasons: Vec<String>,
    made_at: Stamp,
    incident: IncidentFacts,
    logs: Vec<LogFacts>,
    records: Records,
    /// When the records are from, of the incident or not.
    covers: Option<(Stamp, Stamp)>,
    exposed: Lengths,
    possible: Lengths,
    doubts: Vec<DoubtFacts>,
    days: Vec<Day>,
    senders: Vec<SenderFacts>,
    /// Requests of senders that were too many to be counted apart, and the bound.
    other_senders: Option<Lengths>,
    most_senders: usize,
    has_rules: bool,
    categories: Vec<CategoryFacts>,
    problems: Problems,
    limits: Vec<String>,
    next_steps: Vec<String>,
}

#[derive(Debug, Serialize)]
struct IncidentFacts {
    title: String,
    operator: String,
    reported: Option<String>,
    from: Stamp,
    until: Stamp,
    period_is_certain: bool,
    period_note: Option<String>,
    models: Vec<String>,
    limit_tokens: Option<u64>,
    known: Vec<String>,
    unknown: Vec<String>,
    sources: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LogFacts {
    name: String,
    format: Option<String>,
    layout: Option<&'static str>,
    compression: Option<&'static str>,
    bytes: u64,
    records: u64,
    unreadable: u64,
    failure: Option<String>,
}

/// Records by what they came to; the sum of all is the number of records.
#[derive(Debug, Serialize)]
struct Records {
    all: u64,
    exposed: u64,
    possible: u64,
    outside_the_period: u64,
    of_another_model: u64,
    at_another_provider: u64,
    unreadable: u64,
}

/// How many requests, and how long.
#[derive(Debug, Serialize)]
struct Lengths {
    requests: u64,
    refused: u64,
    input_tokens: u64,
    output_tokens: u64,
    longest_input_tokens: Option<u64>,
    over_the_limit: u64,
    logged_as_next_to_nothing: u64,
    known_in_bytes_only: u64,
    input_bytes: u64,
    longest_input_bytes: Option<u64>,
    length_not_known: u64,
    first: Option<Stamp>,
    last: Option<Stamp>,
}

impl From<&Sums> for Lengths {
    fn from(sums: &Sums) -> Self {
        Self {
            requests: sums.requests,
            refused: sums.refused,
            input_tokens: sums.input_tokens,
            output_tokens: sums.output_tokens,
            longest_input_tokens: (sums.measured > 0).then_some(sums.longest_tokens),
            over_the_limit: sums.over_limit,
            logged_as_next_to_nothing: sums.next_to_nothing,
            known_in_bytes_only: sums.in_bytes,
            input_bytes: sums.input_bytes,
            longest_input_bytes: (sums.in_bytes > 0).then_some(sums.longest_bytes),
            length_not_known: sums.unmeasured,
            first: sums.first.map(Stamp::from),
            last: sums.last.map(Stamp::from),
        }
    }
}

#[derive(Debug, Serialize)]
struct DoubtFacts {
    kind: &'static str,
    meaning: &'static str,
    requests: u64,
}

#[derive(Debug, Serialize)]
struct Day {
    day: String,
    requests: u64,
    input_tokens: u64,
}

#[derive(Debug, Serialize)]
struct SenderFacts {
    key: Option<String>,
    application: Option<String>,
    /// None if no rule names them.
    categories: Vec<String>,
    exposed: Lengths,
    possible_requests: u64,
}

#[derive(Debug, Serialize)]
struct CategoryFacts {
    name: String,
    requests: u64,
    senders: u64,
    advice: String,
}

#[derive(Debug, Serialize)]
struct Problems {
    all: u64,
    by_kind: Vec<(String, u64)>,
    /// The first of them.
    places: Vec<Place>,
}

#[derive(Debug, Serialize)]
struct Place {
    log: String,
    line: u64,
    what: String,
}

/// A moment as a report has it: RFC 3339, UTC, whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp(Moment);

impl From<Moment> for Stamp {
    fn from(at: Moment) -> Self {
        Self(at)
    }
}

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = self
            .0
            .to_offset()
            .map(|at| at.replace_nanosecond(0).unwrap_or(at));
        let text = at.and_then(|at| at.format(&Rfc3339).ok());
        f.write_str(text.as_deref().unwrap_or("after the year 9999"))
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Report {
    /// Puts together what reading came to.
    pub(super) fn new(
        incident: &Incident,
        outcome: &Outcome,
        rules: &Rules,
        now: OffsetDateTime,
    ) -> Self {
        let tally = &outcome.tally;
        let senders = tally.senders();
        let reasons = advice::reasons(incident, outcome);
        let conclusion = match (tally.all.exposed.requests, reasons.is_empty()) {
            (0, true) => Conclusion::NotExposed,
            (0, false) => Conclusion::Inconclusive,
            _ => Conclusion::Exposed,
        };
        let touched = senders
            .iter()
            .filter(|(_, sent)| sent.exposed.requests > 0 || sent.possible.requests > 0);
        let senders: Vec<SenderFacts> = touched
            .map(|(sender, sent)| SenderFacts {
                key: sender.key.clone(),
                application: sender.application.clone(),
                categories: rules.of(sender).into_iter().map(str::to_owned).collect(),
                exposed: Lengths::from(&sent.exposed),
                possible_requests: sent.possible.requests,
            })
            .collect();
        let categories = categories(&senders, rules);
        let next_steps =
            advice::next_steps(incident, outcome, &categories, &senders, !rules.is_empty());
        Self {
            conclusion,
            reasons,
            made_at: Stamp(Moment::from(now)),
            incident: facts_of(incident),
            logs: outcome.logs.iter().map(LogFacts::from).collect(),
            records: Records {
                all: tally.records(),
                exposed: tally.exposed_records,
                possible: tally.possible_records,
                outside_the_period: tally.clear.other_time,
                of_another_model: tally.clear.other_model,
                at_another_provider: tally.clear.other_provider,
                unreadable: tally.unreadable,
            },
            covers: tally
                .covers
                .map(|span| (Stamp(span.from), Stamp(span.until))),
            exposed: Lengths::from(&tally.all.exposed),
            possible: Lengths::from(&tally.all.possible),
            doubts: doubts(&tally.doubts),
            days: days(&tally.days),
            other_senders: (tally.others != Sent::default())
                .then(|| Lengths::from(&tally.others.exposed)),
            most_senders: MOST_SENDERS,
            senders,
            has_rules: !rules.is_empty(),
            categories,
            problems: problems(outcome),
            limits: advice::limits(incident, outcome, !rules.is_empty()),
            next_steps,
        }
    }

    /// Sentences and tables for people.
    #[must_use]
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// A page that needs nothing else, to be read and printed.
    #[must_use]
    pub fn html(&self) -> String {
        html::write(self)
    }

    /// The conclusion in one sentence.
    fn sentence(&self) -> String {
        use crate::round::grouped;
        match self.conclusion {
            Conclusion::Exposed => {
                let certain = if self.incident.period_is_certain {
                    "were"
                } else {
                    "may have been"
                };
                format!(
                    "EXPOSED: {} of these logs {certain} exposed: this model, at this provider, in this period.",
                    text::count(self.exposed.requests, "request", "requests"),
                )
            }
            Conclusion::Inconclusive => format!(
                "INCONCLUSIVE: no request of these logs is known to have been exposed, but it cannot be ruled out ({} records read).",
                grouped(self.records.all)
            ),
            Conclusion::NotExposed => format!(
                "NOT EXPOSED: none of the {} records of these logs is of this model, at this provider, in this period.",
                grouped(self.records.all)
            ),
        }
    }
}

impl From<&super::read::Facts> for LogFacts {
    fn from(facts: &super::read::Facts) -> Self {
        Self {
            name: facts.name.clone(),
            format: facts.mapping.clone(),
            layout: facts.layout,
            compression: facts.compression,
            bytes: facts.bytes,
            records: facts.records,
            unreadable: facts.unreadable,
            failure: facts.failure.clone(),
        }
    }
}

fn facts_of(incident: &Incident) -> IncidentFacts {
    let period = &incident.period;
    IncidentFacts {
        title: incident.title.clone(),
        operator: incident.operator.clone(),
        reported: incident.reported.clone(),
        from: Stamp(period.from),
        until: Stamp(period.until),
        period_is_certain: period.certain,
        period_note: period.note.clone(),
        models: incident
            .models
            .iter()
            .map(|one| one.as_str().to_owned())
            .collect(),
        limit_tokens: incident.limit_tokens,
        known: incident.known.clone(),
        unknown: incident.unknown.clone(),
        sources: incident.sources.clone(),
    }
}

fn doubts(doubts: &BTreeMap<Doubt, u64>) -> Vec<DoubtFacts> {
    let facts = doubts.iter().map(|(doubt, requests)| DoubtFacts {
        kind: doubt.as_str(),
        meaning: doubt.sentence(),
        requests: *requests,
    });
    facts.collect()
}

fn days(days: &BTreeMap<i64, (u64, u64)>) -> Vec<Day> {
    let day = |(day, (requests, tokens)): (&i64, &(u64, u64))| Day {
        day: Stamp(Moment::of_day(*day))
            .to_string()
            .chars()
            .take(10)
            .collect(),
        requests: *requests,
        input_tokens: *tokens,
    };
    days.iter().map(day).collect()
}

/// Exposed requests by the categories of their senders. One may be in several.
fn categories(senders: &[SenderFacts], rules: &Rules) -> Vec<CategoryFacts> {
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for sender in senders.iter().filter(|sender| sender.exposed.requests > 0) {
        for name in &sender.categories {
            let (requests, many) = sums.entry(name).or_default();
            *requests = requests.saturating_add(sender.exposed.requests);
            *many += 1;
        }
    }
    let facts = sums
        .into_iter()
        .map(|(name, (requests, senders))| CategoryFacts {
            name: name.to_owned(),
            requests,
            senders,
            advice: rules.advice(name).to_owned(),
        });
    facts.collect()
}

fn problems(outcome: &Outcome) -> Problems {
    let name = |log: usize| {
        outcome
            .logs
            .get(log)
            .map_or(String::new(), |facts| facts.name.clone())
    };
    let places = outcome.problems.iter().map(|problem| Place {
        log: name(problem.log),
        line: problem.line,
        what: problem.what.to_string(),
    });
    Problems {
        all: outcome.by_kind.values().sum(),
        by_kind: outcome
            .by_kind
            .iter()
            .map(|(what, count)| (what.to_string(), *count))
            .collect(),
        places: places.collect(),
    }
}
