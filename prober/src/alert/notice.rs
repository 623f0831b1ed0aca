//! What a receiver is told. Thin on purpose: no text of a response, no canary, no credential ever gets here.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// How bad it is, in the words of PagerDuty and of most people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing to be done: a test, a drill.
    Info,
    /// Something does not add up.
    Warning,
    /// A defence is not there, or the alerts themselves are in trouble.
    Error,
    /// One customer's data reached another.
    Critical,
}

impl Severity {
    /// All of them, with their names.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("info", Self::Info),
        ("warning", Self::Warning),
        ("error", Self::Error),
        ("critical", Self::Critical),
    ];

    /// How bad findings of a kind are. Of a kind of a newer version: an error, rather too loud than too quiet.
    #[must_use]
    pub fn of_kind(kind: &str) -> Self {
        match kind {
            "leak" => Self::Critical,
            "usage_anomaly" | "truncation" | "divergence" => Self::Warning,
            _ => Self::Error,
        }
    }

    /// The name in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An incident began.
    Opened,
    /// Somebody sees to it.
    Acknowledged,
    /// It is over.
    Resolved,
    /// It was over, and there is a finding again.
    Reopened,
}

impl What {
    /// What a name stands for.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let all = [
            Self::Opened,
            Self::Acknowledged,
            Self::Resolved,
            Self::Reopened,
        ];
        all.into_iter().find(|what| what.as_str() == name)
    }

    /// The name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Acknowledged => "acknowledged",
            Self::Resolved => "resolved",
            Self::Reopened => "reopened",
        }
    }
}

/// An incident as it was at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentNotice {
    /// Its number in this database, as `prober incidents` tells it.
    pub number: i64,
    /// Names it everywhere.
    pub uid: String,
    /// The name of its endpoint.
    pub endpoint: String,
    /// The kind of its findings.
    pub kind: String,
    /// What they show of the mechanism.
    pub signature: String,
    /// `open`, `acknowledged` or `resolved`.
    pub state: String,
    /// When its first finding was made.
    #[serde(with = "time::serde::rfc3339")]
    pub opened_at: OffsetDateTime,
    /// When its last finding was made.
    #[serde(with = "time::serde::rfc3339")]
    pub last_finding_at: OffsetDateTime,
    /// How many there are.
    pub findings: u64,
    /// How often it was opened again.
    pub reopened: u64,
    /// Who acknowledged or resolved it; nobody, if it happened by itself.
    pub who: Option<String>,
    /// Whether nothing happened: a drill.
    #[serde(default)]
    pub drill: bool,
}

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Something became of an incident.
    Incident(What, IncidentNotice),
    /// A receiver does not take its messages.
    Undelivered {
        /// Its name.
        receiver: String,
        /// Why, in a few words.
        because: String,
    },
    /// A drill did not reach everybody in time: a leak would not have, either.
    DrillFailed {
        /// The endpoint that it was told of.
        endpoint: String,
        /// Why, in a few words.
        because: String,
    },
    /// Somebody wants to know whether alerts arrive.
    Test {
        /// Who.
        who: String,
    },
}

/// What a receiver is told of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When it happened.
    pub at: OffsetDateTime,
    /// What it is about.
    pub subject: Subject,
}

impl Notice {
    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match &self.subject {
            Subject::Incident(_, incident) if incident.drill => Severity::Info,
            Subject::Incident(_, incident) => Severity::of_kind(&incident.kind),
            Subject::Undelivered { .. } | Subject::DrillFailed { .. } => Severity::Error,
            Subject::Test { .. } => Severity::Info,
        }
    }

    /// Whether it is told at once, at any hour: leaks, and what concerns the alerts themselves.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        match &self.subject {
            Subject::Incident(_, incident) => incident.kind == "leak",
            Subject::Undelivered { .. } | Subject::DrillFailed { .. } | Subject::Test { .. } => {
                true
            }
        }
    }

    /// What it is, as a type of event: `incident.opened`. A drill has types of its own, so that whoever
    /// does not know of drills takes none for an incident.
    #[must_use]
    pub fn event_type(&self) -> String {
        match &self.subject {
            Subject::Incident(what, incident) if incident.drill => {
                format!("drill.{}", what.as_str())
            }
            Subject::Incident(what, _) => format!("incident.{}", what.as_str()),
            Subject::DrillFailed { .. } => "drill.failed".to_owned(),
            Subject::Undelivered { .. } => "alert.undelivered".to_owned(),
            Subject::Test { .. } => "alert.test".to_owned(),
        }
    }

    /// All of it in a line without markup.
    #[must_use]
    pub fn headline(&self) -> String {
        match &self.subject {
            Subject::Incident(what, incident) => format!(
                "{}{} {}: {} at {}",
                if incident.drill { "[DRILL] " } else { "" },
                capital(&incident.kind.replace('_', " ")),
                what.as_str(),
                incident.signature,
                incident.endpoint
            ),
            Subject::Undelivered { receiver, because } => {
                format!("Alerts do not reach receiver {receiver}: {because}")
            }
            Subject::DrillFailed { endpoint, because } => {
                format!("A drill of {endpoint} did not arrive, nor would a leak: {because}")
            }
            Subject::Test { who } => format!("Test of the alerts by {who}: nothing happened"),
        }
    }

    /// Names and values for people.
    #[must_use]
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("Severity", self.severity().as_str().to_owned())];
        match &self.subject {
            Subject::Incident(_, incident) => {
                facts.extend([
                    ("Endpoint", incident.endpoint.clone()),
                    ("Incident", incident.number.to_string()),
                    ("State", incident.state.clone()),
                    ("Findings", incident.findings.to_string()),
                    ("First", moment(incident.opened_at)),
                    ("Last", moment(incident.last_finding_at)),
                ]);
                if let Some(who) = &incident.who {
                    facts.push(("By", who.clone()));
                }
                if incident.drill {
                    facts.push((
                        "Drill",
                        "nothing happened, nothing is to be done".to_owned(),
                    ));
                }
            }
            Subject::Undelivered { .. } | Subject::DrillFailed { .. } | Subject::Test { .. } => {
                facts.push(("At", moment(self.at)));
            }
        }
        facts
    }

    /// The page of its incident on a prober's status page at `site`.
    #[must_use]
    pub fn link(&self, site: Option<&str>) -> Option<String> {
        let site = site?.trim_end_matches('/');
        match &self.subject {
            Subject::Incident(_, incident) => Some(format!("{site}/incidents/{}", incident.number)),
            Subject::Undelivered { .. } | Subject::DrillFailed { .. } | Subject::Test { .. } => {
                Some(format!("{site}/receivers"))
            }
        }
    }
}

/// A moment for people and machines: to the second, in UTC.
pub(super) fn moment(at: OffsetDateTime) -> String {
    use time::format_description::well_known::Rfc3339;
    let at = at.to_offset(time::UtcOffset::UTC);
    let at = at.replace_nanosecond(0).unwrap_or(at);
    at.format(&Rfc3339).unwrap_or_else(|_| at.to_string())
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
