//! Which requests of a customer an incident touched: usage logs held against the facts of an incident
//! (docs/exposure.md). Reads lengths, times and ids; sends nothing; copies no content.
//!
//! ```text
//! log ──read──▶ blocks of lines ──log──▶ rows ──assess──▶ answers ──tally──▶ outcome ──report──▶ text, JSON, HTML
//!       ▲ detect (which mapping)   ▲ json, csv, access_log, documents   ▲ incident           ▲ rules
//! ```
//!
//! Every record comes to exactly one of: exposed, possible, clear (by time, model or provider), unreadable. What is
//! wrong with a line is told with its place and its reason, never with what stands there.

mod access_log;
mod assess;
mod csv;
mod detect;
mod documents;
mod incident;
mod json;
mod log;
mod mapping;
mod moment;
mod pattern;
mod problem;
mod read;
mod report;
mod row;
mod rules;
mod secret;
mod settings;
mod tally;

pub use detect::Choice;
pub use incident::Incident;
pub use mapping::Mapping;
pub use problem::What;
pub use read::{Input, Watcher};
pub use report::{Conclusion, Report};
pub use rules::Rules;
pub use settings::SettingsError;

use assess::Question;
use std::io;
use std::num::NonZero;
use time::OffsetDateTime;

/// What is to be found out.
#[derive(Debug)]
pub struct Inquiry {
    /// The incident.
    pub incident: Incident,
    /// The logs.
    pub logs: Vec<Input>,
    /// How they are to be read.
    pub choice: Choice,
    /// The provider of records that tell none.
    pub provider: Option<String>,
    /// What applications are said to send.
    pub rules: Rules,
    /// Threads that read lines.
    pub threads: NonZero<usize>,
    /// So many problems are told in the report with their places.
    pub most_problems: usize,
}

/// Reads the logs and reports.
///
/// # Errors
/// Those of the watcher only: what is wrong with a log is part of the report.
pub fn inquire(
    inquiry: Inquiry,
    watcher: &mut dyn Watcher,
    now: OffsetDateTime,
) -> io::Result<Report> {
    let question = Question {
        incident: inquiry.incident,
        provider: inquiry.provider,
    };
    let order = read::Order {
        inputs: &inquiry.logs,
        choice: &inquiry.choice,
        question: &question,
        threads: inquiry.threads,
        most_problems: inquiry.most_problems,
    };
    let outcome = read::run(&order, watcher)?;
    Ok(Report::new(
        &question.incident,
        &outcome,
        &inquiry.rules,
        now,
    ))
}
