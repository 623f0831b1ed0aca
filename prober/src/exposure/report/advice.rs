//! What a report does not say, and what to do next: sentences.

use super::text::count;
use super::{CategoryFacts, SenderFacts, Stamp};
use crate::exposure::incident::{Fit, Incident};
use crate::exposure::read::Outcome;
use crate::round::grouped;

/// Why a report without an exposed request would not be certain.
pub(super) fn reasons(incident: &Incident, outcome: &Outcome) -> Vec<String> {
    let tally = &outcome.tally;
    let mut reasons = Vec::new();
    let failed = outcome
        .logs
        .iter()
        .filter(|log| log.failure.is_some())
        .count();
    if failed > 0 {
        reasons.push(format!(
            "{} could not be read, or not to the end",
            count(failed as u64, "log", "logs")
        ));
    }
    if tally.unreadable > 0 {
        reasons.push(format!(
            "{} could not be read",
            count(tally.unreadable, "record", "records")
        ));
    }
    if tally.possible_records > 0 {
        reasons.push(format!(
            "{} may be of the incident",
            count(tally.all.possible.requests, "request", "requests")
        ));
    }
    let covers = tally
        .covers
        .is_some_and(|span| incident.time(span) != Fit::No);
    if !covers {
        reasons.push("no record of these logs is from the period".to_owned());
    }
    reasons
}

/// What follows from the logs, and what does not.
pub(super) fn limits(incident: &Incident, outcome: &Outcome, has_rules: bool) -> Vec<String> {
    let tally = &outcome.tally;
    let exposed = &tally.all.exposed;
    let mut limits = vec![
        "Exposed means: this model, at this provider, in this period. Whether data of one of these requests was in \
         somebody else's answer cannot be seen in your logs; only the provider can tell."
            .to_owned(),
    ];
    if let Some(limit) = incident.limit_tokens {
        limits.push(format!(
            "The length of your requests does not clear you. A prompt of more than {} tokens made the defect show, \
             but what it showed was data of earlier, shorter requests: anybody's.",
            grouped(limit)
        ));
    }
    if !incident.period.certain {
        let note = incident
            .period
            .note
            .as_deref()
            .unwrap_or("The period is not known exactly.");
        limits.push(format!(
            "{note} So some of these requests may be from days on which nothing leaked."
        ));
    }
    let covers = match tally.covers {
        Some(span) => format!(
            "The records are from {} to {}.",
            Stamp(span.from),
            Stamp(span.until)
        ),
        None => "No record told when it was.".to_owned(),
    };
    limits.push(format!(
        "Only requests of the logs that were named are counted. {covers} What is missing in between, or went past \
         them (another gateway, a key of somebody's own), is not seen."
    ));
    if exposed.refused > 0 {
        limits.push(format!(
            "{} refused with a status of 4xx and counted nevertheless: a prompt may have been read before it was refused.",
            were(exposed.refused)
        ));
    }
    let unmeasured = exposed.unmeasured.saturating_add(exposed.in_bytes);
    if unmeasured > 0 {
        limits.push(format!(
            "The length in tokens of {} is not known: the log has none, has bytes, or sums up several requests.",
            count(unmeasured, "exposed request", "exposed requests")
        ));
    }
    if has_rules && exposed.requests > 0 {
        limits.push(
            "Categories of data are what the rules file says of applications and keys. No request was looked into."
                .to_owned(),
        );
    }
    limits.push(
        "Lengths, times and ids were read, no contents. Nothing was sent anywhere. What looks like a whole key is shown \
         as its last four characters and a fingerprint."
            .to_owned(),
    );
    limits
}

fn were(requests: u64) -> String {
    match requests {
        1 => "1 exposed request was".to_owned(),
        many => format!("{} exposed requests were", grouped(many)),
    }
}

/// What to do, the most urgent first.
pub(super) fn next_steps(
    incident: &Incident,
    outcome: &Outcome,
    categories: &[CategoryFacts],
    senders: &[SenderFacts],
    has_rules: bool,
) -> Vec<String> {
    let tally = &outcome.tally;
    let exposed = &tally.all.exposed;
    let operator = &incident.operator;
    let mut steps = Vec::new();
    if exposed.requests > 0 {
        steps.push(format!(
            "Ask {operator} in writing for an assessment of your own account: which of your requests were processed by \
             the workers concerned, on which days, and whether data of them was in other customers' answers. Send the \
             period and the ids of accounts and keys below, no contents."
        ));
        steps.push(
            "Keep the logs, and this report: take them out of whatever deletes them by age, and note who holds them.".to_owned(),
        );
        steps.extend(
            categories
                .iter()
                .map(|category| format!("{}: {}", capital(&category.name), category.advice)),
        );
        let unknown = senders
            .iter()
            .filter(|sender| sender.exposed.requests > 0 && sender.categories.is_empty())
            .count();
        if unknown > 0 {
            let why = if has_rules {
                "no rule names them"
            } else {
                "there is no rules file (--rules)"
            };
            steps.push(format!(
                "Find out what {} sent; {why}. Until then take it for the worst it can be.",
                count(unknown as u64, "sender", "senders")
            ));
        }
    }
    let long = exposed
        .over_limit
        .saturating_add(tally.all.possible.over_limit);
    if let Some(limit) = incident.limit_tokens.filter(|_| long > 0) {
        steps.push(format!(
            "{} of your own had more than {} tokens. If such a request was answered, the answer may hold other customers' \
             data: keep it where few can read it, do not pass it on, and tell {operator}.",
            count(long, "request", "requests"),
            grouped(limit)
        ));
    }
    let short = exposed
        .next_to_nothing
        .saturating_add(tally.all.possible.next_to_nothing);
    if let Some(least) = incident.reported_tokens_at_most.filter(|_| short > 0) {
        steps.push(format!(
            "{} logged with {least} token or less of prompt. In the public reports of this defect an over-long prompt is \
             logged so: look at how long they really were, and treat their answers as those of over-long ones.",
            match short {
                1 => "1 request is".to_owned(),
                many => format!("{} requests are", grouped(many)),
            }
        ));
    }
    if tally.possible_records > 0 {
        steps.push(
            "Clear up the requests that may be of the incident: other logs of the same time, or the invoices, tell which \
             model and provider they went to. If all requests of a log went to one provider, say so with --provider."
                .to_owned(),
        );
    }
    if tally.unreadable > 0 || outcome.logs.iter().any(|log| log.failure.is_some()) {
        steps.push(
            "Look at what could not be read (below; all of it with --problems-file FILE), mend the mapping or the logs, and \
             run this again."
                .to_owned(),
        );
    }
    if exposed.requests == 0 {
        steps.push(format!(
            "Make sure that these are all logs of the period, from {} to {}: every gateway, every account, every region.",
            Stamp(incident.period.from),
            Stamp(incident.period.until)
        ));
        steps.push(
            "Keep the logs and this report: the facts of the incident may change.".to_owned(),
        );
    }
    steps
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
