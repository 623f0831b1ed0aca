//! Answers that are kept for whoever asks the same, or nearly the same.

use super::reply::Identity;
use crate::config::Config;
use crate::engine::{Faults, Finish, Submission};
use crate::fault::Fault;
use crate::token::Token;
use std::collections::{HashMap, VecDeque};

/// So many answers are kept at most.
const MOST: usize = 64;
/// Prompts at least so alike are taken for the same question.
const ALIKE: f64 = 0.9;

/// A complete answer.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) submission: Submission,
    pub(super) answer: Vec<Token>,
    pub(super) finish: Finish,
    pub(super) prompt_tokens: usize,
    pub(super) identity: Identity,
    /// Whether it was found by the same prompt, not by one that is alike.
    pub(super) is_exact: bool,
}

/// The last answers, the newest first.
pub(super) struct Answers {
    kept: VecDeque<Kept>,
    exact: bool,
    alike: bool,
    faults: Faults,
}

impl Answers {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            kept: VecDeque::new(),
            exact: config.response_cache || config.has(Fault::ResponseCacheWithoutTenant),
            alike: config.semantic_cache || config.has(Fault::SemanticCacheWithoutTenant),
            faults: Faults::new(config),
        }
    }

    /// Whether answers are kept at all.
    pub(super) fn keeps_any(&self) -> bool {
        self.exact || self.alike
    }

    pub(super) fn keep(&mut self, kept: Kept) {
        self.kept.push_front(kept);
        self.kept.truncate(MOST);
    }

    /// An answer to the same prompt of the same tenant, or else to one that is alike.
    pub(super) fn find(&mut self, asked: &Submission) -> Option<Kept> {
        let same = self.exact.then(|| {
            let any_tenant = self.faults.meets(Fault::ResponseCacheWithoutTenant);
            let may = |kept: &&Kept| any_tenant || kept.submission.tenant == asked.tenant;
            let is_same = |kept: &&Kept| {
                is_comparable(&kept.submission, asked)
                    && kept.submission.most == asked.most
                    && kept.submission.prompt == asked.prompt
            };
            self.kept.iter().filter(may).find(is_same).cloned()
        });
        if let Some(Some(same)) = same {
            return Some(same);
        }
        if !self.alike || self.kept.is_empty() {
            return None;
        }
        let any_tenant = self.faults.meets(Fault::SemanticCacheWithoutTenant);
        let may = |kept: &&Kept| any_tenant || kept.submission.tenant == asked.tenant;
        let words = bag(&asked.prompt);
        let is_alike = |kept: &&Kept| {
            is_comparable(&kept.submission, asked)
                && similarity(&words, &bag(&kept.submission.prompt)) >= ALIKE
        };
        let alike = self.kept.iter().filter(may).find(is_alike)?;
        Some(Kept {
            is_exact: false,
            ..alike.clone()
        })
    }
}

/// Whether answers to these requests are answers of the same model, thinking or not.
fn is_comparable(one: &Submission, other: &Submission) -> bool {
    (&one.adapter, one.thinking) == (&other.adapter, other.thinking)
}

/// How often each token occurs: an embedding that knows nothing of order.
fn bag(prompt: &[Token]) -> HashMap<&[u8], f64> {
    let mut counts = HashMap::new();
    for token in prompt {
        *counts.entry(token.as_bytes()).or_default() += 1.0;
    }
    counts
}

/// The cosine of the angle between two embeddings.
fn similarity(one: &HashMap<&[u8], f64>, other: &HashMap<&[u8], f64>) -> f64 {
    let product: f64 = one
        .iter()
        .filter_map(|(token, count)| Some(count * other.get(token)?))
        .sum();
    let length = |bag: &HashMap<&[u8], f64>| bag.values().map(|count| count * count).sum::<f64>();
    product / (length(one) * length(other)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultSetting;
    use crate::token::tokenize;

    fn asked(tenant: &str, prompt: &str) -> Submission {
        Submission {
            prompt: tokenize(prompt).into(),
            most: 9,
            tenant: tenant.to_owned(),
            salt: String::new(),
            adapter: None,
            thinking: None,
        }
    }

    /// Whether globex gets acme's answer, to the same prompt and to one that is alike; and acme itself.
    fn hits(config: Config) -> [Option<bool>; 3] {
        let mut answers = Answers::new(&config);
        let prompt =
            "What are the rules for visitors in the reading room of the library on Mondays?";
        let alike =
            "What are the rules for visitors in the reading room of the library on Fridays?";
        answers.keep(Kept {
            submission: asked("acme", prompt),
            answer: tokenize("None."),
            finish: Finish::Stop,
            prompt_tokens: 17,
            identity: Identity::default(),
            is_exact: true,
        });
        let asks = [("globex", prompt), ("globex", alike), ("acme", prompt)];
        asks.map(|(tenant, prompt)| {
            let found = answers.find(&asked(tenant, prompt))?;
            Some(found.is_exact)
        })
    }

    fn with(fault: Fault) -> Config {
        Config {
            faults: vec![FaultSetting {
                fault,
                probability: 1.0,
            }],
            ..Config::default()
        }
    }

    #[test]
    fn an_answer_is_kept_for_its_own_tenant_unless_the_key_leaves_the_tenant_out() {
        assert_eq!(hits(Config::default()), [None, None, None]);
        let healthy = Config {
            response_cache: true,
            semantic_cache: true,
            ..Config::default()
        };
        assert_eq!(hits(healthy), [None, None, Some(true)]);
        let exact = with(Fault::ResponseCacheWithoutTenant);
        assert_eq!(hits(exact), [Some(true), None, Some(true)]);
        let alike = with(Fault::SemanticCacheWithoutTenant);
        assert_eq!(hits(alike), [Some(false), Some(false), Some(false)]);
    }

    #[test]
    fn other_questions_are_not_alike() {
        let (one, other) = (
            tokenize("The board agreed."),
            tokenize("Visitors are welcome on Mondays."),
        );
        assert!(similarity(&bag(&one), &bag(&other)) < 0.5);
        assert!(similarity(&bag(&one), &bag(&one)) > 0.999);
    }
}
