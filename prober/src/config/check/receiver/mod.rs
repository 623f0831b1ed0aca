//! Who is told of incidents.

mod kind;
mod quiet;

use super::Check;
use super::value::shown;
use crate::alert::{Filter, Receiver, Severity};
use crate::config::document::{At, Field};
use crate::config::raw::{List, RawConfig, RawReceiver};
use crate::config::suggest::hint;
use crate::judge::Finding;
use kind::Name;
use std::time::Duration;

/// So long what is not urgent waits for more of it, unless told otherwise.
const GROUP_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

impl Check<'_> {
    pub(super) fn receivers(&mut self, raw: &RawConfig) -> Option<Vec<Receiver>> {
        let list = match &raw.receivers {
            Field::Absent => return Some(Vec::new()),
            Field::Wrong => return None,
            Field::Given(list) => list,
        };
        let endpoints = endpoint_names(raw);
        let given: Vec<&RawReceiver> = list
            .value
            .iter()
            .filter_map(Field::given)
            .map(|at| &at.value)
            .collect();
        let checked: Vec<Option<Receiver>> = given
            .iter()
            .map(|receiver| self.receiver(receiver, &endpoints))
            .collect();
        let names = given.iter().filter_map(|receiver| receiver.name.given());
        self.unique(names, "give each receiver a name of its own");
        if checked.len() < list.value.len() {
            return None;
        }
        checked.into_iter().collect()
    }

    fn receiver(&mut self, raw: &RawReceiver, endpoints: &[&str]) -> Option<Receiver> {
        let name = self
            .required(&raw.name, &raw.place, "name", "a name, such as \"soc\"")
            .and_then(|at| self.name(at));
        let kind = self
            .required(
                &raw.kind,
                &raw.place,
                "kind",
                "one of the kinds, such as \"webhook\"",
            )
            .and_then(|at| self.chosen(at, &Name::ALL));
        let filter = self.filter(raw, endpoints);
        let quiet = self.quiet(raw);
        let group_wait = self.duration(&raw.group_wait, GROUP_WAIT, Duration::ZERO..=LONGEST_WAIT);
        let connection = self.way(&raw.ca_file, &raw.proxy);
        // What belongs to a kind can only be looked at when that is known.
        let kind = kind?;
        self.refuse_foreign_keys(raw, kind);
        let allow_private = match &raw.allow_private_addresses {
            // Alertmanagers stand beside the prober.
            Field::Absent => Some(kind == Name::Alertmanager),
            Field::Wrong => None,
            Field::Given(at) => Some(at.value),
        };
        let kind = self.receiver_kind(raw, kind, allow_private == Some(true));
        Some(Receiver {
            name: name?,
            filter: filter?,
            quiet: quiet?,
            group_wait: group_wait?,
            allow_private: allow_private?,
            connection: connection?,
            kind: kind?,
        })
    }

    fn filter(&mut self, raw: &RawReceiver, endpoints: &[&str]) -> Option<Filter> {
        let min_severity = self.choice(&raw.min_severity, Severity::Info, &Severity::NAMES);
        let endpoints = self.known_names(&raw.endpoints, endpoints, "endpoint");
        let kinds = self.known_names(&raw.kinds, &Finding::KINDS, "kind of finding");
        let drills = match &raw.drills {
            Field::Absent => Some(true),
            Field::Wrong => None,
            Field::Given(at) => Some(at.value),
        };
        Some(Filter {
            min_severity: min_severity?,
            endpoints: endpoints?,
            kinds: kinds?,
            drills: drills?,
        })
    }

    /// Names that must each be one of those that are known; none if nothing is written.
    fn known_names(
        &mut self,
        field: &Field<List<String>>,
        known: &[&str],
        what: &str,
    ) -> Option<Vec<String>> {
        let list = match field {
            Field::Absent => return Some(Vec::new()),
            Field::Wrong => return None,
            Field::Given(list) => list,
        };
        if list.value.is_empty() {
            let message = "is empty: nothing would be told (leave it out to be told of all)";
            self.mistakes.at(&list.place, message);
            return None;
        }
        let names: Vec<Option<String>> = list
            .value
            .iter()
            .map(|name| {
                let At { value, place } = name.given()?;
                if known.contains(&value.as_str()) {
                    return Some(value.clone());
                }
                let hint = hint(value, known.iter().copied());
                let message = format!("there is no {what} `{}`{hint}", shown(value));
                self.mistakes.at(place, message);
                None
            })
            .collect();
        names.into_iter().collect()
    }
}

fn endpoint_names(raw: &RawConfig) -> Vec<&str> {
    let endpoints = raw.endpoints.given().into_iter();
    let endpoints = endpoints.flat_map(|list| list.value.iter().filter_map(Field::given));
    endpoints
        .filter_map(|endpoint| endpoint.value.name.given())
        .map(|name| name.value.as_str())
        .collect()
}
