//! `prober exposure`: usage logs of several kinds, right and wrong, held against the founding incident.
#![allow(clippy::unwrap_used)]

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/exposure")
        .join(name)
}

/// The command with these logs, and what else is said on its line.
fn run(logs: &[&str], options: &[&str]) -> Output {
    let logs = logs.iter().map(|name| {
        if *name == "-" {
            PathBuf::from(name)
        } else {
            data(name)
        }
    });
    Command::new(env!("CARGO_BIN_EXE_prober"))
        .args(["exposure", "--incident", "founding", "--log"])
        .args(logs)
        .args(options)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The report as JSON; the exit code must be this one.
fn report(code: i32, logs: &[&str], options: &[&str]) -> Value {
    let output = run(logs, &[options, &["--format", "json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Records by what they came to: exposed, possible, of another time, model, provider, unreadable.
fn records(report: &Value) -> [u64; 6] {
    let of = |name: &str| report["records"][name].as_u64().unwrap();
    let all = [
        "exposed",
        "possible",
        "outside_the_period",
        "of_another_model",
        "at_another_provider",
        "unreadable",
    ]
    .map(of);
    assert_eq!(all.iter().sum::<u64>(), of("all"));
    all
}

#[test]
fn requests_of_the_model_at_the_provider_in_the_period_are_exposed_and_no_others() {
    let report = report(1, &["litellm.jsonl"], &[]);
    assert_eq!(records(&report), [3, 1, 1, 1, 1, 0]);
    assert_eq!(report["conclusion"], "exposed");
    assert_eq!(report["logs"][0]["format"], "litellm");
    let exposed = &report["exposed"];
    assert_eq!(exposed["requests"], 3);
    assert_eq!(exposed["input_tokens"], 701_401);
    assert_eq!(exposed["longest_input_tokens"], 700_000);
    assert_eq!(exposed["over_the_limit"], 1);
    assert_eq!(exposed["logged_as_next_to_nothing"], 1);
    assert_eq!(exposed["first"], "2026-08-24T09:00:00Z");
    assert_eq!(report["doubts"][0]["kind"], "provider_not_told");
    let senders = report["senders"].as_array().unwrap();
    assert_eq!(senders[0]["key"], "support-bot");
    assert_eq!(senders[0]["exposed"]["requests"], 2);
    assert_eq!(report["days"].as_array().unwrap().len(), 3);
}

#[test]
fn neither_contents_nor_whole_keys_are_in_any_report() {
    for format in ["text", "json", "html"] {
        let logs = ["litellm.jsonl", "broken.jsonl", "access.log"];
        let output = run(&logs, &["--format", format]);
        assert_eq!(output.status.code(), Some(1));
        let all = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(all).unwrap();
        for secret in [
            "MUST-NOT-APPEAR",
            "SECRET-IN",
            "sk-live-0123456789abcdefTAIL",
            "0123456789abcdef",
        ] {
            assert!(!text.contains(secret), "{format} holds {secret}");
        }
        assert!(text.contains("…TAIL (#"), "{text}");
    }
}

#[test]
fn every_line_that_cannot_be_read_is_told_with_its_place_and_makes_the_report_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("problems.txt");
    let report = report(
        3,
        &["broken.jsonl"],
        &["--problems", "2", "--problems-file", all.to_str().unwrap()],
    );
    assert_eq!(records(&report), [0, 0, 0, 1, 0, 5]);
    assert_eq!(report["conclusion"], "inconclusive");
    assert_eq!(report["problems"]["all"], 5);
    assert_eq!(report["problems"]["places"].as_array().unwrap().len(), 2);
    let lines = fs::read_to_string(all).unwrap();
    let name = data("broken.jsonl").display().to_string();
    let told: Vec<&str> = lines
        .lines()
        .map(|line| line.strip_prefix(&name).unwrap())
        .collect();
    assert_eq!(
        told,
        [
            ":2: the line is no JSON object: it ends in the middle of a value",
            ":4: time: no field tells it",
            ":5: time: the field does not hold one",
            ":6: model: no field tells it",
            ":7: the line is no JSON object: it is no object",
        ]
    );
}

#[test]
fn sums_of_a_usage_api_count_as_many_requests_as_they_sum_up() {
    let page = report(1, &["openai-page.json"], &[]);
    assert_eq!(records(&page), [1, 1, 0, 1, 0, 0]);
    assert_eq!(page["exposed"]["requests"], 40);
    assert_eq!(page["exposed"]["length_not_known"], 40);
    assert_eq!(page["doubts"][0]["kind"], "partly_in_period");
    assert_eq!(page["possible"]["requests"], 7);
    let csv = report(1, &["openai.csv"], &[]);
    assert_eq!(csv["logs"][0]["layout"], "CSV");
    assert_eq!(csv["exposed"], page["exposed"]);
}

#[test]
fn exports_and_access_logs_are_recognised_by_their_first_lines() {
    for (log, format, layout, counts) in [
        ("openrouter.csv", "openrouter", "CSV", [1, 0, 0, 1, 1, 0]),
        ("envoy.jsonl", "envoy", "JSON lines", [1, 1, 0, 1, 0, 0]),
        (
            "access.log",
            "access-log",
            "access log lines",
            [1, 0, 0, 1, 0, 0],
        ),
    ] {
        let report = report(1, &[log], &[]);
        assert_eq!(report["logs"][0]["format"], format);
        assert_eq!(report["logs"][0]["layout"], layout);
        assert_eq!(records(&report), counts, "{log}");
    }
    let envoy = report(1, &["envoy.jsonl"], &[]);
    assert_eq!(envoy["exposed"]["longest_input_bytes"], 3_145_728);
    assert_eq!(envoy["possible"]["refused"], 1);
    assert_eq!(envoy["doubts"][0]["kind"], "model_not_told");
}

#[test]
fn a_log_of_ones_own_is_read_with_a_mapping_and_a_provider() {
    let mapping = data("own-mapping.toml");
    let mapping = ["--mapping", mapping.to_str().unwrap()];
    let silent = report(3, &["own.log"], &mapping);
    assert_eq!(records(&silent), [0, 1, 0, 0, 0, 1]);
    let named = report(
        1,
        &["own.log"],
        &[mapping.as_slice(), &["--provider", "workers-ai"]].concat(),
    );
    assert_eq!(records(&named), [1, 0, 0, 0, 0, 1]);
    assert_eq!(named["exposed"]["first"], "2026-08-24T12:00:00Z");
    // Without them it is no log that anybody knows.
    let unknown = report(3, &["own.log"], &[]);
    assert!(
        unknown["logs"][0]["failure"]
            .as_str()
            .unwrap()
            .contains("not recognised")
    );
}

#[test]
fn rules_name_the_categories_and_what_to_do_about_each() {
    let rules = data("rules.toml");
    let report = report(1, &["litellm.jsonl"], &["--rules", rules.to_str().unwrap()]);
    let categories = report["categories"].as_array().unwrap();
    let named: Vec<(&str, u64)> = categories
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["requests"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        named,
        [
            ("credentials", 1),
            ("personal data", 2),
            ("recipes", 2),
            ("source code", 1)
        ]
    );
    let steps = report["next_steps"].to_string();
    assert!(
        steps.contains("Recipes: Change the menu.") && steps.contains("Cloudflare Workers AI"),
        "{steps}"
    );
}

#[test]
fn compressed_logs_are_read_and_one_that_breaks_off_is_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    let plain = fs::read(data("openrouter.csv")).unwrap();
    let plain = String::from_utf8(plain)
        .unwrap()
        .replace("Cloudflare", "Z.AI");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(plain.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("a.gz"), &gzip).unwrap();
    fs::write(
        path("a.zst"),
        zstd::encode_all(plain.as_bytes(), 1).unwrap(),
    )
    .unwrap();
    fs::write(path("cut.gz"), &gzip[..gzip.len() - 12]).unwrap();
    for (name, code, compression) in [
        ("a.gz", 0, "gzip"),
        ("a.zst", 0, "zstd"),
        ("cut.gz", 3, "gzip"),
    ] {
        let report = report(code, &[&path(name)], &[]);
        assert_eq!(report["logs"][0]["compression"], compression);
        assert_eq!(
            report["logs"][0]["failure"].is_null(),
            code == 0,
            "{report}"
        );
    }
}

#[test]
fn logs_without_a_record_of_the_period_prove_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("july.jsonl");
    let july = r#"{"time":"2026-07-01T00:00:00Z","model":"@cf/zai-org/glm-5.3","input_tokens":1}"#;
    fs::write(&path, july).unwrap();
    let july = report(3, &[path.to_str().unwrap()], &[]);
    assert!(july["reasons"].to_string().contains("from the period"));
    fs::write(&path, "").unwrap();
    assert_eq!(records(&report(3, &[path.to_str().unwrap()], &[])), [0; 6]);
}

#[test]
fn the_report_is_the_same_whatever_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.jsonl");
    let mut text = String::new();
    for number in 0..40_000 {
        let (day, key) = (number % 60, number * 7_919 % 15_000);
        text.push_str(&format!(
            "{{\"time\":{},\"model\":\"@cf/zai-org/glm-5.3\",\"key\":\"key-{key}\",\"input_tokens\":{number}{}\n",
            1_785_542_400 + day * 86_400,
            if number % 1_000 == 0 { "" } else { "}" }
        ));
    }
    fs::write(&path, text).unwrap();
    let with = |threads: &str| {
        let mut report = report(1, &[path.to_str().unwrap()], &["--threads", threads]);
        report["made_at"] = Value::Null;
        report
    };
    let one = with("1");
    assert_eq!(one["records"]["unreadable"], 40);
    assert!(one["other_senders"]["requests"].as_u64().unwrap() > 0);
    assert!(one == with("5"), "the reports differ");
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_the_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    let output = run(
        &["litellm.jsonl"],
        &["--format", "html", "--output", path.to_str().unwrap()],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let page = fs::read_to_string(&path).unwrap();
    for part in [
        "<h1>",
        "<caption>",
        "scope=\"row\"",
        "prefers-color-scheme",
        "@media print",
        "lang=\"en\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in [
        "<script",
        "src=",
        "href=",
        "url(",
        "@import",
        "http-equiv=\"refresh\"",
    ] {
        assert!(!page.contains(part), "{part}");
    }
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn what_is_wrong_with_the_command_or_its_files_is_an_error() {
    for (logs, options, message) in [
        (vec!["no-such.jsonl"], vec![], "no-such.jsonl"),
        (
            vec!["litellm.jsonl"],
            vec!["--mapping", "/nowhere.toml"],
            "/nowhere.toml: cannot be read",
        ),
        (
            vec!["litellm.jsonl"],
            vec!["--log-format", "litelm"],
            "litellm",
        ),
        (
            vec!["litellm.jsonl"],
            vec!["--rules", "/nowhere.toml"],
            "/nowhere.toml: cannot be read",
        ),
        (
            vec!["litellm.jsonl"],
            vec!["--output", "/nowhere/report"],
            "write the report",
        ),
        (
            vec!["litellm.jsonl"],
            vec!["--provider", "clodflare"],
            "does not know a provider `clodflare`",
        ),
    ] {
        let output = run(&logs, &options);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(message) && output.stdout.is_empty(), "{said}");
    }
}
