//! Every panel's query runs against real facts, with Grafana's macros expanded as Grafana does, and the
//! dashboard files keep the rules of provisioning.
#![allow(clippy::unwrap_used)]

mod support;

use prober::clock::{Clock as _, SystemClock};
use prober::drill::Conductor;
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{Column, Row};
use support::grafana::{DASHBOARDS, Range, panels};
use support::*;
use time::Duration;

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
    rehearse(&rehearsal).await;
    let now = SystemClock.now();
    // Up to two days are read from sums of hours, longer times from those of days.
    let ranges = [Duration::DAY, Duration::weeks(5)].map(|before| Range {
        from: now - before,
        to: now + Duration::DAY,
    });
    for (_, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            let targets = panel["targets"].as_array().unwrap().iter();
            for (target, range) in targets.flat_map(|target| ranges.map(|range| (target, range))) {
                let sql = range.expand(target["rawSql"].as_str().unwrap());
                let rows: Vec<PgRow> = sqlx::query(sqlx::AssertSqlSafe(sql))
                    .fetch_all(&database.pool)
                    .await
                    .unwrap_or_else(|error| panic!("{title}: {error}"));
                let may_be_empty =
                    ["What did not run?", "Why was something not proven?"].contains(&title);
                assert!(may_be_empty || !rows.is_empty(), "{title} shows nothing");
                for row in &rows {
                    let texts = (0..row.len()).filter_map(|at| row.try_get::<&str, _>(at).ok());
                    let drill = texts.into_iter().find(|text| text.contains("drill"));
                    assert_eq!(drill, None, "{title}: a drill is counted apart");
                }
                if target["format"] == "time_series" {
                    assert_eq!(rows[0].columns()[0].name(), "time", "{title}");
                }
                if title == "Is anybody leaking?" {
                    assert_eq!(rows[0].get::<i64, _>(0), i64::from(report.leaks));
                }
                if title == "How much was tried?" {
                    let tried = "select count(*) from probes join rounds on rounds.id = round_id
                                 join endpoints on endpoints.id = endpoint_id
                                 where probes.verdict is not null and role <> 'calibration' and not is_drill";
                    assert_eq!(rows[0].get::<i64, _>(0), database.count(tried).await);
                }
            }
        }
    }
    store.clone().close().await;
}

/// Holds a drill: a leak that nothing may count.
async fn rehearse(rehearsal: &Rehearsal) {
    let (executor, _) = ready(&rehearsal.config, &rehearsal.store).await;
    let settings = rehearsal.config.drill;
    let conductor = Conductor::new(&executor, settings, Vec::new(), || 7);
    let begun = conductor.begin("glm", "Ada".to_owned()).await.unwrap();
    conductor.carry_out(begun.unwrap()).await.unwrap();
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
