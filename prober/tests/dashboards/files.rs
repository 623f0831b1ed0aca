//! What holds of the dashboards' files.

use crate::support::grafana::{DASHBOARDS, panels};
use serde_json::Value;
use std::collections::HashSet;

const PROVISIONED: &str = include_str!("../../../dashboards/provisioning/datasources/prober.yaml");
const SOURCES: [&str; 2] = ["prober-postgres", "prober-prometheus"];

fn dashboards() -> impl Iterator<Item = (&'static str, Value)> {
    let all = DASHBOARDS.into_iter();
    all.map(|(file, text)| (file, serde_json::from_str(text).unwrap()))
}

#[test]
fn dashboards_can_be_provisioned() {
    for source in SOURCES {
        assert!(PROVISIONED.contains(&format!("uid: {source}\n")));
    }
    let mut uids = HashSet::new();
    for (file, dashboard) in dashboards() {
        let inputs = dashboard.get("__inputs");
        assert!(
            inputs.is_none(),
            "{file}: __inputs do not work when provisioned"
        );
        let uid = dashboard["uid"].as_str().unwrap().to_owned();
        assert!(uid.len() <= 40, "{file}");
        assert!(uids.insert(uid), "{file}: another one has this uid");
        assert_eq!(dashboard["schemaVersion"], 39, "{file}");
        assert!(
            dashboard.get("id").is_none(),
            "{file}: numbers are Grafana's"
        );
        let text = dashboard.to_string();
        assert!(!text.contains("://"), "{file}: a host that others lack");
        let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
        for asking in panels(&dashboard).iter().chain(variables) {
            let targets = asking["targets"].as_array().into_iter().flatten();
            for part in targets.chain([asking]) {
                let source = part["datasource"]["uid"].as_str().unwrap();
                assert!(SOURCES.contains(&source), "{file}: {source}");
            }
        }
    }
}

#[test]
fn dashboards_explain_themselves() {
    for (file, dashboard) in dashboards() {
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            assert!(title.ends_with('?'), "{title}: a title asks a question");
            let explains = |of: &Value| of["description"].as_str().is_some_and(|it| it.len() > 20);
            assert!(explains(panel) && explains(&dashboard), "{title}, {file}");
            let defaults = &panel["fieldConfig"]["defaults"];
            assert!(defaults["noValue"].is_string(), "{title}: empty state");
            let has_unit = defaults["unit"].is_string();
            assert!(has_unit || panel["type"] == "table", "{title}: unit");
        }
    }
}

#[test]
fn panels_have_numbers_of_their_own_and_do_not_overlap() {
    for (file, dashboard) in dashboards() {
        let (mut ids, mut taken) = (HashSet::new(), HashSet::new());
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            let id = panel["id"].as_i64().unwrap();
            assert!(ids.insert(id), "{file}: {title} has another one's id");
            let number = |name: &str| panel["gridPos"][name].as_i64().unwrap();
            let (x, y, w, h) = (number("x"), number("y"), number("w"), number("h"));
            assert!(x >= 0 && y >= 0 && w > 0 && h > 0 && x + w <= 24, "{title}");
            for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
                assert!(taken.insert(cell), "{file}: {title} covers another panel");
            }
        }
    }
}

/// A link names a dashboard that is there, by its uid.
#[test]
fn links_lead_to_dashboards_that_are_there() {
    let uids: HashSet<String> = dashboards()
        .map(|(_, dashboard)| dashboard["uid"].as_str().unwrap().to_owned())
        .collect();
    for (file, text) in DASHBOARDS {
        for link in text.split("\"/d/").skip(1) {
            let end = link.find(['?', '"']).unwrap();
            assert!(uids.contains(&link[..end]), "{file}: {}", &link[..end]);
        }
    }
}
