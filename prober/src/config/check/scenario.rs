//! What is tried, where and how often.

use super::Check;
use super::recipe::Kind;
use super::value::shown;
use crate::config::document::Field;
use crate::config::mistake::Place;
use crate::config::raw::{List, RawConfig, RawEndpoint, RawScenario};
use crate::config::suggest::hint;
use crate::config::types::Scenario;
use canary_gen::Form;
use std::time::Duration;

impl Check<'_> {
    pub(super) fn scenarios(&mut self, raw: &RawConfig) -> Option<Vec<Scenario>> {
        let list = self.required(
            &raw.scenarios,
            &raw.place,
            "scenarios",
            "at least one [[scenarios]]",
        )?;
        if list.value.is_empty() {
            let message = "is empty (write at least one [[scenarios]])";
            self.mistakes.at(&list.place, message);
            return None;
        }
        let known: Vec<&RawEndpoint> = raw
            .endpoints
            .given()
            .into_iter()
            .flat_map(|endpoints| endpoints.value.iter().filter_map(Field::given))
            .map(|endpoint| &endpoint.value)
            .collect();
        let given = || list.value.iter().filter_map(Field::given);
        let mut series = Vec::new();
        let checked: Vec<Option<Scenario>> = given()
            .map(|scenario| self.scenario(&scenario.value, &known, &mut series))
            .collect();
        self.refuse_same_series(&series);
        if checked.len() < list.value.len() {
            return None;
        }
        checked.into_iter().collect()
    }

    fn scenario(
        &mut self,
        raw: &RawScenario,
        known: &[&RawEndpoint],
        series: &mut Vec<Series>,
    ) -> Option<Scenario> {
        let kind = self
            .required(
                &raw.kind,
                &raw.place,
                "kind",
                "one of the scenarios, such as \"overflow\"",
            )
            .and_then(|at| self.chosen(at, &Kind::ALL.map(|kind| (kind.as_str(), kind))));
        let name = match &raw.name {
            Field::Absent => kind.map(|kind| kind.as_str().to_owned()),
            field => field.given().and_then(|at| self.name(at)),
        };
        let chosen = self.chosen_endpoints(&raw.endpoints, known);
        let endpoints: Option<Vec<String>> = chosen.as_ref().map(|chosen| {
            chosen
                .iter()
                .filter_map(|endpoint| name_of(endpoint))
                .collect()
        });
        if let (Some(name), Some(endpoints)) = (&name, &endpoints) {
            series.push(Series {
                name: name.clone(),
                endpoints: endpoints.clone(),
                place: raw.place.clone(),
            });
        }
        let every = self.every(&raw.every);
        let jitter = every
            .and_then(|every| self.duration(&raw.jitter, every / 10, Duration::ZERO..=every / 2));
        let form = self.choice(
            &raw.form,
            Form::Code,
            &Form::ALL.map(|form| (form.as_str(), form)),
        );
        let min_sensitivity = self.fraction(&raw.min_sensitivity, 0.5, 1.0);
        let room = kind.map_or(0, Kind::answer_tokens);
        let max_answer_tokens = self.whole(&raw.max_answer_tokens, room, 16..=4_096);
        let chosen = chosen.unwrap_or_default();
        let recipe = self.recipe(kind?, raw, &chosen, max_answer_tokens.unwrap_or(0));
        Some(Scenario {
            name: name?,
            endpoints: endpoints?,
            every: every?,
            jitter: jitter?,
            form: form?,
            min_sensitivity: min_sensitivity?,
            max_answer_tokens: max_answer_tokens? as u32,
            recipe: recipe?,
        })
    }

    fn every(&mut self, field: &Field<Duration>) -> Option<Duration> {
        let (low, high) = (Duration::from_secs(10), Duration::from_secs(7 * 86_400));
        self.duration(field, Duration::from_secs(900), low..=high)
    }

    /// The endpoints that a list names, in the order of the file's endpoints; all if there is none.
    fn chosen_endpoints<'r>(
        &mut self,
        field: &Field<List<String>>,
        known: &[&'r RawEndpoint],
    ) -> Option<Vec<&'r RawEndpoint>> {
        let list = match field {
            Field::Absent => return Some(known.to_vec()),
            Field::Wrong => return None,
            Field::Given(list) => list,
        };
        if list.value.is_empty() {
            let message = "is empty (name endpoints, or leave the key out for all of them)";
            self.mistakes.at(&list.place, message);
            return None;
        }
        let given = || list.value.iter().filter_map(Field::given);
        self.unique(given(), "name each endpoint once");
        let names = || {
            known
                .iter()
                .filter_map(|endpoint| endpoint.name.given())
                .map(|at| at.value.as_str())
        };
        for at in given().filter(|at| !names().any(|name| name == at.value)) {
            let remedy = match hint(&at.value, names()) {
                hint if hint.is_empty() => " (name one of [[endpoints]])".to_owned(),
                hint => hint,
            };
            let message = format!("there is no endpoint `{}`{remedy}", shown(&at.value));
            self.mistakes.at(&at.place, message);
        }
        let wanted = |endpoint: &&RawEndpoint| {
            given().any(|at| name_of(endpoint).as_ref() == Some(&at.value))
        };
        Some(
            known
                .iter()
                .copied()
                .filter(|endpoint| wanted(endpoint))
                .collect(),
        )
    }

    /// Notes scenarios that share both their name and an endpoint.
    fn refuse_same_series(&mut self, series: &[Series]) {
        for (index, later) in series.iter().enumerate() {
            let clash = series[..index].iter().find_map(|earlier| {
                let shared = later
                    .endpoints
                    .iter()
                    .find(|name| earlier.endpoints.contains(name))?;
                (earlier.name == later.name).then_some((earlier, shared))
            });
            if let Some((earlier, endpoint)) = clash {
                let message = format!(
                    "{} is a scenario `{}` of endpoint `{}` already (give one of them another `name`)",
                    earlier.place.key,
                    later.name,
                    shown(endpoint)
                );
                self.mistakes.at(&later.place, message);
            }
        }
    }
}

/// Rounds of one name at some endpoints. Endpoint and name together name a series of rounds in the
/// store, so no two scenarios may share both.
struct Series {
    name: String,
    endpoints: Vec<String>,
    place: Place,
}

pub(super) fn name_of(endpoint: &RawEndpoint) -> Option<String> {
    endpoint.name.given().map(|at| at.value.clone())
}
