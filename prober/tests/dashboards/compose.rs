//! What `compose.yaml` names is there and fits together; nothing is started.

use prober::config;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn services(compose: &Value) -> impl Iterator<Item = (&String, &Value)> {
    compose["services"].as_object().unwrap().iter()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    let list = list.as_array().into_iter().flatten();
    list.map(|text| text.as_str().unwrap())
}

/// What is mounted into a service: from where, and to where.
fn mounts(service: &Value) -> impl Iterator<Item = (&str, &str)> {
    texts(&service["volumes"]).map(|volume| {
        let (from, to) = volume.split_once(':').unwrap();
        (from, to.trim_end_matches(":ro"))
    })
}

/// Names in `${NAME}` and `${NAME:?…}`.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("${").skip(1);
    parts.map(|part| part.split(['}', ':']).next().unwrap())
}

#[test]
fn images_are_pinned_and_what_is_mounted_is_there() {
    let compose = yaml("compose.yaml");
    for (name, service) in services(&compose) {
        let (_, tag) = service["image"].as_str().unwrap().split_once(':').unwrap();
        let is_ours = service["build"] == ".";
        assert!(is_ours || tag.contains('.'), "{name}: {tag} may change");
        for (from, _) in mounts(service) {
            if from.starts_with("./") {
                assert!(root().join(from).exists(), "{name}: {from}");
                let read_only = texts(&service["volumes"])
                    .all(|volume| !volume.starts_with("./") || volume.ends_with(":ro"));
                assert!(read_only, "{name} might write to the checkout");
            } else {
                let declared = compose["volumes"].get(from).is_some();
                assert!(declared, "{name}: {from} is declared nowhere");
            }
        }
        let needed = service["depends_on"].as_object().into_iter().flatten();
        for (other, _) in needed {
            assert!(compose["services"].get(other).is_some(), "{name}: {other}");
        }
        for port in texts(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{name}: {port} is open");
        }
    }
}

#[test]
fn every_secret_is_asked_for_and_explained() {
    let (text, example) = (read("compose.yaml"), read("dashboards/compose/env.example"));
    for name in variables(&text) {
        assert!(
            text.contains(&format!("${{{name}:?")),
            "{name} may be empty"
        );
        assert!(example.contains(&format!("\n{name}=\n")), "{name}");
    }
}

#[test]
fn grafana_finds_its_files_and_variables() {
    let compose = yaml("compose.yaml");
    let grafana = &compose["services"]["grafana"];
    let sources = read("dashboards/provisioning/datasources/prober.yaml");
    for name in variables(&sources) {
        assert!(grafana["environment"][name].is_string(), "{name}");
    }
    let provider = yaml("dashboards/provisioning/dashboards/prober.yaml");
    let path = provider["providers"][0]["options"]["path"].as_str();
    let mut mounts = mounts(grafana);
    assert!(mounts.any(|(from, to)| from == "./dashboards" && Some(to) == path));
    // Its role has the rights that the panels are tested with.
    let grants = read("dashboards/compose/grants.sql");
    let (_, documented) = crate::README.split_once("grant usage").unwrap();
    let (documented, _) = documented.split_once("```").unwrap();
    assert!(grants.ends_with(documented), "not what README.md says");
}

#[test]
fn the_prober_s_configuration_is_valid_and_it_is_found_by_the_others() {
    let path = root().join("dashboards/compose/prober.toml");
    let config = config::load_with(&path, &|_| None).unwrap_or_else(|errors| panic!("{errors}"));
    let port = config.serve.listen.unwrap().port();
    let scraped = yaml("dashboards/prometheus/prometheus.yml");
    let job = &scraped["scrape_configs"][0];
    let target = job["static_configs"][0]["targets"][0].as_str();
    assert_eq!(target, Some(format!("prober:{port}").as_str()));
    let image = read("Dockerfile");
    assert!(image.contains(&format!("http://127.0.0.1:{port}/-/healthy")));

    let compose = yaml("compose.yaml");
    let prober = &compose["services"]["prober"];
    let data = config.data_dir.to_str();
    assert!(mounts(prober).any(|(_, to)| Some(to) == data));
    let url = prober["environment"]["DATABASE_URL"].as_str().unwrap();
    assert!(url.contains("@postgres/"), "no such service");
    let text = read("dashboards/compose/prober.toml");
    assert!(text.contains("http://engine:8000/"));
    let mut engine = texts(&compose["services"]["engine"]["command"]);
    assert!(engine.any(|flag| flag == "--listen=0.0.0.0:8000"));
}

#[test]
fn the_image_is_built_from_the_lock_file_and_runs_as_nobody_special() {
    let image = read("Dockerfile");
    let builds = image.lines().filter(|line| line.contains("cargo build"));
    for line in builds {
        assert!(line.contains("--locked"), "{line}");
    }
    let (_, last_stage) = image.rsplit_once("\nFROM ").unwrap();
    assert!(last_stage.starts_with("debian:") && last_stage.contains("\nUSER prober\n"));
    assert!(last_stage.contains("\nHEALTHCHECK "));
    let left_out = read(".dockerignore");
    for line in ["/.env", "/target", "**/*.keys"] {
        assert!(left_out.lines().any(|it| it == line), "{line}");
    }
}
