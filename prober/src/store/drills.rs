//! Drills: what was begun, what of it has arrived, and how it ended (docs/alerts.md).

use super::{Store, StoreError, incidents, query_error};
use crate::drill::{Arrival, NewDrill, Progress};
use crate::ids::{DrillId, EndpointId, IncidentId};
use crate::incident::State;
use incidents::{Event, lock, set_state};
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;

/// What resolves the incident of a drill.
const CLOSER: &str = "drill";

/// A drill as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillRecord {
    /// Which one.
    pub id: DrillId,
    /// The endpoint that it is told of.
    pub endpoint: String,
    /// Who began it by hand; nobody, if it was due.
    pub who: Option<String>,
    /// When it began.
    pub begun_at: OffsetDateTime,
    /// When it ended; `None` while it goes on.
    pub ended_at: Option<OffsetDateTime>,
    /// Why it failed; `None` if it arrived everywhere, or goes on.
    pub because: Option<String>,
}

impl Store {
    /// Begins a drill; `None` if one is under way, or this one was due and has been.
    ///
    /// # Errors
    /// When the database fails; nothing has begun then.
    pub async fn begin_drill(&self, drill: &NewDrill) -> Result<Option<DrillId>, StoreError> {
        let act = "begin a drill";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        wait(&mut transaction).await?;
        let id: Option<i64> = sqlx::query_scalar(
            "/* begin_drill */
             insert into drills (endpoint, who, due_at, begun_at, deadline_at) values ($1, $2, $3, $4, $5)
             on conflict do nothing returning id",
        )
        .bind(&drill.endpoint)
        .bind(drill.who.as_deref())
        .bind(drill.due_at)
        .bind(drill.begun_at)
        .bind(drill.deadline_at)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let Some(id) = id else {
            transaction.rollback().await.map_err(query_error(act))?;
            return Ok(None);
        };
        // What an earlier one left, because it found its leak too late, must not take this one's in.
        close_incidents(&mut transaction, drill.begun_at).await?;
        transaction.commit().await.map_err(query_error(act))?;
        Ok(Some(DrillId(id)))
    }

    /// Records that the leak of a drill was found and recorded.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn drill_found(&self, id: DrillId, now: OffsetDateTime) -> Result<(), StoreError> {
        sqlx::query("/* drill_found */ update drills set found_at = $2 where id = $1")
            .bind(id.0)
            .bind(now)
            .execute(&self.pool)
            .await
            .map_err(query_error("record that a drill was found"))?;
        Ok(())
    }

    /// The drill that is under way, as far as it is.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn drill_under_way(&self) -> Result<Option<Progress>, StoreError> {
        let act = "look for a drill";
        let row = sqlx::query(
            "/* drill_under_way */
             select id, endpoint, begun_at, deadline_at, found_at from drills where ended_at is null",
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(query_error(act))?;
        let Some(row) = row else {
            return Ok(None);
        };
        let read = || -> Result<Progress, sqlx::Error> {
            Ok(Progress {
                id: DrillId(row.try_get("id")?),
                endpoint: row.try_get("endpoint")?,
                begun_at: row.try_get("begun_at")?,
                deadline_at: row.try_get("deadline_at")?,
                found_at: row.try_get("found_at")?,
                is_routed: false,
                arrivals: Vec::new(),
            })
        };
        let mut progress = read().map_err(query_error(act))?;
        (progress.is_routed, progress.arrivals) = self.arrivals(progress.begun_at).await?;
        Ok(Some(progress))
    }

    /// Whether it is decided who is told of the drill that began at this moment, and how far that is.
    async fn arrivals(&self, begun_at: OffsetDateTime) -> Result<(bool, Vec<Arrival>), StoreError> {
        let act = "look up whether a drill arrives";
        let rows = sqlx::query(
            "/* drill_arrivals */
             select routed_at is not null as is_routed, deliveries.receiver, deliveries.state, deliveries.error,
                    deliveries.ended_at
             from endpoints join incidents on endpoint_id = endpoints.id
             join alerts on incident_id = incidents.id and what = 'opened'
             left join deliveries on alert_id = alerts.id
             where is_drill and alerts.at >= $1 order by deliveries.receiver, alerts.id",
        )
        .bind(begun_at)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let mut is_routed = !rows.is_empty();
        let mut arrivals = Vec::with_capacity(rows.len());
        let read = |row: &sqlx::postgres::PgRow| -> Result<Option<Arrival>, sqlx::Error> {
            let Some(receiver) = row.try_get("receiver")? else {
                return Ok(None);
            };
            let state: String = row.try_get("state")?;
            Ok(Some(Arrival {
                receiver,
                delivered_at: match state.as_str() {
                    "delivered" => row.try_get("ended_at")?,
                    _ => None,
                },
                is_dead: state == "dead",
                error: row.try_get("error")?,
            }))
        };
        for row in &rows {
            is_routed &= row
                .try_get::<bool, _>("is_routed")
                .map_err(query_error(act))?;
            arrivals.extend(read(row).map_err(query_error(act))?);
        }
        Ok((is_routed, arrivals))
    }

    /// Ends a drill: resolves its incidents and, if it failed for a reason, tells everybody. `false` if it had ended.
    ///
    /// # Errors
    /// When the database fails; it goes on then.
    pub async fn end_drill(
        &self,
        id: DrillId,
        because: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        let act = "end a drill";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        wait(&mut transaction).await?;
        let endpoint: Option<String> = sqlx::query_scalar(
            "/* end_drill */
             update drills set ended_at = $2, because = $3 where id = $1 and ended_at is null returning endpoint",
        )
        .bind(id.0)
        .bind(now)
        .bind(because)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let Some(endpoint) = endpoint else {
            transaction.rollback().await.map_err(query_error(act))?;
            return Ok(false);
        };
        close_incidents(&mut transaction, now).await?;
        if let Some(because) = because {
            sqlx::query(
                "/* drill_failed */
                 insert into alerts (what, at, notice)
                 values ('drill_failed', $1, jsonb_build_object('endpoint', $2::text, 'because', $3::text))",
            )
            .bind(now)
            .bind(endpoint)
            .bind(because)
            .execute(&mut *transaction)
            .await
            .map_err(query_error(act))?;
        }
        transaction.commit().await.map_err(query_error(act))?;
        self.alerted.notify_one();
        Ok(true)
    }

    /// Resolves incidents of drills that have ended: of one that found its leak only then. How many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn close_late_drills(&self, now: OffsetDateTime) -> Result<usize, StoreError> {
        let act = "close late drills";
        let late: bool = sqlx::query_scalar(
            "/* late_drills */
             select exists (select from incidents join endpoints on endpoints.id = endpoint_id
                            where is_drill and state <> 'resolved')
                    and not exists (select from drills where ended_at is null)",
        )
        .fetch_one(&self.pool)
        .await
        .map_err(query_error(act))?;
        if !late {
            return Ok(0);
        }
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        wait(&mut transaction).await?;
        // Asked again: one may have begun since.
        let under_way: bool = sqlx::query_scalar(
            "/* any_drill */ select exists (select from drills where ended_at is null)",
        )
        .fetch_one(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let closed = if under_way {
            0
        } else {
            close_incidents(&mut transaction, now).await?
        };
        transaction.commit().await.map_err(query_error(act))?;
        if closed > 0 {
            self.alerted.notify_one();
        }
        Ok(closed)
    }

    /// The last drills, the newest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn drills(&self, most: u32) -> Result<Vec<DrillRecord>, StoreError> {
        let act = "list drills";
        let rows = sqlx::query(
            "/* drills */
             select id, endpoint, who, begun_at, ended_at, because from drills order by id desc limit $1",
        )
        .bind(i64::from(most))
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let record = |row: &sqlx::postgres::PgRow| -> Result<DrillRecord, sqlx::Error> {
            Ok(DrillRecord {
                id: DrillId(row.try_get("id")?),
                endpoint: row.try_get("endpoint")?,
                who: row.try_get("who")?,
                begun_at: row.try_get("begun_at")?,
                ended_at: row.try_get("ended_at")?,
                because: row.try_get("because")?,
            })
        };
        let records: Result<_, sqlx::Error> = rows.iter().map(record).collect();
        records.map_err(query_error(act))
    }

    /// When the last drill that was due was due.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn last_due_drill(&self) -> Result<Option<OffsetDateTime>, StoreError> {
        sqlx::query_scalar("/* last_due_drill */ select max(due_at) from drills")
            .fetch_one(&self.pool)
            .await
            .map_err(query_error("look up when a drill was due"))
    }

    /// Drops drills that ended before a moment, but the last one; how many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn prune_drills(&self, before: OffsetDateTime) -> Result<u64, StoreError> {
        let dropped = sqlx::query(
            "/* prune_drills */
             delete from drills where ended_at < $1 and id < (select max(id) from drills)",
        )
        .bind(before)
        .execute(&self.pool)
        .await
        .map_err(query_error("drop old drills"))?;
        Ok(dropped.rows_affected())
    }
}

/// Until the end of the transaction nobody else begins or ends a drill.
async fn wait(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("/* lock_drills */ select pg_advisory_xact_lock(hashtext('drills'), 0)")
        .execute(connection)
        .await
        .map_err(query_error("wait for a drill"))?;
    Ok(())
}

/// Resolves what is open at the endpoint of drills; how many incidents.
async fn close_incidents(
    connection: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<usize, StoreError> {
    let act = "close the incidents of a drill";
    let endpoint: Option<i64> =
        sqlx::query_scalar("/* drill_endpoint */ select id from endpoints where is_drill")
            .fetch_optional(&mut *connection)
            .await
            .map_err(query_error(act))?;
    let Some(endpoint) = endpoint else {
        return Ok(0);
    };
    lock(connection, EndpointId(endpoint)).await?;
    let open: Vec<i64> = sqlx::query_scalar(
        "/* drill_incidents */
         select id from incidents where endpoint_id = $1 and state <> 'resolved' order by id",
    )
    .bind(endpoint)
    .fetch_all(&mut *connection)
    .await
    .map_err(query_error(act))?;
    for &id in &open {
        let id = IncidentId(id);
        set_state(connection, id, State::Resolved, Some(CLOSER), now).await?;
        let event = Event {
            incident: id,
            at: now,
            what: State::Resolved.as_str(),
            who: Some(CLOSER),
            note: Some("a drill closes itself"),
        };
        event.record(connection).await?;
    }
    Ok(open.len())
}
