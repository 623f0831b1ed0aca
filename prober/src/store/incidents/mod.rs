//! Incidents, and what became of them. Whatever changes one has the endpoint's lock first, so that several probers
//! and people never decide on the same incident at once; that there is one unresolved of a kind, an index sees to, too.

mod change;
mod read;
mod take_in;

pub use change::By;
pub use read::{IncidentEvent, IncidentFinding, IncidentRecord};
pub(super) use take_in::take_in;

use super::{StoreError, query_error};
use crate::ids::{EndpointId, IncidentId};
use crate::incident::State;
use sqlx::PgConnection;
use time::OffsetDateTime;

/// Until the end of the transaction nobody else changes an incident of this endpoint. A transaction about several
/// endpoints locks them beforehand, in their order, so that it never waits for somebody who waits for it.
pub(super) async fn lock(
    connection: &mut PgConnection,
    endpoint: EndpointId,
) -> Result<(), StoreError> {
    sqlx::query(
        "/* lock_incidents */ select pg_advisory_xact_lock(hashtext('incidents'), $1::int)",
    )
    .bind(endpoint.0)
    .execute(connection)
    .await
    .map_err(query_error("wait for the incidents of an endpoint"))?;
    Ok(())
}

async fn reopen(connection: &mut PgConnection, id: IncidentId) -> Result<(), StoreError> {
    sqlx::query(
        "/* reopen_incident */
         update incidents set state = 'open', reopened = reopened + 1, resolved_at = null, resolved_by = null,
                acknowledged_at = null, acknowledged_by = null where id = $1",
    )
    .bind(id.0)
    .execute(connection)
    .await
    .map_err(query_error("open an incident again"))?;
    Ok(())
}

/// Notes who acknowledged or resolved an incident.
pub(super) async fn set_state(
    connection: &mut PgConnection,
    id: IncidentId,
    state: State,
    who: Option<&str>,
    at: OffsetDateTime,
) -> Result<(), StoreError> {
    let set = match state {
        State::Open => return reopen(connection, id).await,
        State::Acknowledged => {
            "/* acknowledge_incident */
             update incidents set state = 'acknowledged', acknowledged_by = $2, acknowledged_at = $3 where id = $1"
        }
        State::Resolved => {
            "/* resolve_incident */
             update incidents set state = 'resolved', resolved_by = $2, resolved_at = $3 where id = $1"
        }
    };
    sqlx::query(set)
        .bind(id.0)
        .bind(who)
        .bind(at)
        .execute(connection)
        .await
        .map_err(query_error("change an incident"))?;
    Ok(())
}

/// Something that became of an incident, to be recorded.
pub(super) struct Event<'a> {
    pub(super) incident: IncidentId,
    pub(super) at: OffsetDateTime,
    pub(super) what: &'a str,
    pub(super) who: Option<&'a str>,
    pub(super) note: Option<&'a str>,
}

impl Event<'_> {
    pub(super) async fn record(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        sqlx::query(
            "/* incident_event */
             insert into incident_events (incident_id, at, what, who, note) values ($1, $2, $3, $4, $5)",
        )
        .bind(self.incident.0)
        .bind(self.at)
        .bind(self.what)
        .bind(self.who)
        .bind(self.note)
        .execute(connection)
        .await
        .map_err(query_error("record what became of an incident"))?;
        Ok(())
    }
}

pub(super) fn known(state: &str) -> Result<State, StoreError> {
    State::of(state).ok_or(StoreError::Range {
        what: "the state of an incident",
    })
}
