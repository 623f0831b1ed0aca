//! Every panel's query runs against real facts, as the role of dashboards/README.md, with Grafana's macros expanded as
//! Grafana does; and the dashboard files keep the rules of provisioning.
#![allow(clippy::unwrap_used)]

mod compose;
mod files;
mod prometheus;
#[path = "../support/mod.rs"]
mod support;

use prober::clock::{Clock as _, SystemClock};
use prober::drill::Conductor;
use serde_json::Value;
use sqlx::ValueRef as _;
use sqlx::postgres::{PgPool, PgPoolOptions, PgRow};
use sqlx::{
    AssertSqlSafe, Column as _, Executor as _, Row, SqlSafeStr as _, Statement as _, TypeInfo as _,
};
use support::grafana::{DASHBOARDS, Range, Variable, panels, sql};
use support::ledger::{Ledger, anomaly, violation};
use support::*;
use time::Duration;

const README: &str = include_str!("../../../dashboards/README.md");

/// Types that Grafana's PostgreSQL data source shows as what they are.
const TYPES: [&str; 8] = [
    "BOOL",
    "INT2",
    "INT4",
    "INT8",
    "FLOAT8",
    "NUMERIC",
    "TEXT",
    "TIMESTAMPTZ",
];
const NUMBERS: [&str; 5] = ["INT2", "INT4", "INT8", "FLOAT8", "NUMERIC"];

/// Panels that are about what goes wrong: an empty one is good news.
const MAY_BE_EMPTY: [&str; 3] = [
    "What did not run?",
    "Why was something not proven?",
    "Did it cut or miscount prompts, or take too long ones?",
];

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
    attend(&rehearsal).await;
    let grafana = grafana(database).await;
    let incident = database
        .count("select incidents.id from incidents join endpoints on endpoints.id = endpoint_id where kind = 'leak' and not is_drill limit 1")
        .await
        .to_string();
    let chosen: [Variable<'_>; 2] = [("incident", &incident), ("endpoint", "rehearsal")];
    // Nothing can be chosen while there is nothing.
    let nothing: [Variable<'_>; 2] = [("incident", ""), ("endpoint", "")];
    for (file, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            let query = variable["query"].as_str().unwrap();
            let rows = sqlx::query(AssertSqlSafe(query)).fetch_all(&grafana).await;
            assert!(!rows.unwrap().is_empty(), "{file}: {variable}");
        }
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            for (query, range) in sql(panel)
                .into_iter()
                .flat_map(|query| ranges().map(|range| (query, range)))
            {
                let rows = ask(&grafana, panel, range.expand(query, &chosen)).await;
                assert!(
                    MAY_BE_EMPTY.contains(&title) || !rows.is_empty(),
                    "{title} shows nothing"
                );
                let shows = |row: &PgRow| !row.try_get_raw(0).unwrap().is_null();
                let is_stat = panel["type"] == "stat";
                assert!(!is_stat || shows(&rows[0]), "{title}");
                for row in &rows {
                    let texts = (0..row.len()).filter_map(|at| row.try_get::<&str, _>(at).ok());
                    let drill = texts.into_iter().find(|text| text.contains("drill"));
                    assert_eq!(drill, None, "{title}: a drill is counted apart");
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
                ask(&grafana, panel, range.expand(query, &nothing)).await;
            }
        }
    }
    assert_map_matches(database, &grafana, &chosen).await;
    assert_drill_is_marked(database, &grafana).await;
    assert_miscounts_are_listed(database, &grafana).await;
    grafana.close().await;
    store.clone().close().await;
}

/// Up to two days are read from sums of hours, longer times from those of days.
fn ranges() -> [Range; 2] {
    let now = SystemClock.now();
    [Duration::DAY, Duration::weeks(5)].map(|before| Range {
        from: now - before,
        to: now + Duration::DAY,
    })
}

/// The rows of a query, of the shape that its panel shows.
async fn ask(grafana: &PgPool, panel: &Value, sql: String) -> Vec<PgRow> {
    let title = panel["title"].as_str().unwrap();
    let statement = grafana
        .prepare(AssertSqlSafe(sql.as_str()).into_sql_str())
        .await;
    let statement = statement.unwrap_or_else(|error| panic!("{title}: {error}"));
    let columns: Vec<(&str, &str)> = statement
        .columns()
        .iter()
        .map(|column| (column.name(), column.type_info().name()))
        .collect();
    for (name, kind) in &columns {
        assert!(TYPES.contains(kind), "{title}: {name} is {kind}");
    }
    let rows: Vec<PgRow> = sqlx::query(AssertSqlSafe(sql.as_str()))
        .fetch_all(grafana)
        .await
        .unwrap_or_else(|error| panic!("{title}: {error}"));
    let is_number = |column: &(&str, &str)| NUMBERS.contains(&column.1);
    match panel["type"].as_str().unwrap() {
        "stat" => {
            assert!(rows.len() <= 1 && columns.len() == 1, "{title}: one value");
            let shows_text = panel["options"]["reduceOptions"]["fields"] == "/.*/";
            assert_eq!(is_number(&columns[0]), !shows_text, "{title}: {columns:?}");
        }
        "timeseries" => {
            assert_eq!(columns[0].0, "time", "{title}");
            assert!(columns[1..].iter().any(is_number), "{title}: {columns:?}");
            let moments = moments(grafana, &sql).await;
            assert!(moments.is_sorted(), "{title}: not in the order of time");
        }
        "barchart" => {
            assert_eq!(panel["options"]["xField"], columns[0].0, "{title}");
            assert!(columns[1..].iter().all(is_number), "{title}: {columns:?}");
        }
        "table" => {
            for change in panel["fieldConfig"]["overrides"].as_array().unwrap() {
                let name = change["matcher"]["options"].as_str().unwrap();
                let found = columns.iter().any(|column| column.0 == name);
                assert!(found, "{title} has no column {name}");
            }
        }
        other => panic!("{title}: a {other} is not checked"),
    }
    rows
}

/// The moments of a series, as the macros give them: in seconds.
async fn moments(grafana: &PgPool, sql: &str) -> Vec<f64> {
    let query = format!("select panel.time::float8 from ({sql}) panel");
    let moments = sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(grafana);
    moments.await.unwrap()
}

/// The leak map shows each leaked slot's run, of the right receiver and donor.
async fn assert_map_matches(database: &TestDatabase, grafana: &PgPool, chosen: &[Variable<'_>]) {
    let panel = panel_of(
        "incident.json",
        "Which part of whose context was seen where?",
    );
    let rows = ask(grafana, &panel, ranges()[0].expand(sql(&panel)[0], chosen)).await;
    for row in &rows {
        assert_ne!(
            row.get::<&str, _>("receiver"),
            row.get::<&str, _>("donor"),
            "a stale page is another tenant's"
        );
        let (first, last): (i64, i64) = (row.get("first token"), row.get("last token"));
        assert!(first <= last);
    }
    let runs = "select coalesce(sum(jsonb_array_length(detail -> 'map')), 0)::bigint from findings
                where kind = 'leak' and incident_id = (select min(id) from incidents where kind = 'leak')";
    assert_eq!(rows.len() as i64, database.count(runs).await);
}

/// A drill's incident can be looked at, too; it says what it is.
async fn assert_drill_is_marked(database: &TestDatabase, grafana: &PgPool) {
    let drill = "select incidents.id from incidents join endpoints on endpoints.id = endpoint_id where is_drill";
    let drill = database.count(drill).await.to_string();
    let panel = panel_of("incident.json", "What is it?");
    let query = ranges()[0].expand(sql(&panel)[0], &[("incident", &drill)]);
    let rows = ask(grafana, &panel, query).await;
    assert!(rows[0].get::<bool, _>("is a drill"));
}

/// An endpoint that took too much, and reported what cannot be.
async fn assert_miscounts_are_listed(database: &TestDatabase, grafana: &PgPool) {
    let glm = Ledger::open(database).await;
    let found = vec![violation(), anomaly(600)];
    glm.find(found, SystemClock.now()).await;
    let panel = panel_of("endpoint.json", MAY_BE_EMPTY[2]);
    let query = ranges()[0].expand(sql(&panel)[0], &[("endpoint", "glm")]);
    let rows = ask(grafana, &panel, query).await;
    let of = |name: &str| rows.iter().find_map(|row| row.get::<Option<i64>, _>(name));
    assert_eq!((of("limit"), of("reported")), (Some(1_000), Some(600)));
    glm.store.close().await;
}

/// A prober holds the lease of the endpoint, and has a receiver.
async fn attend(rehearsal: &Rehearsal) {
    let Rehearsal { config, store, .. } = rehearsal;
    let (_, session) = ready(config, store).await;
    let (now, names) = (SystemClock.now(), ["overflow".to_owned()]);
    store.open_lines(session.id(), &names, now).await.unwrap();
    let hour = std::time::Duration::from_secs(3_600);
    let leased = store.lease(&[session.id()], "one", hour, 1).await;
    assert_eq!(leased.unwrap().len(), 1);
    store.see_receivers(&["soc".to_owned()], now).await.unwrap();
}

fn panel_of(file: &str, title: &str) -> Value {
    let mut files = DASHBOARDS.into_iter();
    let (_, text) = files.find(|(name, _)| *name == file).unwrap();
    let dashboard: Value = serde_json::from_str(text).unwrap();
    let mut panels = panels(&dashboard).iter();
    panels
        .find(|panel| panel["title"] == title)
        .unwrap()
        .clone()
}

/// The database as Grafana sees it: with the grants of the document, and no more.
async fn grafana(database: &TestDatabase) -> PgPool {
    let role = format!("grafana_{:016x}", random());
    let (_, block) = README.split_once("```sql\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    // A server's roles are for all its databases.
    let grants = block.replace("grafana", &role).replace('…', "secret");
    sqlx::raw_sql(AssertSqlSafe(grants))
        .execute(&database.pool)
        .await
        .unwrap();
    let (_, rest) = database.url.split_once("postgres@").unwrap();
    PgPoolOptions::new()
        .max_connections(1)
        .connect(&format!("postgres://{role}@{rest}"))
        .await
        .unwrap()
}

/// Holds a drill: a leak that nothing may count.
async fn rehearse(rehearsal: &Rehearsal) {
    let (executor, _) = ready(&rehearsal.config, &rehearsal.store).await;
    let settings = rehearsal.config.drill;
    let conductor = Conductor::new(&executor, settings, Vec::new(), || 7);
    let begun = conductor.begin("glm", "Ada".to_owned()).await.unwrap();
    conductor.carry_out(begun.unwrap()).await.unwrap();
}
