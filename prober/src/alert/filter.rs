//! What a receiver wants to be told.

use super::notice::{Notice, Severity, Subject};

/// What a receiver wants to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Nothing less bad.
    pub min_severity: Severity,
    /// Only of these endpoints; of all, if there are none.
    pub endpoints: Vec<String>,
    /// Only of these kinds of findings; of all, if there are none.
    pub kinds: Vec<String>,
    /// Whether it takes part in drills.
    pub drills: bool,
}

impl Filter {
    /// Whether a receiver called `receiver` is told. That another one's messages do not arrive, or a drill did not, it
    /// is told whatever it wants: otherwise nobody might be. Of a drill it is told if it were of such a leak.
    #[must_use]
    pub fn takes(&self, receiver: &str, notice: &Notice) -> bool {
        match &notice.subject {
            Subject::Incident(_, incident) => {
                let wanted =
                    |names: &[String], name: &String| names.is_empty() || names.contains(name);
                Severity::of_kind(&incident.kind) >= self.min_severity
                    && (self.drills || !incident.drill)
                    && wanted(&self.endpoints, &incident.endpoint)
                    && wanted(&self.kinds, &incident.kind)
            }
            Subject::Undelivered {
                receiver: other, ..
            } => other != receiver,
            Subject::DrillFailed { .. } => true,
            // Addressed to one receiver, before anybody asks here.
            Subject::Test { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    const ALL: Filter = Filter {
        min_severity: Severity::Info,
        endpoints: Vec::new(),
        kinds: Vec::new(),
        drills: true,
    };

    #[test]
    fn a_receiver_is_told_of_its_endpoints_kinds_and_severities() {
        let (leak, truncation) = (samples::leak(), samples::truncation());
        let kimi = Filter {
            endpoints: vec!["kimi".to_owned()],
            ..ALL
        };
        let leaks = Filter {
            kinds: vec!["leak".to_owned()],
            ..ALL
        };
        let errors = Filter {
            min_severity: Severity::Error,
            ..ALL
        };
        for (filter, notice, takes) in [
            (&ALL, &leak, true),
            (&ALL, &truncation, true),
            (&kimi, &leak, false),
            (&leaks, &leak, true),
            (&leaks, &truncation, false),
            (&errors, &leak, true),
            (&errors, &truncation, false),
        ] {
            assert_eq!(filter.takes("soc", notice), takes, "{filter:?} {notice:?}");
        }
    }

    #[test]
    fn of_a_drill_is_told_whoever_would_be_of_such_a_leak_and_takes_part() {
        let drill = samples::drill();
        assert_eq!(drill.severity(), Severity::Info, "nobody is to be woken");
        let critical = Filter {
            min_severity: Severity::Critical,
            ..ALL
        };
        assert!(critical.takes("soc", &drill));
        let elsewhere = Filter {
            endpoints: vec!["kimi".to_owned()],
            ..ALL
        };
        assert!(!elsewhere.takes("soc", &drill));
        let apart = Filter {
            drills: false,
            ..ALL
        };
        assert!(!apart.takes("soc", &drill));
        assert!(apart.takes("soc", &samples::leak()));
    }

    #[test]
    fn that_alerts_do_not_arrive_is_told_to_every_other_receiver() {
        let picky = Filter {
            min_severity: Severity::Critical,
            endpoints: vec!["kimi".to_owned()],
            kinds: vec!["leak".to_owned()],
            drills: false,
        };
        assert!(picky.takes("soc", &samples::drill_failed()));
        let notice = samples::undelivered("pager");
        assert!(picky.takes("soc", &notice));
        assert!(!ALL.takes("pager", &notice));
    }
}
