//! What each server's refusals, failures and odd answers are classified as
//! (`tests/data/outcomes/`, each with its origin).

use super::*;
use std::path::Path;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    origin: String,
    api: String,
    stream: bool,
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
    outcome: String,
    limit: Option<u64>,
    prompt_tokens: Option<u64>,
    retry_after_s: Option<u64>,
}

impl Case {
    fn read(&self, chunk: usize) -> Outcome {
        let api = Api::ALL.into_iter().find(|api| api.as_str() == self.api);
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let given = Given {
            status: self.status,
            asked: Asked {
                api: api.unwrap(),
                stream: self.stream,
            },
            ..Given::default()
        };
        given
            .read_with(&headers, self.body.as_bytes().chunks(chunk))
            .outcome
    }

    /// The outcome's code and the numbers it names.
    fn shown(outcome: &Outcome) -> (&'static str, [Option<u64>; 3]) {
        let numbers = match outcome {
            Outcome::RejectedTooLong {
                limit,
                prompt_tokens,
            } => [*limit, *prompt_tokens, None],
            Outcome::RateLimited { retry_after } => {
                [None, None, retry_after.map(|wait| wait.as_secs())]
            }
            _ => [None; 3],
        };
        (outcome.as_str(), numbers)
    }
}

#[test]
fn each_known_response_has_its_outcome_in_any_chunks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/outcomes");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
        for case in cases {
            count += 1;
            assert!(!case.origin.is_empty(), "{}", case.name);
            let numbers = [case.limit, case.prompt_tokens, case.retry_after_s];
            for chunk in [1, 7, usize::MAX] {
                let outcome = case.read(chunk);
                if Case::shown(&outcome) != (case.outcome.as_str(), numbers) {
                    let file = path.file_name().unwrap().display();
                    wrong.push(format!("{file}: {}: {outcome:?}", case.name));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 100, "{count}");
}
