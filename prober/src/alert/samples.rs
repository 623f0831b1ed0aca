//! Notices for tests.

use super::notice::{IncidentNotice, Notice, Subject, What};
use time::OffsetDateTime;
use time::macros::datetime;

pub(super) const NOW: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);

pub(super) fn incident(what: What, kind: &str, signature: &str) -> Notice {
    let state = match what {
        What::Opened | What::Reopened => "open",
        What::Acknowledged => "acknowledged",
        What::Resolved => "resolved",
    };
    let incident = IncidentNotice {
        number: 7,
        uid: "0d7c3c4e-4ad0-4f2c-9d57-3a6f3f6a1f02".to_owned(),
        endpoint: "glm".to_owned(),
        kind: kind.to_owned(),
        signature: signature.to_owned(),
        state: state.to_owned(),
        opened_at: NOW,
        last_finding_at: NOW,
        findings: 3,
        reopened: 0,
        who: (what == What::Acknowledged).then(|| "Ada".to_owned()),
        drill: false,
    };
    Notice {
        at: NOW,
        subject: Subject::Incident(what, incident),
    }
}

pub(super) fn leak() -> Notice {
    incident(What::Opened, "leak", "other_tenant/over_limit/text")
}

pub(super) fn truncation() -> Notice {
    incident(What::Opened, "truncation", "over_limit")
}

pub(super) fn drill() -> Notice {
    let mut notice = leak();
    if let Subject::Incident(_, incident) = &mut notice.subject {
        incident.drill = true;
    }
    notice
}

pub(super) fn drill_failed() -> Notice {
    Notice {
        at: NOW,
        subject: Subject::DrillFailed {
            endpoint: "glm".to_owned(),
            because: "pager did not take it in time".to_owned(),
        },
    }
}

pub(super) fn undelivered(receiver: &str) -> Notice {
    Notice {
        at: NOW,
        subject: Subject::Undelivered {
            receiver: receiver.to_owned(),
            because: "answered 500 for a day".to_owned(),
        },
    }
}

pub(super) fn test() -> Notice {
    Notice {
        at: NOW,
        subject: Subject::Test {
            who: "Ada".to_owned(),
        },
    }
}
