#![allow(clippy::unwrap_used)]

mod secrets;
mod values;

use super::*;
use crate::budget::Money;
use crate::endpoint::{Api, Limits, Proxy};
use crate::scenario::{Load, Recipe};
use canary_gen::Form;
use secrecy::ExposeSecret;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// In every secret of these tests, and in what the bad files have pasted into wrong places.
const SECRET: &str = "hunter2";

/// The environment of these tests.
fn variable(name: &str) -> Option<OsString> {
    let value = match name {
        "HOME" => "/home/tester",
        "ACME_KEY" => "sk-hunter2-acme",
        "GLOBEX_KEY" | "globex_key" => " sk-hunter2-globex\n",
        "EMPTY_KEY" => " \n",
        "TWO_LINES" => "hunter2\nhunter2",
        "STORE_URL" => "postgres://prober:hunter2@db.example.com/prober",
        "OTHER_URL" => "mysql://prober:hunter2@db.example.com/prober",
        _ => return None,
    };
    Some(value.into())
}

fn crate_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A copy of a folder of test data in which the modes are what the test needs (git keeps none).
fn copy_of(name: &str) -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    let mut configs = Vec::new();
    for entry in fs::read_dir(crate_folder().join("tests/data/config").join(name)).unwrap() {
        let from = entry.unwrap().path();
        let to = dir.path().join(from.file_name().unwrap());
        fs::copy(&from, &to).unwrap();
        let private = to.extension().is_some_and(|kind| kind == "key") && !to.ends_with("open.key");
        let mode = if private { 0o600 } else { 0o644 };
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).unwrap();
        if to.extension().is_some_and(|kind| kind == "toml") {
            configs.push(to);
        }
    }
    let tokenizer = crate_folder().join("tests/data/tokenizer.json");
    fs::copy(tokenizer, dir.path().join("tokenizer.json")).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["acme".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    fs::write(dir.path().join("client.pem"), certificate).unwrap();
    let key_file = dir.path().join("client.key");
    fs::write(&key_file, key.serialize_pem()).unwrap();
    fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
    configs.sort();
    assert!(!configs.is_empty(), "no configuration in `{name}`");
    (dir, configs)
}

/// Loads a text as a file of its own, in this tests' environment.
fn load_text(text: &str) -> Result<Config, ConfigErrors> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("prober.toml");
    fs::write(&path, text).unwrap();
    load_with(&path, &variable)
}

const SMALLEST: &str = r#"
    [[endpoints]]
    name = "one"
    api = "openai-chat"
    base_url = "http://127.0.0.1:8000/v1"
    model = "m"
    context_tokens = 4096
    tenants = [{ name = "a", no_key = true }, { name = "b", no_key = true }]
    [[scenarios]]
    kind = "crosstalk"
"#;

#[test]
fn each_bad_file_gives_exactly_its_expected_mistakes() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let (dir, configs) = copy_of("bad");
    let folder = format!("{}/", dir.path().display());
    let mut differences = Vec::new();
    for path in configs {
        let errors = load_with(&path, &variable).expect_err(&path.display().to_string());
        let found = format!("{errors}\n").replace(&folder, "");
        let name = path.with_extension("expected");
        let name = name.file_name().unwrap();
        assert!(!found.contains(SECRET), "a secret is told:\n{found}");
        let kept = crate_folder().join("tests/data/config/bad").join(name);
        if update {
            fs::write(&kept, &found).unwrap();
        }
        let expected = fs::read_to_string(&kept).unwrap_or_default();
        if found != expected {
            differences.push(format!(
                "{}\nfound:\n{found}expected:\n{expected}",
                kept.display()
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{}\n(UPDATE_EXPECTED=1 rewrites)",
        differences.join("\n\n")
    );
}

#[test]
fn every_expected_file_belongs_to_a_bad_one() {
    for entry in fs::read_dir(crate_folder().join("tests/data/config/bad")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "expected") {
            assert!(path.with_extension("toml").exists(), "{}", path.display());
        }
    }
}

#[test]
fn each_good_file_is_accepted_and_does_not_show_its_secrets() {
    let (_dir, configs) = copy_of("good");
    for path in configs {
        let config = load_with(&path, &variable).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(!format!("{config:?}").contains(SECRET));
    }
}

#[test]
fn the_shipped_example_is_valid_once_its_keys_are_set() {
    let path = crate_folder().join("examples/prober.toml");
    let keys = |name: &str| match name {
        "HOME" => Some("/home/tester".into()),
        name if name.ends_with("_KEY") => Some("a-key".into()),
        _ => None,
    };
    let config = load_with(&path, &keys).unwrap_or_else(|errors| panic!("{errors}"));
    let kinds: Vec<&str> = config
        .scenarios
        .iter()
        .map(|scenario| scenario.recipe.as_str())
        .collect();
    assert!(kinds.contains(&"overflow") && kinds.contains(&"crosstalk"));
}

#[test]
fn the_configuration_of_the_real_endpoint_is_valid_beside_its_key_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prober.toml");
    fs::copy(crate_folder().join("examples/llama-server.toml"), &path).unwrap();
    for tenant in ["acme", "globex"] {
        let key_file = folder.path().join(format!("{tenant}.key"));
        fs::write(&key_file, "a-key").unwrap();
        fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    load_with(&path, &|_| None).unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn every_example_of_an_api_is_valid() {
    let text = fs::read_to_string(crate_folder().join("../docs/apis.md")).unwrap();
    let blocks = text.split("```toml\n").skip(1);
    let examples: Vec<&str> = blocks
        .map(|block| block.split("```").next().unwrap())
        .collect();
    let head = "[[scenarios]]\nkind = \"overflow\"\n[[endpoints]]\nname = \"one\"\ncontext_tokens = 4096\n\
        tenants = [{ name = \"a\", no_key = true }, { name = \"b\", no_key = true }]\n";
    let shown: Vec<&str> = examples
        .iter()
        .map(|example| {
            let config = load_text(&format!("{head}{example}"));
            let config = config.unwrap_or_else(|errors| panic!("{example}\n{errors}"));
            config.endpoint("one").unwrap().api.as_str()
        })
        .collect();
    let known = Api::ALL.map(|api| api.as_str());
    assert_eq!(shown, [&known[..], &[Api::TEMPLATE]].concat());
}

#[test]
fn every_key_is_explained_in_the_documentation() {
    let text = fs::read_to_string(crate_folder().join("../docs/config.md")).unwrap();
    let mut missing = Vec::new();
    for (table, keys) in raw::TABLES {
        let heading = if table.is_empty() {
            "top of the file"
        } else {
            table
        };
        let section = text
            .split("\n## ")
            .find(|section| section.lines().next().unwrap_or_default().contains(heading))
            .unwrap_or_else(|| panic!("docs/config.md has no section `{heading}`"));
        for key in *keys {
            if !section.contains(&format!("`{key}`")) {
                missing.push(format!("{table}.{key}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "docs/config.md does not explain {missing:?}"
    );
}

#[test]
fn files_that_are_no_text_are_one_mistake() {
    let dir = tempfile::tempdir().unwrap();
    let missing = load_with(&dir.path().join("no.toml"), &variable).unwrap_err();
    assert_eq!(
        (missing.mistakes.len(), missing.mistakes[0].line),
        (1, None)
    );
    let folder = load_with(dir.path(), &variable).unwrap_err();
    assert!(
        folder.to_string().contains("is not a regular file"),
        "{folder}"
    );
    let latin = dir.path().join("latin.toml");
    fs::write(&latin, b"# good\n# gr\xfcn\n").unwrap();
    let errors = load_with(&latin, &variable).unwrap_err();
    assert_eq!(errors.mistakes[0].line, Some(2));
    let large = dir.path().join("large.toml");
    fs::write(&large, vec![b'#'; LARGEST_FILE as usize + 1]).unwrap();
    assert!(load_with(&large, &variable).is_err());
}

#[test]
fn mistakes_are_data_too() {
    let errors = load_text("colour = 1").unwrap_err();
    let json = serde_json::to_value(&errors).unwrap();
    let first = &json["mistakes"][0];
    assert!(
        first["message"].as_str().unwrap().contains("is missing"),
        "{json}"
    );
    let last = json["mistakes"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["key"], &last["line"]), (&"colour".into(), &1.into()));
    assert!(last["file"].as_str().unwrap().ends_with("prober.toml"));
}

#[test]
fn more_tenants_than_a_canary_can_name_are_refused() {
    let file = |tenants: usize| {
        let tenants: String = (0..tenants)
            .map(|number| format!("{{ name = \"t{number}\", no_key = true }},"))
            .collect();
        let (head, tail) = SMALLEST.split_once("tenants = ").unwrap();
        let (_, tail) = tail.split_once('\n').unwrap();
        load_text(&format!("{head}tenants = [{tenants}]\n{tail}"))
    };
    assert!(file(4_096).is_ok());
    assert!(
        file(4_097)
            .unwrap_err()
            .to_string()
            .contains("4097 tenants")
    );
}

#[test]
fn deep_and_strange_texts_do_not_panic() {
    for text in [
        "",
        "\u{feff}",
        "[",
        "a.b.c.d = 1",
        "[[[]]]",
        "endpoints = 1\nscenarios = {}",
        "endpoints = [1, {}, []]\nscenarios = [[], 'x']",
        "[endpoints.limits]\n[[scenarios.tenants]]",
        "\"\\u0000\" = 1",
        "endpoints = [{tenants = [{}, {}], limits = 3}]",
    ] {
        assert!(load_text(text).is_err(), "{text}");
    }
    let nested = format!("a = {}", "[".repeat(10_000));
    assert!(load_text(&nested).is_err());
}
