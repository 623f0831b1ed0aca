//! What applications are said to send: a rules file names categories of data by application and key.

use super::pattern::Pattern;
use super::settings::{SettingsError, Source};
use super::tally::Sender;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Categories that come with the program, with what is to be done.
const CATEGORIES: &str = include_str!("../../data/exposure/categories.toml");

/// Rules.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    advice: BTreeMap<String, String>,
    senders: Vec<Rule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    application: Option<Pattern>,
    key: Option<Pattern>,
    categories: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRules {
    #[serde(default)]
    categories: Vec<Category>,
    #[serde(default)]
    senders: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Category {
    name: String,
    advice: String,
}

impl Rules {
    /// The rules of a file, with the categories that come with the program.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn load(path: Option<&Path>) -> Result<Self, SettingsError> {
        let mut rules = Self::default();
        rules.add(&Source::builtin("categories", CATEGORIES))?;
        if let Some(path) = path {
            rules.add(&Source::read(path)?)?;
        }
        Ok(rules)
    }

    fn add(&mut self, source: &Source) -> Result<(), SettingsError> {
        let raw: RawRules = source.parse()?;
        for Category { name, advice } in raw.categories {
            self.advice.insert(name, advice);
        }
        for (number, rule) in (1..).zip(&raw.senders) {
            if rule.application.is_none() && rule.key.is_none() {
                return Err(source.wrong(format!(
                    "`senders` number {number} names neither `application` nor `key`"
                )));
            }
            let strange = rule
                .categories
                .iter()
                .find(|name| !self.advice.contains_key(*name));
            if let Some(name) = strange {
                let known: Vec<&str> = self.advice.keys().map(String::as_str).collect();
                return Err(source.wrong(format!(
                    "`senders` number {number} has the category `{name}` (known: {}; add your own as [[categories]] with `name` and `advice`)",
                    known.join(", ")
                )));
            }
        }
        self.senders.extend(raw.senders);
        Ok(())
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }

    /// What somebody is said to send: of all rules that fit.
    pub(super) fn of(&self, sender: &Sender) -> BTreeSet<&str> {
        let fits = |pattern: &Option<Pattern>, name: &Option<String>| {
            let named =
                |pattern: &Pattern| name.as_ref().is_some_and(|name| pattern.is_match(name));
            pattern.as_ref().is_none_or(named)
        };
        let rules = self.senders.iter().filter(|rule| {
            fits(&rule.application, &sender.application) && fits(&rule.key, &sender.key)
        });
        rules
            .flat_map(|rule| rule.categories.iter().map(String::as_str))
            .collect()
    }

    /// What is to be done about a category.
    pub(super) fn advice(&self, category: &str) -> &str {
        self.advice.get(category).map_or("", String::as_str)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Result<Rules, SettingsError> {
        let mut rules = Rules::load(None).unwrap();
        rules.add(&Source::builtin("r.toml", text))?;
        Ok(rules)
    }

    fn sender(key: Option<&str>, application: Option<&str>) -> Sender {
        Sender {
            key: key.map(str::to_owned),
            application: application.map(str::to_owned),
        }
    }

    #[test]
    fn categories_are_those_of_all_rules_that_fit() {
        let rules = rules(
            r#"
            [[categories]]
            name = "recipes"
            advice = "Change the menu."
            [[senders]]
            application = "support-*"
            categories = ["personal data"]
            [[senders]]
            key = "ci*"
            categories = ["source code", "credentials"]
            [[senders]]
            application = "support-kitchen"
            key = "k"
            categories = ["recipes"]
            "#,
        )
        .unwrap();
        let of = |key, application| {
            rules
                .of(&sender(key, application))
                .into_iter()
                .collect::<Vec<_>>()
                .join(" + ")
        };
        assert_eq!(
            of(Some("k"), Some("support-kitchen")),
            "personal data + recipes"
        );
        assert_eq!(of(None, Some("support-kitchen")), "personal data");
        assert_eq!(of(Some("CI-7"), None), "credentials + source code");
        assert_eq!(of(None, None), "");
        assert_eq!(rules.advice("recipes"), "Change the menu.");
        assert!(!rules.advice("credentials").is_empty());
    }

    #[test]
    fn what_is_wrong_with_rules_is_told() {
        let of = |text: &str| rules(text).map(drop).unwrap_err().to_string();
        assert_eq!(
            of("[[senders]]\ncategories = []"),
            "r.toml: `senders` number 1 names neither `application` nor `key`"
        );
        let unknown = of("[[senders]]\nkey = \"k\"\ncategories = [\"gossip\"]");
        assert!(
            unknown.starts_with("r.toml: `senders` number 1 has the category `gossip` (known: "),
            "{unknown}"
        );
    }
}
