//! Looking at incidents.

use super::super::{Store, StoreError, query_error};
use super::known;
use crate::ids::IncidentId;
use crate::incident::State;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use time::OffsetDateTime;

/// An incident as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentRecord {
    /// Which one.
    pub id: IncidentId,
    /// The name of its endpoint.
    pub endpoint: String,
    /// The kind of its findings.
    pub kind: String,
    /// What they show of the mechanism.
    pub signature: String,
    /// How far it is.
    pub state: State,
    /// When its first finding was made.
    pub opened_at: OffsetDateTime,
    /// When its last finding was made.
    pub last_finding_at: OffsetDateTime,
    /// How many there are.
    pub findings: u64,
    /// How often it was opened again.
    pub reopened: u64,
    /// When, and who said that somebody sees to it.
    pub acknowledged: Option<(OffsetDateTime, String)>,
    /// When, and who said that it is over; nobody, if it was over by itself.
    pub resolved: Option<(OffsetDateTime, Option<String>)>,
}

/// Something that became of an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentEvent {
    /// When.
    pub at: OffsetDateTime,
    /// `opened`, `acknowledged`, `resolved` or `reopened`.
    pub what: String,
    /// Who did it; nobody, if it happened by itself.
    pub who: Option<String>,
    /// What they noted.
    pub note: Option<String>,
}

/// A finding of an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentFinding {
    /// When it was made.
    pub found_at: OffsetDateTime,
    /// The probe whose response proves it.
    pub probe: u64,
    /// Its round.
    pub round: i64,
    /// `confirmed` or `suspected`.
    pub certainty: String,
}

const COLUMNS: &str = "incidents.id, endpoints.name as endpoint, kind, signature, state, opened_at, last_finding_at, \
                       findings, reopened, acknowledged_at, acknowledged_by, resolved_at, resolved_by";

impl Store {
    /// Incidents, those with the newest findings first; those that are resolved only if `all` are wanted, and none of
    /// drills.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn incidents(&self, all: bool) -> Result<Vec<IncidentRecord>, StoreError> {
        let act = "list incidents";
        let query = format!(
            "/* incidents */ select {COLUMNS} from incidents join endpoints on endpoints.id = endpoint_id
             where ($1 or state <> 'resolved') and not is_drill order by last_finding_at desc, incidents.id desc"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(all)
            .fetch_all(&self.pool)
            .await
            .map_err(query_error(act))?;
        rows.iter().map(incident_of).collect()
    }

    /// An incident; `None` if there is none of this number.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn incident(&self, id: IncidentId) -> Result<Option<IncidentRecord>, StoreError> {
        let act = "look up an incident";
        let query = format!(
            "/* incident */ select {COLUMNS} from incidents join endpoints on endpoints.id = endpoint_id
             where incidents.id = $1"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(query_error(act))?;
        row.as_ref().map(incident_of).transpose()
    }

    /// What became of an incident, in order.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn incident_events(&self, id: IncidentId) -> Result<Vec<IncidentEvent>, StoreError> {
        let act = "look up what became of an incident";
        let rows = sqlx::query(
            "/* incident_events */
             select at, what, who, note from incident_events where incident_id = $1 order by id",
        )
        .bind(id.0)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let event = |row: &PgRow| {
            Ok(IncidentEvent {
                at: row.try_get("at")?,
                what: row.try_get("what")?,
                who: row.try_get("who")?,
                note: row.try_get("note")?,
            })
        };
        let events: Result<_, sqlx::Error> = rows.iter().map(event).collect();
        events.map_err(query_error(act))
    }

    /// The last findings of an incident, the newest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn incident_findings(
        &self,
        id: IncidentId,
        most: u32,
    ) -> Result<Vec<IncidentFinding>, StoreError> {
        let act = "look up the findings of an incident";
        let rows = sqlx::query(
            "/* incident_findings */
             select found_at, probe_id, round_id, certainty from findings where incident_id = $1
             order by found_at desc, id desc limit $2",
        )
        .bind(id.0)
        .bind(i64::from(most))
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let finding = |row: &PgRow| {
            Ok(IncidentFinding {
                found_at: row.try_get("found_at")?,
                probe: row.try_get::<i64, _>("probe_id")?.cast_unsigned(),
                round: row.try_get("round_id")?,
                certainty: row.try_get("certainty")?,
            })
        };
        let findings: Result<_, sqlx::Error> = rows.iter().map(finding).collect();
        findings.map_err(query_error(act))
    }
}

fn incident_of(row: &PgRow) -> Result<IncidentRecord, StoreError> {
    let act = "read an incident";
    let state: String = row.try_get("state").map_err(query_error(act))?;
    let state = known(&state)?;
    let read = || -> Result<IncidentRecord, sqlx::Error> {
        let acknowledged_at: Option<OffsetDateTime> = row.try_get("acknowledged_at")?;
        let resolved_at: Option<OffsetDateTime> = row.try_get("resolved_at")?;
        let resolved_by: Option<String> = row.try_get("resolved_by")?;
        Ok(IncidentRecord {
            id: IncidentId(row.try_get("id")?),
            endpoint: row.try_get("endpoint")?,
            kind: row.try_get("kind")?,
            signature: row.try_get("signature")?,
            state,
            opened_at: row.try_get("opened_at")?,
            last_finding_at: row.try_get("last_finding_at")?,
            findings: row.try_get::<i64, _>("findings")?.cast_unsigned(),
            reopened: u64::try_from(row.try_get::<i32, _>("reopened")?).unwrap_or(0),
            acknowledged: acknowledged_at.zip(row.try_get("acknowledged_by")?),
            resolved: resolved_at.map(|at| (at, resolved_by)),
        })
    };
    read().map_err(query_error(act))
}
