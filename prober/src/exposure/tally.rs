//! What is counted: by key and application, by day, in all. Bounded, whatever the logs hold.

use super::assess::{Answer, Doubt, Request, Why};
use super::incident::Incident;
use super::moment::{Moment, Span};
use super::secret;
use std::collections::{BTreeMap, HashMap};

/// So many pairs of key and application are counted apart.
pub(super) const MOST_SENDERS: usize = 10_000;
/// So many days are counted apart: more than any period has.
const MOST_DAYS: usize = 1_000;

/// Requests of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) requests: u64,
    /// Of them, so many were refused (status 4xx).
    pub(super) refused: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    /// Requests whose own length in tokens is known, and the longest of them.
    pub(super) measured: u64,
    pub(super) longest_tokens: u64,
    /// Of those, so many were longer than the incident's limit, and so many are logged as next to nothing.
    pub(super) over_limit: u64,
    pub(super) next_to_nothing: u64,
    /// Requests of which only bytes are known.
    pub(super) in_bytes: u64,
    pub(super) input_bytes: u64,
    pub(super) longest_bytes: u64,
    /// Requests of which neither is.
    pub(super) unmeasured: u64,
    pub(super) first: Option<Moment>,
    pub(super) last: Option<Moment>,
}

impl Sums {
    fn take(&mut self, request: &Request<'_>, incident: &Incident) {
        self.requests = self.requests.saturating_add(request.requests);
        if matches!(request.status, Some(400..=499)) {
            self.refused = self.refused.saturating_add(request.requests);
        }
        let add = |sum: &mut u64, more: Option<u64>| *sum = sum.saturating_add(more.unwrap_or(0));
        add(&mut self.input_tokens, request.input_tokens);
        add(&mut self.output_tokens, request.output_tokens);
        match (request.input_tokens, request.input_bytes) {
            (Some(tokens), _) if !request.is_sum => {
                self.measured += 1;
                self.longest_tokens = self.longest_tokens.max(tokens);
                self.over_limit +=
                    u64::from(incident.limit_tokens.is_some_and(|limit| tokens > limit));
                let least = incident.reported_tokens_at_most;
                self.next_to_nothing += u64::from(least.is_some_and(|least| tokens <= least));
            }
            (None, Some(bytes)) if !request.is_sum => {
                self.in_bytes += 1;
                self.input_bytes = self.input_bytes.saturating_add(bytes);
                self.longest_bytes = self.longest_bytes.max(bytes);
            }
            _ => self.unmeasured = self.unmeasured.saturating_add(request.requests),
        }
        self.widen(Some(request.span.from), Some(request.span.until));
    }

    fn widen(&mut self, first: Option<Moment>, last: Option<Moment>) {
        self.first = self.first.into_iter().chain(first).min();
        self.last = self.last.max(last);
    }

    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.requests, other.requests),
            (&mut self.refused, other.refused),
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.measured, other.measured),
            (&mut self.over_limit, other.over_limit),
            (&mut self.next_to_nothing, other.next_to_nothing),
            (&mut self.in_bytes, other.in_bytes),
            (&mut self.input_bytes, other.input_bytes),
            (&mut self.unmeasured, other.unmeasured),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        self.longest_tokens = self.longest_tokens.max(other.longest_tokens);
        self.longest_bytes = self.longest_bytes.max(other.longest_bytes);
        self.widen(other.first, other.last);
    }
}

/// Who sent a request, as far as a log tells; names as they may be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Sender {
    pub(super) key: Option<String>,
    pub(super) application: Option<String>,
}

/// What one of them sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) exposed: Sums,
    pub(super) possible: Sums,
}

impl Sent {
    fn add(&mut self, other: &Self) {
        self.exposed.add(&other.exposed);
        self.possible.add(&other.possible);
    }
}

/// Records that are certainly not of the incident, by the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clear {
    pub(super) other_time: u64,
    pub(super) other_model: u64,
    pub(super) other_provider: u64,
}

impl Clear {
    pub(super) fn all(&self) -> u64 {
        self.other_time + self.other_model + self.other_provider
    }
}

/// All that is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Records that could be held against the incident.
    pub(super) exposed_records: u64,
    pub(super) possible_records: u64,
    pub(super) clear: Clear,
    /// Lines and records that could not.
    pub(super) unreadable: u64,
    pub(super) all: Sent,
    pub(super) doubts: BTreeMap<Doubt, u64>,
    senders: HashMap<String, Sent>,
    /// Those who came when there was no more room.
    pub(super) others: Sent,
    /// Requests and tokens of exposed ones by the day, counted from 1970.
    pub(super) days: BTreeMap<i64, (u64, u64)>,
    /// When the records are from, of the incident or not.
    pub(super) covers: Option<Span>,
}

impl Tally {
    pub(super) fn see(&mut self, span: Span) {
        self.covers = Some(match self.covers {
            Some(covers) => Span {
                from: covers.from.min(span.from),
                until: covers.until.max(span.until),
            },
            None => span,
        });
    }

    /// Records, readable or not.
    pub(super) fn records(&self) -> u64 {
        self.exposed_records + self.possible_records + self.clear.all() + self.unreadable
    }

    pub(super) fn take(&mut self, answer: &Answer<'_>, incident: &Incident) {
        match answer {
            Answer::Clear(why) => match why {
                Why::Time => self.clear.other_time += 1,
                Why::Model => self.clear.other_model += 1,
                Why::Provider => self.clear.other_provider += 1,
            },
            Answer::Exposed(request) => {
                self.exposed_records += 1;
                self.all.exposed.take(request, incident);
                self.sent_by(request).exposed.take(request, incident);
                self.add_to_day(
                    request.span.from.day(),
                    request.requests,
                    request.input_tokens.unwrap_or(0),
                );
            }
            Answer::Possible(doubt, request) => {
                self.possible_records += 1;
                let of_doubt = self.doubts.entry(*doubt).or_default();
                *of_doubt = of_doubt.saturating_add(request.requests);
                self.all.possible.take(request, incident);
                self.sent_by(request).possible.take(request, incident);
            }
        }
    }

    fn add_to_day(&mut self, day: i64, requests: u64, tokens: u64) {
        if self.days.len() < MOST_DAYS || self.days.contains_key(&day) {
            let sums = self.days.entry(day).or_default();
            sums.0 = sums.0.saturating_add(requests);
            sums.1 = sums.1.saturating_add(tokens);
        }
    }

    fn sent_by(&mut self, request: &Request<'_>) -> &mut Sent {
        let named = |name: &Option<std::borrow::Cow<'_, str>>| {
            // A control character stands for none, and cannot be in a name that may be shown.
            name.as_deref()
                .map_or(NONE.to_owned(), |name| secret::shown(name).into_owned())
        };
        let name = format!(
            "{}{BETWEEN}{}",
            named(&request.key),
            named(&request.application)
        );
        self.sender(name)
    }

    fn sender(&mut self, name: String) -> &mut Sent {
        if self.senders.len() >= MOST_SENDERS && !self.senders.contains_key(&name) {
            return &mut self.others;
        }
        self.senders.entry(name).or_default()
    }

    /// Adds what was counted later. Who has no more room then depends on the order of the records alone.
    pub(super) fn add(&mut self, later: Self) {
        self.exposed_records += later.exposed_records;
        self.possible_records += later.possible_records;
        self.clear.other_time += later.clear.other_time;
        self.clear.other_model += later.clear.other_model;
        self.clear.other_provider += later.clear.other_provider;
        self.unreadable += later.unreadable;
        self.all.add(&later.all);
        for (doubt, requests) in later.doubts {
            let sum = self.doubts.entry(doubt).or_default();
            *sum = sum.saturating_add(requests);
        }
        let mut senders: Vec<(String, Sent)> = later.senders.into_iter().collect();
        senders.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        for (name, sent) in senders {
            self.sender(name).add(&sent);
        }
        self.others.add(&later.others);
        for (day, (requests, tokens)) in later.days {
            self.add_to_day(day, requests, tokens);
        }
        if let Some(span) = later.covers {
            self.see(span);
        }
    }

    /// Who sent what, whoever sent most first.
    pub(super) fn senders(&self) -> Vec<(Sender, &Sent)> {
        let mut senders: Vec<(Sender, &Sent)> = self
            .senders
            .iter()
            .map(|(name, sent)| {
                let (key, application) = name.split_once(BETWEEN).unwrap_or((name, NONE));
                let told = |name: &str| Some(name).filter(|name| *name != NONE).map(str::to_owned);
                let sender = Sender {
                    key: told(key),
                    application: told(application),
                };
                (sender, sent)
            })
            .collect();
        senders.sort_by(|(one, first), (other, second)| {
            let order = |sent: &Sent| (sent.exposed.requests, sent.possible.requests);
            order(second)
                .cmp(&order(first))
                .then_with(|| one.cmp(other))
        });
        senders
    }
}

/// Stands between key and application, and for one that is not told: no name that may be shown has them.
const BETWEEN: char = '\u{1}';
const NONE: &str = "\u{2}";

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
