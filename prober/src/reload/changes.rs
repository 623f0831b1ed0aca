//! What differs between two configurations: what a reload takes over, and what only a restart does. Pure.

use crate::config::{Config, Database};
use secrecy::ExposeSecret as _;
use std::collections::HashMap;
use std::fmt;

/// What a reload changes, by names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Endpoints.
    pub endpoints: Named,
    /// Scenarios.
    pub scenarios: Named,
    /// Receivers of alerts.
    pub receivers: Named,
}

/// Names of one sort of things. What differs in a secret only is not among the changed: it is taken over all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Only the new configuration has them.
    pub added: Vec<String>,
    /// Only the old one has them.
    pub removed: Vec<String>,
    /// Both have them, with different settings.
    pub changed: Vec<String>,
}

impl Named {
    /// Of names with their settings in writing, which hold no secret.
    fn between(old: &[(String, String)], new: &[(String, String)]) -> Self {
        let by_name =
            |all: &[(String, String)]| -> HashMap<String, String> { all.iter().cloned().collect() };
        let (before, after) = (by_name(old), by_name(new));
        let names = |all: &[(String, String)], wanted: &dyn Fn(&str, &str) -> bool| {
            let wanted = all.iter().filter(|(name, text)| wanted(name, text));
            wanted.map(|(name, _)| name.clone()).collect()
        };
        Self {
            added: names(new, &|name, _| !before.contains_key(name)),
            removed: names(old, &|name, _| !after.contains_key(name)),
            changed: names(new, &|name, text| {
                before.get(name).is_some_and(|before| before != text)
            }),
        }
    }
}

impl fmt::Display for Named {
    /// `added a, b; removed c; changed d`, or `unchanged`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
        ];
        let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts
            .map(|(what, names)| format!("{what} {}", names.join(", ")))
            .collect();
        if parts.is_empty() {
            return f.write_str("unchanged");
        }
        f.write_str(&parts.join("; "))
    }
}

impl Changes {
    /// From one configuration to another.
    #[must_use]
    pub fn between(old: &Config, new: &Config) -> Self {
        let endpoints = |config: &Config| -> Vec<_> {
            let all = config.endpoints.iter();
            all.map(|one| (one.name.clone(), format!("{one:?}")))
                .collect()
        };
        let scenarios = |config: &Config| -> Vec<_> {
            // Different ones may share a name at different endpoints.
            let mut all: Vec<(String, String)> = Vec::new();
            for one in &config.scenarios {
                let text = format!("{one:?}");
                match all.iter_mut().find(|(name, _)| *name == one.name) {
                    Some((_, known)) => known.push_str(&text),
                    None => all.push((one.name.clone(), text)),
                }
            }
            all
        };
        let receivers = |config: &Config| -> Vec<_> {
            let all = config.receivers.iter();
            all.map(|one| (one.name.clone(), format!("{one:?}")))
                .collect()
        };
        Self {
            endpoints: Named::between(&endpoints(old), &endpoints(new)),
            scenarios: Named::between(&scenarios(old), &scenarios(new)),
            receivers: Named::between(&receivers(old), &receivers(new)),
        }
    }
}

/// Keys that differ and that a running prober cannot take over, in the order of docs/config.md.
#[must_use]
pub fn restart_keys(old: &Config, new: &Config) -> Vec<&'static str> {
    let url = |config: &Config| match &config.store.database {
        Database::Embedded => None,
        Database::Server { url } => Some(url.expose_secret().to_owned()),
    };
    let differs = [
        ("data_dir", old.data_dir != new.data_dir),
        ("key_ring_file", old.key_ring_file != new.key_ring_file),
        ("store.url", url(old) != url(new)),
        (
            "store.max_connections",
            old.store.max_connections != new.store.max_connections,
        ),
        ("spool", old.spool != new.spool),
        ("serve", old.serve != new.serve),
        ("incidents", old.incidents != new.incidents),
        ("log", old.log != new.log),
    ];
    let differs = differs.into_iter().filter(|(_, differs)| *differs);
    differs.map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const FILE: &str = r#"
        data_dir = "state"
        [[endpoints]]
        name = "glm"
        api = "openai-chat"
        base_url = "http://127.0.0.1:8000/v1"
        model = "m"
        context_tokens = 4096
        tenants = [{ name = "a", no_key = true }, { name = "b", no_key = true }]
        [[scenarios]]
        kind = "crosstalk"
    "#;

    fn load(text: &str) -> Config {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prober.toml");
        std::fs::write(&path, text).unwrap();
        let variables = |name: &str| (name == "URL").then(|| "postgres://u:secret@h/d".into());
        let config = crate::config::load_with(&path, &variables);
        let mut config = config.unwrap_or_else(|errors| panic!("{errors}"));
        // Each has a folder of its own here.
        config.data_dir = "state".into();
        config.key_ring_file = "keys".into();
        config
    }

    #[test]
    fn the_same_file_changes_nothing() {
        let (old, new) = (load(FILE), load(FILE));
        assert_eq!(Changes::between(&old, &new), Changes::default());
        assert_eq!(restart_keys(&old, &new), [""; 0]);
    }

    #[test]
    fn what_is_added_removed_and_changed_is_named() {
        let old = load(FILE);
        let new = FILE.replace("glm", "kimi") + "tokens = 900\n[[scenarios]]\nkind = \"burst\"\n";
        let changes = Changes::between(&old, &load(&new));
        assert_eq!(
            changes.endpoints.to_string(),
            "added kimi; removed glm",
            "{changes:?}"
        );
        assert_eq!(
            changes.scenarios.to_string(),
            "added burst; changed crosstalk"
        );
        assert_eq!(changes.receivers.to_string(), "unchanged");
    }

    #[test]
    fn keys_that_only_a_restart_takes_over_are_named_and_no_other() {
        let old = load(FILE);
        let top = |lines: &str| load(&format!("{lines}\n{FILE}"));
        let end = |lines: &str| load(&format!("{FILE}\n{lines}"));
        for (new, keys) in [
            (top("store = { url_env = \"URL\" }"), vec!["store.url"]),
            (
                top("spool = { max_bytes = \"64MiB\" }\nserve = { listen = \"off\" }"),
                vec!["spool", "serve"],
            ),
            (end("[log]\nlevel = \"debug\""), vec!["log"]),
            (
                end("[fleet]\nrounds_at_once = 3\n[drill]\nevery = \"1d\""),
                vec![],
            ),
        ] {
            assert_eq!(restart_keys(&old, &new), keys);
        }
        let mut new = load(FILE);
        new.data_dir = "elsewhere".into();
        assert_eq!(restart_keys(&old, &new), ["data_dir"]);
    }
}
