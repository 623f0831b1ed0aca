//! Incidents: findings of one endpoint, one kind and one signature, from the first until somebody resolves them.
//! Decisions only; `store` carries them out (docs/incidents.md).

use time::{Duration, OffsetDateTime};

/// How far an incident is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has seen to it yet.
    Open,
    /// Somebody sees to it.
    Acknowledged,
    /// It is over.
    Resolved,
}

impl State {
    /// The name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Resolved => "resolved",
        }
    }

    /// The state of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let all = [Self::Open, Self::Acknowledged, Self::Resolved];
        all.into_iter().find(|state| state.as_str() == name)
    }
}

/// When findings make an incident, and when it is over by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A finding so soon after an incident of its kind was resolved opens that again.
    pub reopen_within: Duration,
    /// Without a finding for so long it is over, unless it is a leak.
    pub clean_for: Duration,
}

/// The latest incident of an endpoint, kind and signature: the one that is not resolved, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latest {
    /// How far it is.
    pub state: State,
    /// When it was resolved.
    pub resolved_at: Option<OffsetDateTime>,
}

/// What a finding does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It opens a new incident.
    Open,
    /// It is one more of the latest.
    Grow,
    /// It opens the latest again.
    Reopen,
}

/// What a finding of a moment does to the latest incident of its kind.
#[must_use]
pub fn on_finding(latest: Option<Latest>, found_at: OffsetDateTime, rules: &Rules) -> Step {
    match latest {
        None => Step::Open,
        Some(Latest {
            state: State::Resolved,
            resolved_at,
        }) => {
            // Also when it was found before and recorded after: whoever resolved it did not know.
            let is_soon = resolved_at.is_none_or(|at| found_at - at <= rules.reopen_within);
            if is_soon { Step::Reopen } else { Step::Open }
        }
        Some(_) => Step::Grow,
    }
}

/// An incident that is not resolved, as far as it matters for whether it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// Of its findings.
    pub kind: String,
    /// When the last of them was made.
    pub last_finding_at: OffsetDateTime,
    /// Whether each scenario that had a finding of it has had a clean round since.
    pub is_clean_since: bool,
}

/// Whether an incident is over by itself. Never a leak: that nothing leaks for a while proves no repair.
#[must_use]
pub fn is_over(quiet: &Quiet, rules: &Rules, now: OffsetDateTime) -> bool {
    quiet.kind != "leak" && quiet.is_clean_since && now - quiet.last_finding_at >= rules.clean_for
}

/// What a person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Says that somebody sees to it.
    Acknowledge,
    /// Says that it is over.
    Resolve,
}

/// Why a person cannot do that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has been done.
    #[error("it is {} already", .0.as_str())]
    Already(State),
    /// It is over.
    #[error("it is resolved (the next finding of its kind opens it again)")]
    Over,
}

/// The state after what a person does.
///
/// # Errors
/// When that changes nothing or makes no sense.
pub fn after(state: State, act: Act) -> Result<State, Refusal> {
    match (act, state) {
        (Act::Acknowledge, State::Open) => Ok(State::Acknowledged),
        (Act::Acknowledge, State::Resolved) => Err(Refusal::Over),
        (Act::Resolve, State::Open | State::Acknowledged) => Ok(State::Resolved),
        (Act::Acknowledge, State::Acknowledged) | (Act::Resolve, State::Resolved) => {
            Err(Refusal::Already(state))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);
    const RULES: Rules = Rules {
        reopen_within: Duration::days(7),
        clean_for: Duration::hours(24),
    };

    fn resolved(ago: Duration) -> Option<Latest> {
        Some(Latest {
            state: State::Resolved,
            resolved_at: Some(NOW - ago),
        })
    }

    #[test]
    fn a_finding_opens_grows_or_opens_again() {
        let unresolved = |state| {
            Some(Latest {
                state,
                resolved_at: None,
            })
        };
        for (latest, step) in [
            (None, Step::Open),
            (unresolved(State::Open), Step::Grow),
            (unresolved(State::Acknowledged), Step::Grow),
            (resolved(Duration::days(7)), Step::Reopen),
            (resolved(Duration::days(7) + Duration::SECOND), Step::Open),
            // Found before it was resolved, recorded after.
            (resolved(-Duration::HOUR), Step::Reopen),
        ] {
            assert_eq!(on_finding(latest, NOW, &RULES), step, "{latest:?}");
        }
    }

    #[test]
    fn an_incident_is_over_by_itself_after_a_clean_while_and_a_leak_never_is() {
        let quiet = |kind: &str, ago, is_clean_since| Quiet {
            kind: kind.to_owned(),
            last_finding_at: NOW - ago,
            is_clean_since,
        };
        let (short, long) = (Duration::hours(23), Duration::hours(24));
        for (incident, over) in [
            (quiet("limit_violation", long, true), true),
            (quiet("limit_violation", short, true), false),
            (quiet("limit_violation", long, false), false),
            (quiet("leak", Duration::days(900), true), false),
        ] {
            assert_eq!(is_over(&incident, &RULES, NOW), over, "{incident:?}");
        }
    }

    #[test]
    fn a_person_acknowledges_once_and_resolves_once() {
        use State::{Acknowledged, Open, Resolved};
        assert_eq!(after(Open, Act::Acknowledge), Ok(Acknowledged));
        assert_eq!(after(Open, Act::Resolve), Ok(Resolved));
        assert_eq!(after(Acknowledged, Act::Resolve), Ok(Resolved));
        for (state, act) in [
            (Acknowledged, Act::Acknowledge),
            (Resolved, Act::Acknowledge),
            (Resolved, Act::Resolve),
        ] {
            assert!(after(state, act).is_err(), "{state:?} {act:?}");
        }
    }

    #[test]
    fn states_are_known_by_their_names() {
        for state in [State::Open, State::Acknowledged, State::Resolved] {
            assert_eq!(State::of(state.as_str()), Some(state));
        }
        assert_eq!(State::of("forgotten"), None);
    }
}
