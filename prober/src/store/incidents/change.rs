//! Incidents that a person changes, and those that are over by themselves.

use super::super::{Store, StoreError, query_error};
use super::{Event, known, lock, set_state};
use crate::ids::{EndpointId, IncidentId};
use crate::incident::{self, Act, Quiet, Refusal, Rules, State};
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;

/// Who does something to an incident, and what they note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// Who.
    pub who: String,
    /// What they note.
    pub note: Option<String>,
    /// When.
    pub at: OffsetDateTime,
}

impl Store {
    /// Does to an incident what a person says; its state then, or why that cannot be. `None` if there is no such
    /// incident.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn change_incident(
        &self,
        id: IncidentId,
        act: Act,
        by: &By,
    ) -> Result<Option<Result<State, Refusal>>, StoreError> {
        let doing = "change an incident";
        let mut transaction = self.pool.begin().await.map_err(query_error(doing))?;
        let endpoint: Option<i64> = sqlx::query_scalar(
            "/* incident_endpoint */ select endpoint_id from incidents where id = $1",
        )
        .bind(id.0)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(query_error(doing))?;
        let Some(endpoint) = endpoint else {
            return Ok(None);
        };
        lock(&mut transaction, EndpointId(endpoint)).await?;
        let state: String =
            sqlx::query_scalar("/* incident_state */ select state from incidents where id = $1")
                .bind(id.0)
                .fetch_one(&mut *transaction)
                .await
                .map_err(query_error(doing))?;
        let state = match incident::after(known(&state)?, act) {
            Ok(state) => state,
            Err(refusal) => return Ok(Some(Err(refusal))),
        };
        set_state(&mut transaction, id, state, Some(&by.who), by.at).await?;
        let event = Event {
            incident: id,
            at: by.at,
            what: state.as_str(),
            who: Some(&by.who),
            note: by.note.as_deref(),
        };
        event.record(&mut transaction).await?;
        transaction.commit().await.map_err(query_error(doing))?;
        self.alerted.notify_one();
        Ok(Some(Ok(state)))
    }

    /// Resolves what is over by itself; which ones.
    ///
    /// # Errors
    /// When the database fails; what was resolved before stays resolved.
    pub async fn resolve_quiet(
        &self,
        rules: &Rules,
        now: OffsetDateTime,
    ) -> Result<Vec<IncidentId>, StoreError> {
        let doing = "look for incidents that are over";
        // Leaks are left out: they never are, and those that nobody resolves have the most findings to look through.
        let unresolved: Vec<(i64, i64)> = sqlx::query_as(
            "/* unresolved */ select id, endpoint_id from incidents
             where state <> 'resolved' and kind <> 'leak' order by id",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(doing))?;
        let mut resolved = Vec::new();
        for (id, endpoint) in unresolved {
            let id = IncidentId(id);
            let mut transaction = self.pool.begin().await.map_err(query_error(doing))?;
            lock(&mut transaction, EndpointId(endpoint)).await?;
            // Asked again: a finding may have come since.
            let quiet = quiet(&mut transaction, id).await?;
            if !quiet.is_some_and(|quiet| incident::is_over(&quiet, rules, now)) {
                continue;
            }
            set_state(&mut transaction, id, State::Resolved, None, now).await?;
            let event = Event {
                incident: id,
                at: now,
                what: State::Resolved.as_str(),
                who: None,
                note: None,
            };
            event.record(&mut transaction).await?;
            transaction.commit().await.map_err(query_error(doing))?;
            self.alerted.notify_one();
            resolved.push(id);
        }
        Ok(resolved)
    }
}

/// What says whether an incident is over; `None` if it is resolved.
async fn quiet(connection: &mut PgConnection, id: IncidentId) -> Result<Option<Quiet>, StoreError> {
    let act = "look for incidents that are over";
    let row = sqlx::query(
        "/* quiet_incident */
         select kind, last_finding_at,
                not exists (select from findings join rounds found on found.id = findings.round_id
                            where findings.incident_id = incidents.id
                              and not exists (select from rounds clean
                                              where clean.endpoint_id = incidents.endpoint_id
                                                and clean.name = found.name and clean.verdict = 'clean'
                                                and clean.started_at > incidents.last_finding_at)) as is_clean_since
         from incidents where id = $1 and state <> 'resolved'",
    )
    .bind(id.0)
    .fetch_optional(connection)
    .await
    .map_err(query_error(act))?;
    row.map(|row| {
        Ok(Quiet {
            kind: row.try_get("kind")?,
            last_finding_at: row.try_get("last_finding_at")?,
            is_clean_since: row.try_get("is_clean_since")?,
        })
    })
    .transpose()
    .map_err(query_error(act))
}
