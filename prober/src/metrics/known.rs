//! Which names may be labels: those of the configuration.

use crate::config::Config;
use std::collections::{HashMap, HashSet};

/// What the configuration names, and what is still under way of one before.
#[derive(Debug, Default)]
pub(super) struct Known {
    endpoints: HashSet<String>,
    /// Endpoint and scenario.
    lines: HashSet<(String, String)>,
    receivers: HashSet<String>,
    /// What endpoints' money is counted in.
    currencies: HashMap<String, String>,
    /// Endpoints at which a round of a configuration before goes on, with whatever scenario.
    leaving: HashSet<String>,
}

impl Known {
    pub(super) fn of(config: &Config, leaving: &[String]) -> Self {
        let lines = config.scenarios.iter().flat_map(|scenario| {
            let endpoints = scenario.endpoints.iter();
            endpoints.map(|endpoint| (endpoint.clone(), scenario.name.clone()))
        });
        let names = |names: &[String]| names.iter().cloned().collect();
        Self {
            endpoints: config
                .endpoints
                .iter()
                .map(|one| one.name.clone())
                .collect(),
            lines: lines.collect(),
            receivers: config
                .receivers
                .iter()
                .map(|one| one.name.clone())
                .collect(),
            currencies: config
                .endpoints
                .iter()
                .map(|one| (one.name.clone(), one.budget.currency.clone()))
                .collect(),
            leaving: names(leaving),
        }
    }

    /// Whether all of these labels' values are known names, as far as they name something of the configuration.
    pub(super) fn has(&self, labels: &[&str], values: &[String]) -> bool {
        let value = |name: &str| {
            let place = labels.iter().position(|label| *label == name)?;
            values.get(place)
        };
        let is_known = match (value("endpoint"), value("scenario")) {
            (None, _) => true,
            (Some(endpoint), _) if self.leaving.contains(endpoint) => true,
            (Some(endpoint), None) => self.endpoints.contains(endpoint),
            (Some(endpoint), Some(scenario)) => {
                self.lines.contains(&(endpoint.clone(), scenario.clone()))
            }
        };
        let is_current = value("currency").is_none_or(|name| {
            value("endpoint").and_then(|at| self.currencies.get(at)) == Some(name)
        });
        is_known && is_current && value("receiver").is_none_or(|name| self.receivers.contains(name))
    }
}
