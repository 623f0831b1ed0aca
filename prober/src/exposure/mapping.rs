//! Which fields of a log hold what: a mapping file, or one that comes with the program (docs/exposure.md).

use super::moment::Zone;
use super::row::{self, Path as Keys, Slots};
use super::settings::{SettingsError, Source};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Mappings that come with the program. The first whose marks a log has is its own, so the general ones are last.
/// Each file names where its fields are documented.
const BUILT_IN: [(&str, &str); 9] = [
    (
        "litellm",
        include_str!("../../data/exposure/formats/litellm.toml"),
    ),
    (
        "openai",
        include_str!("../../data/exposure/formats/openai.toml"),
    ),
    (
        "openrouter",
        include_str!("../../data/exposure/formats/openrouter.toml"),
    ),
    (
        "helicone",
        include_str!("../../data/exposure/formats/helicone.toml"),
    ),
    (
        "cloudflare",
        include_str!("../../data/exposure/formats/cloudflare.toml"),
    ),
    (
        "kong",
        include_str!("../../data/exposure/formats/kong.toml"),
    ),
    (
        "envoy",
        include_str!("../../data/exposure/formats/envoy.toml"),
    ),
    (
        "access-log",
        include_str!("../../data/exposure/formats/access-log.toml"),
    ),
    (
        "generic",
        include_str!("../../data/exposure/formats/generic.toml"),
    ),
];

/// What a field of a log is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// When the request came, or the time it is summed up from.
    Time,
    /// The end of the time it is summed up to.
    Until,
    /// The model.
    Model,
    /// Who answered: names, hosts, addresses.
    Provider,
    /// The path of the request, which may name the model.
    Path,
    /// With which key.
    Key,
    /// By which application.
    Application,
    /// The length of the prompt.
    InputTokens,
    /// The length of the answer.
    OutputTokens,
    /// The length of the request in bytes, where nobody counted tokens.
    InputBytes,
    /// How many requests are summed up.
    Requests,
    /// The HTTP status.
    Status,
}

impl Role {
    const ALL: [Self; 12] = [
        Self::Time,
        Self::Until,
        Self::Model,
        Self::Provider,
        Self::Path,
        Self::Key,
        Self::Application,
        Self::InputTokens,
        Self::OutputTokens,
        Self::InputBytes,
        Self::Requests,
        Self::Status,
    ];

    /// Its name in a mapping file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Until => "until",
            Self::Model => "model",
            Self::Provider => "provider",
            Self::Path => "path",
            Self::Key => "key",
            Self::Application => "application",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::InputBytes => "input_bytes",
            Self::Requests => "requests",
            Self::Status => "status",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How the lines of a log are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Layout {
    /// A JSON object a line.
    JsonLines,
    /// JSON values of any layout, each with records in it.
    JsonDocuments,
    /// Comma-separated values under a line of names.
    Csv,
    /// The combined log of web servers.
    AccessLog,
}

impl Layout {
    /// For people.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::JsonLines => "JSON lines",
            Self::JsonDocuments => "JSON documents",
            Self::Csv => "CSV",
            Self::AccessLog => "access log lines",
        }
    }
}

/// Which fields of a log hold what.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// Its name.
    pub name: String,
    /// The zone of times that tell none.
    pub(super) zone: Option<Zone>,
    /// How lines are written, if the mapping says so.
    pub(super) layout: Option<Layout>,
    /// What separates the values of CSV.
    pub(super) delimiter: u8,
    /// Lists in a document, outermost first, whose innermost elements are the records.
    pub(super) records: Vec<String>,
    /// Groups of fields: a log that has all of one group is of this kind.
    pub(super) marks: Vec<Vec<Keys>>,
    fields: Vec<(Role, Vec<Keys>)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMapping {
    name: Option<String>,
    #[serde(default)]
    sources: Vec<String>,
    time_zone: Option<String>,
    layout: Option<Layout>,
    delimiter: Option<String>,
    #[serde(default)]
    records: Vec<String>,
    #[serde(default)]
    marks: Vec<Vec<String>>,
    fields: RawFields,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct RawFields {
    time: Vec<String>,
    until: Vec<String>,
    model: Vec<String>,
    provider: Vec<String>,
    path: Vec<String>,
    key: Vec<String>,
    application: Vec<String>,
    input_tokens: Vec<String>,
    output_tokens: Vec<String>,
    input_bytes: Vec<String>,
    requests: Vec<String>,
    status: Vec<String>,
}

impl RawFields {
    fn of(&self, role: Role) -> &[String] {
        match role {
            Role::Time => &self.time,
            Role::Until => &self.until,
            Role::Model => &self.model,
            Role::Provider => &self.provider,
            Role::Path => &self.path,
            Role::Key => &self.key,
            Role::Application => &self.application,
            Role::InputTokens => &self.input_tokens,
            Role::OutputTokens => &self.output_tokens,
            Role::InputBytes => &self.input_bytes,
            Role::Requests => &self.requests,
            Role::Status => &self.status,
        }
    }
}

impl Mapping {
    /// The mapping of a file.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn load(path: &Path) -> Result<Self, SettingsError> {
        Self::from_source(&Source::read(path)?)
    }

    /// All that come with the program, in the order in which they are tried.
    ///
    /// # Errors
    /// None, but for a mistake in this program.
    pub fn built_in() -> Result<Vec<Self>, SettingsError> {
        let sources = BUILT_IN.map(|(name, text)| Source::builtin(name, text));
        sources.iter().map(Self::from_source).collect()
    }

    /// The names of those that come with the program.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    fn from_source(source: &Source) -> Result<Self, SettingsError> {
        let raw: RawMapping = source.parse()?;
        let keys = |text: &String| {
            row::path(text).ok_or_else(|| {
                source.wrong(format!(
                    "`{text}` is no path to a field (write keys joined by dots, one with a dot in it in quotation marks)"
                ))
            })
        };
        let mut fields = Vec::new();
        for role in Role::ALL {
            let paths: Result<Vec<Keys>, _> = raw.fields.of(role).iter().map(keys).collect();
            fields.push((role, paths?));
        }
        let has = |role: Role| !raw.fields.of(role).is_empty();
        if !has(Role::Time) || !(has(Role::Model) || has(Role::Path)) {
            return Err(source.wrong(
                "`fields.time` and one of `fields.model` and `fields.path` must name a field",
            ));
        }
        let zone = match &raw.time_zone {
            Some(text) => Some(Zone::parse(text).ok_or_else(|| {
                source.wrong(format!(
                    "`time_zone` is `{text}` (write \"utc\", or an offset like \"+02:00\")"
                ))
            })?),
            None => None,
        };
        let delimiter = match raw.delimiter.as_deref().map(str::as_bytes) {
            None => b',',
            Some(&[one]) if one.is_ascii() && !matches!(one, b'"' | b'\n' | b'\r') => one,
            Some(_) => {
                return Err(
                    source.wrong("`delimiter` is not one character, or one that cannot be it")
                );
            }
        };
        let marks: Result<Vec<Vec<Keys>>, _> = raw
            .marks
            .iter()
            .map(|group| group.iter().map(keys).collect())
            .collect();
        // Only for readers of the file.
        drop(raw.sources);
        Ok(Self {
            name: raw.name.unwrap_or_else(|| source.name.clone()),
            zone,
            layout: raw.layout,
            delimiter,
            records: raw.records,
            marks: marks?,
            fields,
        })
    }

    /// The paths of a role, as they are written.
    pub(super) fn named(&self, role: Role) -> String {
        let paths = self.fields.iter().filter(|(of, _)| *of == role);
        let names: Vec<String> = paths
            .flat_map(|(_, paths)| paths)
            .map(|keys| format!("`{}`", keys.join(".")))
            .collect();
        names.join(", ")
    }

    /// A slot for each wanted field.
    pub(super) fn roles(&self) -> (Slots, Roles) {
        let mut slots = Slots::default();
        let mut roles = Roles::default();
        for (role, paths) in &self.fields {
            roles.0[*role as usize] = paths.iter().map(|keys| slots.of(keys)).collect();
        }
        (slots, roles)
    }
}

/// The slots of each role, the preferred first.
#[derive(Clone, Debug, Default)]
pub(super) struct Roles([Vec<usize>; Role::ALL.len()]);

impl Roles {
    pub(super) fn of(&self, role: Role) -> &[usize] {
        &self.0[role as usize]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_that_come_with_the_program_are_right_and_name_their_sources() {
        for (name, text) in BUILT_IN {
            let source = Source::builtin(name, text);
            let mapping = Mapping::from_source(&source).unwrap();
            assert_eq!(mapping.name, name);
            let raw: RawMapping = source.parse().unwrap();
            assert!(!raw.sources.is_empty() || name == "generic", "{name}");
            assert!(!mapping.marks.is_empty() || name == "generic", "{name}");
        }
    }

    #[test]
    fn all_that_come_with_the_program_are_documented() {
        let documented = include_str!("../../../docs/exposure.md");
        for name in Mapping::names() {
            assert!(documented.contains(&format!("| `{name}` |")), "{name}");
        }
        for role in Role::ALL {
            assert!(documented.contains(&format!("\n{role} = [")), "{role}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_mapping_is_told() {
        let of = |text: &str| {
            Mapping::from_source(&Source::builtin("m.toml", text))
                .map(drop)
                .unwrap_err()
                .to_string()
        };
        let whole = "[fields]\ntime = [\"t\"]\nmodel = [\"m\"]";
        for (text, message) in [
            ("[fields]".to_owned(), "m.toml: `fields.time` and one of"),
            (
                format!("time_zone = \"CET\"\n{whole}"),
                "m.toml: `time_zone` is `CET`",
            ),
            (
                format!("delimiter = \",,\"\n{whole}"),
                "m.toml: `delimiter` is not one character",
            ),
            (
                format!("{whole}\nkey = [\"a.\"]"),
                "m.toml: `a.` is no path",
            ),
            (
                format!("{whole}\nkee = [\"a\"]"),
                "m.toml:4: unknown field `kee`",
            ),
            (
                format!("layout = \"xml\"\n{whole}"),
                "m.toml:1: unknown variant `xml`",
            ),
        ] {
            assert!(of(&text).starts_with(message), "{}", of(&text));
        }
    }
}
