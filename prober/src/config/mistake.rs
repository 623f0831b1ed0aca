//! Mistakes in a configuration file, collected so that all of them are told at once.

use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that is wrong with a configuration, and what to do about it. Never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// The file, as it was named by the caller.
    pub file: PathBuf,
    /// Where in the file's structure: `endpoints[1].tenants[0].key_env`. Empty when the mistake is
    /// about the file as a whole or about text that is no TOML.
    pub key: String,
    /// The line, from 1. For a key that is missing, where its table begins. `None` when the mistake
    /// is about the file as a whole.
    pub line: Option<usize>,
    /// What is wrong, and in parentheses the remedy.
    pub message: String,
}

impl fmt::Display for Mistake {
    /// `FILE:LINE: KEY: MESSAGE`, as editors and CI systems read it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Everything that is wrong with a configuration, in the order of the file; at least one mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct ConfigErrors {
    /// The mistakes.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for ConfigErrors {
    /// One mistake a line, without a line break at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            mistake.fmt(f)?;
        }
        Ok(())
    }
}

/// Where something stands: the path of its key and its line. The whole file has neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) key: String,
    pub(super) line: Option<usize>,
}

impl Place {
    /// The place of a key of the table that stands here; where the key is missing, its best line
    /// is the table's.
    pub(super) fn of_key(&self, key: &str) -> Self {
        let key = match self.key.as_str() {
            "" => key.to_owned(),
            table => format!("{table}.{key}"),
        };
        Self {
            key,
            line: self.line,
        }
    }
}

/// A growing list of mistakes in one file.
pub(super) struct Mistakes {
    file: PathBuf,
    found: Vec<Mistake>,
}

impl Mistakes {
    pub(super) fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            found: Vec::new(),
        }
    }

    /// Notes a mistake at a place.
    pub(super) fn at(&mut self, place: &Place, message: impl Into<String>) {
        self.add(&place.key, place.line, message.into());
    }

    /// Notes a mistake in a line that belongs to no key.
    pub(super) fn line(&mut self, line: usize, message: String) {
        self.add("", Some(line), message);
    }

    /// Notes a mistake about the file as a whole.
    pub(super) fn file(&mut self, message: String) {
        self.add("", None, message);
    }

    fn add(&mut self, key: &str, line: Option<usize>, message: String) {
        self.found.push(Mistake {
            file: self.file.clone(),
            key: key.to_owned(),
            line,
            message,
        });
    }

    /// The value, if it is there and nothing is wrong. A value that is missing without a mistake
    /// would be a fault of the caller's; it becomes a mistake rather than a panic.
    pub(super) fn into_result<T>(mut self, value: Option<T>) -> Result<T, ConfigErrors> {
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => {
                if self.found.is_empty() {
                    self.file(
                        "is not valid, for a reason that was not told (please report)".into(),
                    );
                }
                self.found.sort_by_key(|mistake| mistake.line);
                Err(ConfigErrors {
                    mistakes: self.found,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_one_a_line_in_the_order_of_the_file() {
        let mut mistakes = Mistakes::new(Path::new("a.toml"));
        let place = |key: &str, line| Place {
            key: key.to_owned(),
            line,
        };
        mistakes.at(&place("endpoints[0].name", Some(9)), "is missing");
        mistakes.line(3, "what is this".to_owned());
        mistakes.file("is strange".to_owned());
        let errors = mistakes.into_result(Some(())).expect_err("three mistakes");
        let text = "a.toml: is strange\n\
                    a.toml:3: what is this\n\
                    a.toml:9: endpoints[0].name: is missing";
        assert_eq!(errors.to_string(), text);
    }

    #[test]
    fn a_missing_value_is_never_a_silent_failure() {
        let errors = Mistakes::new(Path::new("a.toml")).into_result(None::<()>);
        assert_eq!(errors.expect_err("no value").mistakes.len(), 1);
        assert_eq!(
            Mistakes::new(Path::new("a.toml")).into_result(Some(7)),
            Ok(7)
        );
    }
}
