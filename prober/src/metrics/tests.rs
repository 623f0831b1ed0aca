#![allow(clippy::unwrap_used)]

use super::*;
use crate::budget::{Cost, Money};
use crate::config;
use crate::endpoint::Usage;
use crate::incident::State;
use crate::spool::Room;
use crate::store::{
    DrillSurvey, History, LineSurvey, ReceiverSurvey, UnresolvedIncidents, Waiting,
};
use std::collections::{BTreeMap, BTreeSet};
use time::macros::datetime;

const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

const GLM: &str = r#"
    [[endpoints]]
    name = "glm"
    api = "openai-chat"
    base_url = "http://127.0.0.1:8000/v1"
    model = "m"
    context_tokens = 4096
    budget = { tokens_per_day = 5000, money_per_day = 2, input_price = 1, output_price = 1, currency = "EUR" }
    tenants = [{ name = "a", no_key = true }, { name = "b", no_key = true }]
"#;
const KIMI: &str = r#"
    [[endpoints]]
    name = "kimi"
    api = "openai-chat"
    base_url = "http://127.0.0.1:8001/v1"
    model = "m"
    context_tokens = 4096
    tenants = [{ name = "a", no_key = true }, { name = "b", no_key = true }]
"#;
const CROSSTALK: &str = "[[scenarios]]\nkind = \"crosstalk\"\nmin_sensitivity = 0.75\n";
const DAILY: &str = "[drill]\nevery = \"1d\"\n";
const SOC: &str = "[[receivers]]\nname = \"soc\"\nkind = \"slack\"\nurl = { env = \"HOOK\" }\n";

fn load(parts: &[&str]) -> Config {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prober.toml");
    std::fs::write(&path, format!("data_dir = \"state\"\n{}", parts.concat())).unwrap();
    let hook = |name: &str| (name == "HOOK").then(|| "https://hooks.example.com/x".into());
    config::load_with(&path, &hook).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A value by its series, as in `prober_probes_total{endpoint="glm"}`.
fn values(exposition: &str) -> BTreeMap<&str, f64> {
    let samples = exposition.lines().filter(|line| !line.starts_with('#'));
    let value = |line: &'_ str| -> f64 { line.rsplit_once(' ').unwrap().1.parse().unwrap() };
    samples
        .map(|line| (line.rsplit_once(' ').unwrap().0, value(line)))
        .collect()
}

fn judged(verdict: &'static str, reason: Option<&'static str>) -> JudgedProbe<'static> {
    JudgedProbe {
        endpoint: "glm",
        scenario: "crosstalk",
        verdict,
        reason,
        at: NOW,
    }
}

fn survey() -> Survey {
    let unresolved = |kind: &str, state, count| UnresolvedIncidents {
        endpoint: "glm".to_owned(),
        kind: kind.to_owned(),
        state,
        count,
    };
    Survey {
        incidents: vec![
            unresolved("leak", State::Open, 2),
            unresolved("truncation", State::Acknowledged, 1),
            unresolved("of_tomorrow", State::Open, 1),
            unresolved("of_the_day_after", State::Open, 1),
        ],
        lines: vec![LineSurvey {
            endpoint: "glm".to_owned(),
            scenario: "crosstalk".to_owned(),
            history: History {
                rounds: 3,
                responses: 300,
                leaks: 0,
                asked: 300,
                recalled: 290,
            },
            asked_of_late: 8,
            recalled_of_late: 6,
            last_conclusive_at: Some(NOW - time::Duration::HOUR),
        }],
        spent: [(
            "glm".to_owned(),
            Cost {
                prompt_tokens: 1_000,
                answer_tokens: 200,
                money: Money::from_micros(1_500_000),
            },
        )]
        .into(),
        receivers: vec![ReceiverSurvey {
            name: "soc".to_owned(),
            failures: 3,
            is_disabled: true,
            urgent: Waiting {
                count: 1,
                oldest_at: Some(NOW - time::Duration::minutes(2)),
            },
            others: Waiting::default(),
        }],
        drills: vec![DrillSurvey {
            endpoint: "glm".to_owned(),
            arrived_at: Some(NOW),
            has_last_arrived: false,
        }],
    }
}

/// Metrics that were told of everything there is.
async fn eventful() -> (Metrics, tempfile::TempDir) {
    let metrics = Metrics::new();
    let config = load(&[GLM, KIMI, CROSSTALK, SOC, DAILY]);
    metrics.configure(&config, &[]);
    metrics.config_taken(NOW, true);
    metrics.judged(&judged("clean", Some("recall")));
    metrics.judged(&judged("inconclusive", Some("timed_out")));
    metrics.found(
        "glm",
        &Finding::LimitViolation {
            limit: 1,
            prompt_tokens: 2,
        },
    );
    metrics.round_ended("glm", "crosstalk", "clean", Duration::from_secs(3));
    let exchange = Exchange {
        outcome: crate::endpoint::Outcome::Answered,
        usage: Some(Usage {
            prompt_tokens: 900,
            completion_tokens: 40,
            cached_tokens: None,
            reasoning_tokens: None,
        }),
        ttfb: Some(Duration::from_millis(20)),
        ttft: Some(Duration::from_millis(200)),
        duration: Duration::from_secs(2),
        ..Exchange::default()
    };
    let moved = Moved {
        sent_bytes: 4_000,
        received_bytes: 500,
        sent_tokens: 900,
        received_tokens: 40,
    };
    metrics.request_ended("glm", &exchange, moved);
    let took = Duration::from_millis(3);
    metrics.scanned(Text::Request, Scanned { bytes: 4_000, took });
    metrics.scanned(Text::Response, Scanned { bytes: 900, took });
    metrics.attempted("soc", &Next::Delivered);
    metrics.timed("judged", async { Ok(()) }).await.unwrap();
    metrics.database(true, (3, 1));
    metrics.surveyed(&config, &survey(), NOW);
    let folder = tempfile::tempdir().unwrap();
    let room = Room {
        max_bytes: 1 << 20,
        reserve_bytes: 0,
    };
    let spool = Spooler::open(&folder.path().join("spool"), room).unwrap();
    spool.append(b"a fact".to_vec()).await.unwrap();
    metrics.watch_spool(spool);
    (metrics, folder)
}

#[tokio::test]
async fn what_happened_is_told_in_numbers() {
    let (metrics, _folder) = eventful().await;
    let text = metrics.encode(Format::Classic);
    let values = values(&text);
    for (series, value) in [
        (
            r#"prober_probes_total{endpoint="glm",scenario="crosstalk",verdict="clean"}"#,
            1.0,
        ),
        // What has not happened yet is 0, so that its first time is an increase.
        (
            r#"prober_probes_total{endpoint="glm",scenario="crosstalk",verdict="leak"}"#,
            0.0,
        ),
        (
            r#"prober_probes_inconclusive_total{endpoint="glm",scenario="crosstalk",reason="timed_out"}"#,
            1.0,
        ),
        (
            r#"prober_findings_total{endpoint="glm",kind="limit_violation",certainty="confirmed"}"#,
            1.0,
        ),
        (
            r#"prober_findings_total{endpoint="glm",kind="leak",certainty="confirmed"}"#,
            0.0,
        ),
        (
            r#"prober_rounds_total{endpoint="glm",scenario="crosstalk",end="clean"}"#,
            1.0,
        ),
        (
            r#"prober_last_conclusive_probe_timestamp_seconds{endpoint="glm",scenario="crosstalk"}"#,
            1_796_119_200.0,
        ),
        (
            r#"prober_last_conclusive_probe_timestamp_seconds{endpoint="kimi",scenario="crosstalk"}"#,
            0.0,
        ),
        (
            r#"prober_requests_total{endpoint="glm",outcome="answered"}"#,
            1.0,
        ),
        (
            r#"prober_request_duration_seconds_bucket{le="2.5",endpoint="glm"}"#,
            1.0,
        ),
        (r#"prober_sent_tokens_total{endpoint="glm"}"#, 900.0),
        (r#"prober_received_bytes_total{endpoint="glm"}"#, 500.0),
        (
            r#"prober_unresolved_incidents{endpoint="glm",kind="leak",severity="critical",state="open"}"#,
            2.0,
        ),
        (
            r#"prober_unresolved_incidents{endpoint="glm",kind="other",severity="error",state="open"}"#,
            2.0,
        ),
        (
            r#"prober_unresolved_incidents{endpoint="kimi",kind="leak",severity="critical",state="open"}"#,
            0.0,
        ),
        (
            r#"prober_sensitivity_ratio{endpoint="glm",scenario="crosstalk"}"#,
            0.75,
        ),
        (r#"prober_budget_used_tokens{endpoint="glm"}"#, 1_200.0),
        (
            r#"prober_budget_limit_money{endpoint="glm",currency="EUR"}"#,
            2.0,
        ),
        (
            r#"prober_budget_used_money{endpoint="glm",currency="EUR"}"#,
            1.5,
        ),
        (
            r#"prober_alert_deliveries_total{receiver="soc",result="delivered"}"#,
            1.0,
        ),
        (
            r#"prober_alert_oldest_pending_seconds{receiver="soc",urgent="true"}"#,
            120.0,
        ),
        (r#"prober_alert_receiver_disabled{receiver="soc"}"#, 1.0),
        (r#"prober_database_connections{state="idle"}"#, 3.0),
        (
            r#"prober_database_write_duration_seconds_count{act="judged"}"#,
            1.0,
        ),
        (
            r#"prober_scenario_interval_seconds{endpoint="glm",scenario="crosstalk"}"#,
            900.0,
        ),
        ("prober_drill_interval_seconds", 86_400.0),
        (
            r#"prober_drill_last_success_timestamp_seconds{endpoint="glm"}"#,
            1_796_119_200.0,
        ),
        (
            r#"prober_drill_last_success_timestamp_seconds{endpoint="kimi"}"#,
            0.0,
        ),
        (r#"prober_drill_last_successful{endpoint="glm"}"#, 0.0),
        ("prober_database_up", 1.0),
        ("prober_spool_records", 1.0),
        ("prober_config_restart_required", 1.0),
        ("prober_alert_receivers", 1.0),
    ] {
        let found = values.get(series).or_else(|| {
            // Where the library puts the bound of a bucket is its own affair.
            let other = series.replace(
                r#"{le="2.5",endpoint="glm"}"#,
                r#"{endpoint="glm",le="2.5"}"#,
            );
            values.get(other.as_str())
        });
        assert_eq!(found, Some(&value), "{series} in\n{text}");
    }
    let bound =
        values[r#"prober_leak_rate_upper_bound_ratio{endpoint="glm",scenario="crosstalk"}"#];
    assert!((0.0..0.05).contains(&bound), "{bound}");
    // Without a limit or a price there is nothing to tell.
    assert!(!text.contains(r#"prober_budget_limit_tokens{endpoint="kimi"}"#));
    assert!(!text.contains(r#"prober_budget_used_money{endpoint="kimi""#));
    assert!(!text.contains(r#"prober_drill_last_successful{endpoint="kimi"}"#));
}

/// The rows of the page's tables of metrics: name, kind, labels.
fn documented() -> BTreeMap<String, (String, Vec<String>)> {
    let page = include_str!("../../../docs/metrics.md");
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let name = cells.next()?.trim_end_matches('`').to_owned();
        let kind = cells.next()?;
        if !["counter", "gauge", "histogram"].contains(&kind) {
            return None;
        }
        let labels = cells.next()?.split(", ");
        let labels = labels.map(|label| label.trim_matches('`').to_owned());
        let labels = labels.filter(|label| !label.is_empty());
        Some((name, (kind.to_owned(), labels.collect())))
    });
    rows.collect()
}

#[tokio::test]
async fn the_page_and_what_is_told_have_the_same_metrics() {
    let (metrics, _folder) = eventful().await;
    let described: BTreeMap<String, (String, Vec<String>)> = metrics
        .described()
        .iter()
        .map(|one| {
            let labels = one.labels.iter().map(|&label| label.to_owned());
            (one.name.clone(), (one.kind.to_owned(), labels.collect()))
        })
        .collect();
    assert_eq!(documented(), described);
    let text = metrics.encode(Format::Classic);
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let told: BTreeMap<&str, &str> = types.filter_map(|line| line.split_once(' ')).collect();
    let expected: BTreeMap<&str, &str> = described
        .iter()
        .map(|(name, (kind, _))| (name.as_str(), kind.as_str()))
        .collect();
    assert_eq!(told, expected);
    for (series, _) in values(&text) {
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let base = ["_bucket", "_sum", "_count"]
            .into_iter()
            .find_map(|ending| {
                name.strip_suffix(ending)
                    .filter(|base| described.contains_key(*base))
            })
            .unwrap_or(name);
        let labels = labels.trim_end_matches('}').split(',');
        let labels: BTreeSet<&str> = labels
            .filter_map(|label| label.split_once('='))
            .map(|(label, _)| label)
            .filter(|label| *label != "le")
            .collect();
        let expected: BTreeSet<&str> = described[base].1.iter().map(String::as_str).collect();
        assert_eq!(labels, expected, "{series}");
    }
}

#[tokio::test]
async fn both_formats_tell_the_same_values() {
    let (metrics, _folder) = eventful().await;
    let (classic, open) = (
        metrics.encode(Format::Classic),
        metrics.encode(Format::OpenMetrics),
    );
    assert!(open.ends_with("# EOF\n") && !classic.contains("# EOF"));
    let is_ours = |series: &&str| !series.starts_with("process_");
    let names = |text: &str| -> BTreeSet<String> {
        let values = values(text);
        values
            .into_keys()
            .filter(is_ours)
            .map(str::to_owned)
            .collect()
    };
    // The bounds of buckets are written differently: 1 and 1.0.
    let without_bounds = |names: BTreeSet<String>| -> BTreeSet<String> {
        names
            .into_iter()
            .filter(|name| !name.contains("le="))
            .collect()
    };
    assert_eq!(
        without_bounds(names(&classic)),
        without_bounds(names(&open))
    );
}

#[tokio::test]
async fn series_of_what_is_not_configured_go_away_and_are_not_made() {
    let (metrics, _folder) = eventful().await;
    metrics.configure(&load(&[KIMI, CROSSTALK]), &[]);
    metrics.judged(&judged("leak", None));
    metrics.attempted("soc", &Next::Disable);
    drop(metrics.request_begun("glm"));
    let text = metrics.encode(Format::Classic);
    assert!(
        !text.contains(r#""glm""#) && !text.contains(r#""soc""#),
        "{text}"
    );
    assert!(text.contains(r#"endpoint="kimi""#));
}

#[tokio::test]
async fn what_goes_on_at_an_endpoint_that_leaves_is_still_told() {
    let (metrics, _folder) = eventful().await;
    metrics.configure(&load(&[KIMI, CROSSTALK]), &["glm".to_owned()]);
    metrics.judged(&judged("leak", None));
    let text = metrics.encode(Format::Classic);
    let leaks = r#"prober_probes_total{endpoint="glm",scenario="crosstalk",verdict="leak"}"#;
    assert_eq!(values(&text)[leaks], 1.0);
    metrics.configure(&load(&[KIMI, CROSSTALK]), &[]);
    assert!(!metrics.encode(Format::Classic).contains("glm"));
}

#[tokio::test]
async fn money_in_another_currency_is_another_series_and_the_only_one() {
    let (metrics, _folder) = eventful().await;
    let config = load(&[&GLM.replace("EUR", "USD"), CROSSTALK]);
    metrics.configure(&config, &[]);
    metrics.surveyed(&config, &survey(), NOW);
    let text = metrics.encode(Format::Classic);
    assert!(text.contains(r#"currency="USD""#) && !text.contains("EUR"));
}

#[tokio::test]
async fn an_incident_that_is_over_is_0_again_and_an_unknown_rate_is_absent() {
    let (metrics, _folder) = eventful().await;
    let config = load(&[GLM, CROSSTALK]);
    let survey = Survey {
        lines: vec![LineSurvey {
            history: History::default(),
            asked_of_late: 0,
            ..survey().lines[0].clone()
        }],
        ..Survey::default()
    };
    metrics.surveyed(&config, &survey, NOW);
    let text = metrics.encode(Format::Classic);
    let leak = r#"prober_unresolved_incidents{endpoint="glm",kind="leak",severity="critical",state="open"}"#;
    assert_eq!(values(&text)[leak], 0.0);
    assert!(!text.contains("prober_leak_rate_upper_bound_ratio"));
    assert!(!text.contains("prober_sensitivity_ratio"));
}

#[tokio::test]
async fn a_write_that_fails_or_is_given_up_is_an_error_and_a_lost_lease_is_none() {
    let metrics = Metrics::new();
    let failed = async { Err::<(), _>(StoreError::NotKept) };
    metrics.timed("sent", failed).await.unwrap_err();
    let lost = async { Err::<(), _>(StoreError::LeaseLost) };
    metrics.timed("begin", lost).await.unwrap_err();
    let never = metrics.timed("ended", std::future::pending::<Result<(), _>>());
    let waited = tokio::time::timeout(Duration::ZERO, never).await;
    assert!(waited.is_err());
    let text = metrics.encode(Format::Classic);
    let values = values(&text);
    for (act, errors) in [("sent", 1.0), ("begin", 0.0), ("ended", 1.0)] {
        let series = format!(r#"prober_database_write_errors_total{{act="{act}"}}"#);
        assert_eq!(values[series.as_str()], errors, "{act}");
    }
}

#[test]
fn a_request_and_a_lease_count_while_they_last() {
    let metrics = Metrics::new();
    metrics.configure(&load(&[GLM, CROSSTALK]), &[]);
    let (request, lease) = (metrics.request_begun("glm"), metrics.leased("glm"));
    let both = || {
        let text = metrics.encode(Format::Classic);
        let values = values(&text);
        let requests = values[r#"prober_requests_in_flight{endpoint="glm"}"#];
        (requests, values[r#"prober_leases_held{endpoint="glm"}"#])
    };
    assert_eq!(both(), (1.0, 1.0));
    drop((request, lease));
    assert_eq!(both(), (0.0, 0.0));
}
