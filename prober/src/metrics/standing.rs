//! What the database holds of the whole installation: every prober with this configuration tells the same.

use super::series::{Gauge, Registrar, Series, Spec};
use crate::alert::Severity;
use crate::budget::{Budget, Cost, Money};
use crate::config::Config;
use crate::incident::State;
use crate::judge::Finding;
use crate::round::HistoryReport;
use crate::store::{DrillSurvey, LineSurvey, ReceiverSurvey, Survey};
use time::OffsetDateTime;

pub(super) struct Standing {
    refreshed_at: Series<Gauge>,
    incidents: Series<Gauge>,
    leak_rate: Series<Gauge>,
    sensitivity: Series<Gauge>,
    required: Series<Gauge>,
    used_tokens: Series<Gauge>,
    limit_tokens: Series<Gauge>,
    used_money: Series<Gauge>,
    limit_money: Series<Gauge>,
    pending: Series<Gauge>,
    oldest_pending: Series<Gauge>,
    failures: Series<Gauge>,
    disabled: Series<Gauge>,
    interval: Series<Gauge>,
    drill_interval: Series<Gauge>,
    drill_arrived_at: Series<Gauge>,
    drill_arrived: Series<Gauge>,
}

const BY_LINE: &[&str] = &["endpoint", "scenario"];
const BY_ENDPOINT: &[&str] = &["endpoint"];
const BY_CURRENCY: &[&str] = &["endpoint", "currency"];
const BY_LANE: &[&str] = &["receiver", "urgent"];

impl Standing {
    pub(super) fn new(registrar: &mut Registrar) -> Self {
        let mut gauge = |name, unit, help, labels| {
            registrar.gauge(&Spec {
                name,
                unit,
                help,
                labels,
            })
        };
        let (tokens, ratio) = (Some("tokens"), Some("ratio"));
        Self {
            refreshed_at: gauge(
                "prober_survey_last_success_timestamp",
                Some("seconds"),
                "When what the database holds was last looked up for these metrics",
                &[],
            ),
            incidents: gauge(
                "prober_unresolved_incidents",
                None,
                "Incidents that are open or acknowledged",
                &["endpoint", "kind", "severity", "state"],
            ),
            leak_rate: gauge(
                "prober_leak_rate_upper_bound",
                ratio,
                "At most this share of requests leaks, by all rounds so far, 95 % sure however often one looks; absent while nothing is known",
                BY_LINE,
            ),
            sensitivity: gauge(
                "prober_sensitivity",
                ratio,
                "Own-canary recall of the last seven days; absent while nobody answered",
                BY_LINE,
            ),
            required: gauge(
                "prober_sensitivity_required",
                ratio,
                "The least own-canary recall with which silence proves something, as configured",
                BY_LINE,
            ),
            used_tokens: gauge(
                "prober_budget_used",
                tokens,
                "Tokens that were charged to the day, in UTC",
                BY_ENDPOINT,
            ),
            limit_tokens: gauge(
                "prober_budget_limit",
                tokens,
                "Most tokens in a day; absent without a limit",
                BY_ENDPOINT,
            ),
            used_money: gauge(
                "prober_budget_used_money",
                None,
                "Money that was charged to the day, in UTC; absent without prices",
                BY_CURRENCY,
            ),
            limit_money: gauge(
                "prober_budget_limit_money",
                None,
                "Most money in a day; absent without a limit",
                BY_CURRENCY,
            ),
            pending: gauge(
                "prober_alert_pending_deliveries",
                None,
                "Alerts that wait for their delivery, the urgent ones apart",
                BY_LANE,
            ),
            oldest_pending: gauge(
                "prober_alert_oldest_pending",
                Some("seconds"),
                "How long the oldest of them has waited; 0 if none waits",
                BY_LANE,
            ),
            failures: gauge(
                "prober_alert_receiver_failures",
                None,
                "How often in a row a receiver did not take a message",
                &["receiver"],
            ),
            disabled: gauge(
                "prober_alert_receiver_disabled",
                None,
                "Whether a receiver said that it is gone, so that it is told nothing: 1 or 0",
                &["receiver"],
            ),
            interval: gauge(
                "prober_scenario_interval",
                Some("seconds"),
                "How often a scenario is due at an endpoint",
                BY_LINE,
            ),
            drill_interval: gauge(
                "prober_drill_interval",
                Some("seconds"),
                "How often a drill is due, at one endpoint after the other; absent if none ever is",
                &[],
            ),
            drill_arrived_at: gauge(
                "prober_drill_last_success_timestamp",
                Some("seconds"),
                "When a drill last reached every receiver; 0 if none ever did",
                BY_ENDPOINT,
            ),
            drill_arrived: gauge(
                "prober_drill_last_successful",
                None,
                "Whether the last drill reached every receiver: 1 or 0; absent while there was none",
                BY_ENDPOINT,
            ),
        }
    }

    /// What a configuration says, before the database was asked.
    pub(super) fn prepare(&self, config: &Config) {
        for endpoint in &config.endpoints {
            let name = endpoint.name.as_str();
            self.each_incident(name, |_, series| drop(series));
            self.used_tokens.of(&[name]);
            self.limits(name, &endpoint.budget);
            self.drill_arrived_at.of(&[name]);
        }
        for scenario in &config.scenarios {
            for endpoint in &scenario.endpoints {
                let required = self.required.of(&[endpoint, &scenario.name]);
                required.set(scenario.min_sensitivity);
                let interval = self.interval.of(&[endpoint, &scenario.name]);
                interval.set(scenario.every.as_secs_f64());
            }
        }
        let every = config.drill.every.map(|every| every.as_secs_f64());
        set_or_remove(&self.drill_interval, &[], every);
        for receiver in &config.receivers {
            let name = receiver.name.as_str();
            for urgent in ["true", "false"] {
                self.pending.of(&[name, urgent]);
                self.oldest_pending.of(&[name, urgent]);
            }
            self.failures.of(&[name]);
            self.disabled.of(&[name]);
        }
    }

    /// What the database holds.
    pub(super) fn surveyed(&self, config: &Config, survey: &Survey, now: OffsetDateTime) {
        for endpoint in &config.endpoints {
            let name = endpoint.name.as_str();
            self.each_incident(name, |(kind, state), series| {
                // Several kinds of a newer version are one here.
                let of_kind = survey.incidents.iter().filter(|one| {
                    one.endpoint == name && one.state == state && known_kind(&one.kind) == kind
                });
                series.set(of_kind.map(|one| one.count as f64).sum());
            });
            let spent = survey.spent.get(name).copied().unwrap_or_default();
            self.spent(name, &endpoint.budget, spent);
        }
        survey.lines.iter().for_each(|line| self.line(line));
        survey
            .receivers
            .iter()
            .for_each(|receiver| self.receiver(receiver, now));
        survey.drills.iter().for_each(|drill| self.drill(drill));
        self.refreshed_at.of(&[]).set(super::timestamp(now));
    }

    fn each_incident(&self, endpoint: &str, act: impl Fn((&str, State), Gauge)) {
        for kind in Finding::KINDS.into_iter().chain([OTHER]) {
            let severity = Severity::of_kind(kind).as_str();
            for state in [State::Open, State::Acknowledged] {
                let labels = [endpoint, kind, severity, state.as_str()];
                act((kind, state), self.incidents.of(&labels));
            }
        }
    }

    fn line(&self, line: &LineSurvey) {
        let labels = [line.endpoint.as_str(), line.scenario.as_str()];
        set_or_remove(
            &self.leak_rate,
            &labels,
            HistoryReport::from(line.history).leak_rate_at_most,
        );
        let recall = line.recalled_of_late as f64 / line.asked_of_late as f64;
        let is_known = line.asked_of_late > 0;
        set_or_remove(&self.sensitivity, &labels, is_known.then_some(recall));
    }

    fn limits(&self, endpoint: &str, budget: &Budget) {
        let tokens = budget.tokens_per_day.map(|tokens| tokens as f64);
        set_or_remove(&self.limit_tokens, &[endpoint], tokens);
        let labels = [endpoint, budget.currency.as_str()];
        set_or_remove(&self.limit_money, &labels, budget.money_per_day.map(amount));
    }

    fn spent(&self, endpoint: &str, budget: &Budget, spent: Cost) {
        self.used_tokens.of(&[endpoint]).set(spent.tokens() as f64);
        let prices = budget.prices;
        let has_prices = prices.input > Money::default() || prices.output > Money::default();
        let labels = [endpoint, budget.currency.as_str()];
        let money = has_prices.then(|| amount(spent.money));
        set_or_remove(&self.used_money, &labels, money);
    }

    fn receiver(&self, receiver: &ReceiverSurvey, now: OffsetDateTime) {
        let name = receiver.name.as_str();
        self.failures.of(&[name]).set(receiver.failures as f64);
        let is_disabled = u8::from(receiver.is_disabled);
        self.disabled.of(&[name]).set(is_disabled.into());
        for (urgent, waiting) in [("true", &receiver.urgent), ("false", &receiver.others)] {
            self.pending.of(&[name, urgent]).set(waiting.count as f64);
            let age = waiting.oldest_at.map(|at| now - at);
            let age = age.map_or(0.0, |age| age.as_seconds_f64().max(0.0));
            self.oldest_pending.of(&[name, urgent]).set(age);
        }
    }

    fn drill(&self, drill: &DrillSurvey) {
        let labels = [drill.endpoint.as_str()];
        let arrived_at = drill.arrived_at.map_or(0.0, super::timestamp);
        self.drill_arrived_at.of(&labels).set(arrived_at);
        let has_arrived = u8::from(drill.has_last_arrived);
        self.drill_arrived.of(&labels).set(has_arrived.into());
    }
}

/// A kind of a newer version.
const OTHER: &str = "other";

/// A kind of findings, among those that are known.
fn known_kind(name: &str) -> &'static str {
    let known = Finding::KINDS.into_iter().find(|kind| *kind == name);
    known.unwrap_or(OTHER)
}

fn amount(money: Money) -> f64 {
    money.micros() as f64 / 1e6
}

fn set_or_remove(series: &Series<Gauge>, labels: &[&str], value: Option<f64>) {
    match value {
        Some(value) => drop(series.of(labels).set(value)),
        None => series.remove(labels),
    }
}
