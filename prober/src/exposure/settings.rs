//! The small TOML files of an assessment: read strictly, and what is wrong is told with file and line.

use serde::de::DeserializeOwned;
use std::fmt;
use std::path::Path;

/// Far more than any of these files needs.
const LARGEST_FILE: u64 = 1 << 20;

/// Something wrong in an incident, mapping or rules file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1, if it is about one.
    pub line: Option<usize>,
    /// What is wrong, and in parentheses the remedy.
    pub message: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A text of TOML and its name.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

impl Source {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, SettingsError> {
        use std::io::Read as _;
        let name = path.display().to_string();
        let wrong = |message: String| SettingsError {
            file: name.clone(),
            line: None,
            message,
        };
        let mut text = String::new();
        let file =
            std::fs::File::open(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        file.take(LARGEST_FILE + 1)
            .read_to_string(&mut text)
            .map_err(|error| wrong(format!("cannot be read: {error} (name a TOML file)")))?;
        if text.len() as u64 > LARGEST_FILE {
            return Err(wrong(
                "is larger than 1 MiB (name a TOML file, not a log)".to_owned(),
            ));
        }
        Ok(Self { name, text })
    }

    /// One that came with the program.
    pub(super) fn builtin(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, SettingsError> {
        toml::from_str(&self.text).map_err(|error| {
            let before = error.span().and_then(|span| self.text.get(..span.start));
            SettingsError {
                file: self.name.clone(),
                line: before.map(|text| 1 + text.matches('\n').count()),
                message: error.message().to_owned(),
            }
        })
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> SettingsError {
        SettingsError {
            file: self.name.clone(),
            line: None,
            message: message.into(),
        }
    }
}
