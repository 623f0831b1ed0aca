//! Findings that open, grow or reopen incidents.

use super::super::{StoreError, query_error};
use super::{Event, known, lock, reopen};
use crate::ids::{EndpointId, IncidentId, RoundId};
use crate::incident::{self, Latest, Rules, Step};
use sqlx::PgConnection;
use time::OffsetDateTime;

/// The incident of a finding that was made in a round at a moment: opened, grown or opened again.
pub(in crate::store) async fn take_in(
    connection: &mut PgConnection,
    (round, found_at): (RoundId, OffsetDateTime),
    (kind, signature): (&str, &str),
    rules: &Rules,
) -> Result<IncidentId, StoreError> {
    let act = "put a finding into its incident";
    let endpoint: i64 =
        sqlx::query_scalar("/* round_endpoint */ select endpoint_id from rounds where id = $1")
            .bind(round.0)
            .fetch_one(&mut *connection)
            .await
            .map_err(query_error(act))?;
    lock(connection, EndpointId(endpoint)).await?;
    let latest: Option<(i64, String, Option<OffsetDateTime>)> = sqlx::query_as(
        "/* latest_incident */
         select id, state, resolved_at from incidents where endpoint_id = $1 and kind = $2 and signature = $3
         order by resolved_at desc nulls first limit 1",
    )
    .bind(endpoint)
    .bind(kind)
    .bind(signature)
    .fetch_optional(&mut *connection)
    .await
    .map_err(query_error(act))?;
    let state = match &latest {
        None => None,
        Some((_, state, resolved_at)) => Some(Latest {
            state: known(state)?,
            resolved_at: *resolved_at,
        }),
    };
    let step = incident::on_finding(state, found_at, rules);
    let (id, what) = match (step, latest) {
        (Step::Grow | Step::Reopen, Some((id, ..))) => {
            let id = IncidentId(id);
            grow(connection, id, found_at).await?;
            if step == Step::Grow {
                return Ok(id);
            }
            reopen(connection, id).await?;
            (id, "reopened")
        }
        _ => {
            let id = open(connection, endpoint, (kind, signature), found_at).await?;
            (id, "opened")
        }
    };
    let event = Event {
        incident: id,
        at: found_at,
        what,
        who: None,
        note: None,
    };
    event.record(connection).await?;
    Ok(id)
}

async fn open(
    connection: &mut PgConnection,
    endpoint: i64,
    (kind, signature): (&str, &str),
    found_at: OffsetDateTime,
) -> Result<IncidentId, StoreError> {
    sqlx::query_scalar(
        "/* open_incident */
         insert into incidents (endpoint_id, kind, signature, state, opened_at, last_finding_at, findings)
         values ($1, $2, $3, 'open', $4, $4, 1) returning id",
    )
    .bind(endpoint)
    .bind(kind)
    .bind(signature)
    .bind(found_at)
    .fetch_one(connection)
    .await
    .map(IncidentId)
    .map_err(query_error("open an incident"))
}

/// One more finding. Findings come in the order in which they are recorded, not made.
async fn grow(
    connection: &mut PgConnection,
    id: IncidentId,
    found_at: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query(
        "/* grow_incident */
         update incidents set findings = findings + 1, opened_at = least(opened_at, $2),
                last_finding_at = greatest(last_finding_at, $2)
         where id = $1",
    )
    .bind(id.0)
    .bind(found_at)
    .execute(connection)
    .await
    .map_err(query_error("put a finding into its incident"))?;
    Ok(())
}
