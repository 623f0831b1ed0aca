//! The facts of an incident, as an incident file has them (docs/exposure.md).

use super::moment::{self, Moment, Span};
use super::pattern::{self, Pattern};
use super::settings::{SettingsError, Source};
use serde::Deserialize;
use std::path::Path;

/// The incident this product was made after.
const FOUNDING: &str = include_str!("../../data/exposure/incidents/founding.toml");

/// Incidents that come with the program, by name.
const BUILT_IN: [(&str, &str); 1] = [("founding", FOUNDING)];

/// An incident: what is known of it, and by what its requests are recognised.
#[derive(Clone, Debug)]
pub struct Incident {
    /// What it is called, for people.
    pub title: String,
    /// Who ran the model.
    pub operator: String,
    /// When it was made public, as the file says it.
    pub reported: Option<String>,
    /// Its period.
    pub period: Period,
    /// Names of the model.
    pub models: Vec<Pattern>,
    /// Names that look like the model's and may be another's.
    pub similar_models: Vec<Pattern>,
    /// Names, hosts and paths of the provider.
    pub providers: Vec<Pattern>,
    /// Names, hosts and paths of others. What is neither tells nothing: a protocol, a gateway, a reseller.
    pub others: Vec<Pattern>,
    /// A longer prompt could read what others had left behind.
    pub limit_tokens: Option<u64>,
    /// Such a prompt may be logged as this long, at most.
    pub reported_tokens_at_most: Option<u64>,
    /// Facts.
    pub known: Vec<String>,
    /// What nobody outside knows.
    pub unknown: Vec<String>,
    /// Where the facts are from.
    pub sources: Vec<String>,
}

/// When it was.
#[derive(Clone, Debug)]
pub struct Period {
    /// From this moment on.
    pub(super) from: Moment,
    /// Before this moment.
    pub(super) until: Moment,
    /// Whether it is known to be this long; if not, it lies somewhere within.
    pub certain: bool,
    /// What else is to be said of it.
    pub note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawIncident {
    title: String,
    operator: String,
    reported: Option<String>,
    models: Vec<Pattern>,
    #[serde(default)]
    similar_models: Vec<Pattern>,
    period: RawPeriod,
    provider: RawProvider,
    #[serde(default)]
    length: RawLength,
    #[serde(default)]
    known: Vec<String>,
    #[serde(default)]
    unknown: Vec<String>,
    #[serde(default)]
    sources: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPeriod {
    from: String,
    until: String,
    certain: bool,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProvider {
    names: Vec<Pattern>,
    #[serde(default)]
    others: Vec<Pattern>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLength {
    limit_tokens: Option<u64>,
    reported_tokens_at_most: Option<u64>,
}

impl Incident {
    /// A built-in incident by its name, or the one of a file.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn load(name: &Path) -> Result<Self, SettingsError> {
        let known = BUILT_IN
            .iter()
            .find(|(known, _)| name.as_os_str() == *known);
        match known {
            Some((known, text)) => Self::from_source(&Source::builtin(known, text)),
            None => Self::from_source(&Source::read(name)?).map_err(|mut error| {
                if error.line.is_none() && error.message.starts_with("cannot be read") {
                    error.message.push_str(
                        " (the incident `founding` comes with the program; others are files)",
                    );
                }
                error
            }),
        }
    }

    fn from_source(source: &Source) -> Result<Self, SettingsError> {
        let raw: RawIncident = source.parse()?;
        let moment = |key: &str, text: &str| {
            moment::parse(text.as_bytes(), None)
                .map(|span| span.from)
                .map_err(|_| {
                    source.wrong(format!(
                        "`period.{key}` is no moment (write one like 2026-08-01T00:00:00Z)"
                    ))
                })
        };
        let period = Period {
            from: moment("from", &raw.period.from)?,
            until: moment("until", &raw.period.until)?,
            certain: raw.period.certain,
            note: raw.period.note,
        };
        if period.from >= period.until {
            return Err(source.wrong("`period.until` is not later than `period.from`"));
        }
        let is_empty = |patterns: &[Pattern]| {
            patterns.is_empty() || patterns.iter().any(|one| one.as_str().is_empty())
        };
        if is_empty(&raw.models) || is_empty(&raw.provider.names) {
            return Err(source.wrong(
                "`models` and `provider.names` need one pattern each at least, and none that is empty (`*` stands for anything)",
            ));
        }
        Ok(Self {
            title: raw.title,
            operator: raw.operator,
            reported: raw.reported,
            period,
            models: raw.models,
            similar_models: raw.similar_models,
            providers: raw.provider.names,
            others: raw.provider.others,
            limit_tokens: raw.length.limit_tokens,
            reported_tokens_at_most: raw.length.reported_tokens_at_most,
            known: raw.known,
            unknown: raw.unknown,
            sources: raw.sources,
        })
    }

    /// Whether a name of a model is this one's.
    pub(super) fn model(&self, name: &str) -> Fit {
        if pattern::first(&self.models, name).is_some() {
            Fit::Yes
        } else if pattern::first(&self.similar_models, name).is_some() {
            Fit::Perhaps
        } else {
            Fit::No
        }
    }

    /// Whether a name, host or path is the provider's; `Perhaps` if it is nobody's that is known.
    pub(super) fn provider(&self, name: &str) -> Fit {
        if pattern::first(&self.providers, name).is_some() {
            Fit::Yes
        } else if pattern::first(&self.others, name).is_some() {
            Fit::No
        } else {
            Fit::Perhaps
        }
    }

    /// Whether a name is one that the incident file knows, as the provider's or another's.
    #[must_use]
    pub fn knows_provider(&self, name: &str) -> bool {
        self.provider(name) != Fit::Perhaps
    }

    /// Whether a span lies in the period; `Perhaps` if only a part of it does.
    pub(super) fn time(&self, span: Span) -> Fit {
        let Period { from, until, .. } = self.period;
        // What lasts no time is within if it begins there.
        let ends_before = span.until <= from && span.from < from;
        if ends_before || span.from >= until {
            Fit::No
        } else if span.from >= from && span.until <= until {
            Fit::Yes
        } else {
            Fit::Perhaps
        }
    }
}

/// Whether something is what an incident is about; the surest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    Perhaps,
    Yes,
}

#[cfg(test)]
pub(super) use tests::founding;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    pub(in super::super) fn founding() -> Incident {
        Incident::load(Path::new("founding")).unwrap()
    }

    #[test]
    fn the_founding_incident_says_what_is_known_and_what_is_not() {
        let incident = founding();
        assert!(!incident.period.certain && incident.period.note.is_some());
        assert_eq!(incident.limit_tokens, Some(681_280));
        assert!(
            !incident.known.is_empty()
                && !incident.unknown.is_empty()
                && !incident.sources.is_empty()
        );
    }

    #[test]
    fn its_model_is_recognised_by_all_its_names_and_no_other_is() {
        let incident = founding();
        for (name, fit) in [
            ("@cf/zai-org/glm-5.3", Fit::Yes),
            ("cloudflare/@cf/zai-org/glm-5.3", Fit::Yes),
            ("GLM-5.3", Fit::Yes),
            ("z-ai/glm-5.3", Fit::Yes),
            (
                "/client/v4/accounts/0a1b/ai/run/@cf/zai-org/glm-5.3",
                Fit::Yes,
            ),
            ("@cf/zai-org/glm-5.3-flash", Fit::Perhaps),
            ("glm-5.2", Fit::No),
            ("gpt-4.1", Fit::No),
        ] {
            assert_eq!(incident.model(name), fit, "{name}");
        }
        for (name, fit) in [
            ("Cloudflare", Fit::Yes),
            ("workers-ai", Fit::Yes),
            (
                "https://api.cloudflare.com/client/v4/accounts/0a1b/ai/v1",
                Fit::Yes,
            ),
            ("@cf/zai-org/glm-5.3", Fit::Yes),
            ("openai", Fit::Perhaps),
            ("https://openrouter.ai/api/v1", Fit::Perhaps),
            ("https://api.openai.com/v1", Fit::No),
            ("z.ai", Fit::No),
            ("gateway.example", Fit::Perhaps),
        ] {
            assert_eq!(incident.provider(name), fit, "{name}");
        }
    }

    #[test]
    fn a_span_lies_within_the_period_or_partly_or_not() {
        let incident = founding();
        let fit = |from: &str, until: &str| {
            let at = |text: &str| moment::parse(text.as_bytes(), None).unwrap().from;
            incident.time(Span {
                from: at(from),
                until: at(until),
            })
        };
        let (before, first) = ("2026-07-31T23:59:59Z", "2026-08-01T00:00:00Z");
        let (last, after) = ("2026-09-30T23:59:59Z", "2026-10-01T00:00:00Z");
        assert_eq!(fit(before, before), Fit::No);
        assert_eq!(fit(before, first), Fit::No);
        assert_eq!(fit(first, first), Fit::Yes);
        assert_eq!(fit(first, after), Fit::Yes);
        assert_eq!(fit(last, last), Fit::Yes);
        assert_eq!(fit(after, after), Fit::No);
        assert_eq!(fit(before, last), Fit::Perhaps);
        assert_eq!(fit(last, "2026-10-02T00:00:00Z"), Fit::Perhaps);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_with_its_line() {
        let of = |text: &str| {
            Incident::from_source(&Source::builtin("a.toml", text))
                .map(drop)
                .unwrap_err()
                .to_string()
        };
        assert!(
            of("title = 1").starts_with("a.toml:1: "),
            "{}",
            of("title = 1")
        );
        let swapped = FOUNDING.replace("2026-10-01", "2026-07-01");
        assert_eq!(
            of(&swapped),
            "a.toml: `period.until` is not later than `period.from`"
        );
        let unknown = FOUNDING.replace("operator =", "operater =");
        assert!(of(&unknown).contains("operater"), "{}", of(&unknown));
    }
}
