//! Every panel's query runs against real facts, with Grafana's macros expanded as Grafana does, and the
//! dashboard files keep the rules of provisioning.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{Column, Row};
use support::*;

const DASHBOARDS: [(&str, &str); 1] = [(
    "isolation.json",
    include_str!("../../dashboards/isolation.json"),
)];

fn panels(dashboard: &Value) -> &Vec<Value> {
    dashboard["panels"].as_array().unwrap()
}

/// As Grafana's PostgreSQL data source writes them.
fn expand(sql: &str) -> String {
    let mut text = sql
        .replace("$__interval", "1m")
        .replace("$__timeFrom()", "'yesterday'")
        .replace("$__timeTo()", "'tomorrow'");
    while let Some(start) = text.find("$__timeFilter(") {
        let end = start + text[start..].find(')').unwrap();
        let column = &text[start + "$__timeFilter(".len()..end];
        let filter =
            format!("{column} BETWEEN now() - interval '1 day' AND now() + interval '1 day'");
        text.replace_range(start..=end, &filter);
    }
    while let Some(start) = text.find("$__timeGroupAlias(") {
        let end = start + text[start..].find(')').unwrap();
        let column = text[start + "$__timeGroupAlias(".len()..end]
            .split(',')
            .next()
            .unwrap()
            .to_owned();
        text.replace_range(
            start..=end,
            &format!("floor(extract(epoch from {column})/60)*60 AS \"time\""),
        );
    }
    assert!(!text.contains("$__"), "a macro is not expanded: {text}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_panel_s_query_runs_and_those_about_a_leak_show_it() {
    let rehearsal = Rehearsal::new(&["stale-pages"], OVERFLOW).await;
    let Rehearsal {
        database,
        config,
        store,
        ..
    } = &rehearsal;
    let report = run_round(config, store, 1).await;
    assert_eq!(report.verdict, "leak");
    for (_, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            for target in panel["targets"].as_array().unwrap() {
                let sql = expand(target["rawSql"].as_str().unwrap());
                let rows: Vec<PgRow> = sqlx::query(sqlx::AssertSqlSafe(sql))
                    .fetch_all(&database.pool)
                    .await
                    .unwrap_or_else(|error| panic!("{title}: {error}"));
                let may_be_empty =
                    ["What did not run?", "Why was something not proven?"].contains(&title);
                assert!(may_be_empty || !rows.is_empty(), "{title} shows nothing");
                if target["format"] == "time_series" {
                    assert_eq!(rows[0].columns()[0].name(), "time", "{title}");
                }
                if title == "Is anybody leaking?" {
                    assert_eq!(rows[0].get::<i64, _>(0), i64::from(report.leaks));
                }
            }
        }
    }
    store.clone().close().await;
}

#[test]
fn dashboards_can_be_provisioned_and_explain_themselves() {
    for (file, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        assert!(
            dashboard.get("__inputs").is_none(),
            "{file}: __inputs do not work when provisioned"
        );
        assert!(
            dashboard["uid"].as_str().is_some_and(|uid| uid.len() <= 40),
            "{file}"
        );
        let mut ids: Vec<_> = panels(&dashboard)
            .iter()
            .map(|panel| panel["id"].as_i64().unwrap())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(
            ids.len(),
            panels(&dashboard).len(),
            "{file}: panel ids repeat"
        );
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            assert!(title.ends_with('?'), "{title}: a title asks a question");
            assert!(
                panel["description"]
                    .as_str()
                    .is_some_and(|text| text.len() > 20),
                "{title}: description"
            );
            assert!(
                panel["fieldConfig"]["defaults"]["noValue"].is_string(),
                "{title}: empty state"
            );
            assert_eq!(panel["datasource"]["uid"], "prober-postgres", "{title}");
            let grid = &panel["gridPos"];
            let number = |name: &str| grid[name].as_i64().unwrap();
            assert!(
                number("x") + number("w") <= 24 && number("h") > 0,
                "{title}: grid"
            );
        }
    }
}
