//! The outbox: who is told of what, and how far that is (docs/alerts.md). Alerts are written by a trigger in the
//! transaction that changes an incident; here they are routed to receivers, claimed, and settled.

mod claim;
mod list;
mod receivers;
mod route;
mod settle;

pub use claim::{Claim, Lane};
pub use list::{DeliveryCounts, ReceiverRecord};
pub use route::Route;

use super::{StoreError, query_error};
use crate::alert::{IncidentNotice, Notice, Subject, What};
use serde::Deserialize;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::types::Json;

/// The columns that [`notice`] reads.
const NOTICE: &str = "alerts.what, alerts.at, alerts.notice";

/// What is told of a receiver in trouble.
#[derive(Deserialize)]
struct UndeliveredNotice {
    receiver: String,
    because: String,
}

/// What is told of a drill that failed.
#[derive(Deserialize)]
struct DrillNotice {
    endpoint: String,
    because: String,
}

/// What an alert tells.
fn notice(row: &PgRow) -> Result<Notice, StoreError> {
    let act = "read what an alert tells";
    let what: String = row.try_get("what").map_err(query_error(act))?;
    let subject = if what == "undelivered" {
        let Json(UndeliveredNotice { receiver, because }) =
            row.try_get("notice").map_err(query_error(act))?;
        Subject::Undelivered { receiver, because }
    } else if what == "drill_failed" {
        let Json(DrillNotice { endpoint, because }) =
            row.try_get("notice").map_err(query_error(act))?;
        Subject::DrillFailed { endpoint, because }
    } else {
        let what = What::of(&what).ok_or(StoreError::Range {
            what: "what an alert is about",
        })?;
        let Json(incident): Json<IncidentNotice> =
            row.try_get("notice").map_err(query_error(act))?;
        Subject::Incident(what, incident)
    };
    Ok(Notice {
        at: row.try_get("at").map_err(query_error(act))?,
        subject,
    })
}
