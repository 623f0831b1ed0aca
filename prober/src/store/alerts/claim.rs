//! Messages that are due, claimed for an attempt.

use super::super::{Store, StoreError, query_error};
use super::{NOTICE, notice};
use crate::alert::Envelope;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use time::{Duration, OffsetDateTime};

/// After so long an attempt is taken for lost, because whoever made it died. Far longer than one may take.
const LEASE: Duration = Duration::seconds(90);

/// The urgent messages of a receiver, or the others: what leaves in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Whose.
    pub receiver: String,
    /// Which.
    pub urgent: bool,
    /// So many alerts may be one message.
    pub together: u32,
    /// So long no other message leaves, of either lane.
    pub spacing: Duration,
}

/// A message that is ours to send, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// To whom.
    pub receiver: String,
    /// What is told, in its order.
    pub envelopes: Vec<Envelope>,
    /// So many attempts were made, with this one.
    pub attempts: u32,
    /// When the first was made.
    pub first_at: OffsetDateTime,
    pub(super) message: i64,
    pub(super) lease: String,
}

impl Store {
    /// Which receivers have a message that may leave: their names, and whether those are the urgent ones.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn due_lanes(&self, now: OffsetDateTime) -> Result<Vec<(String, bool)>, StoreError> {
        sqlx::query_as(
            "/* due_lanes */
             select receiver, urgent
             from (select distinct on (receiver, urgent) receiver, urgent, due_at, leased_until from deliveries
                   where state = 'pending' order by receiver, urgent, id) heads
             where due_at <= $1 and (leased_until is null or leased_until <= $1)",
        )
        .bind(now)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error("look for messages that are due"))
    }

    /// Claims the first message of a lane, if it is due and nobody is at it.
    ///
    /// # Errors
    /// When the database fails; nothing is claimed then.
    pub async fn claim(
        &self,
        lane: &Lane,
        now: OffsetDateTime,
    ) -> Result<Option<Claim>, StoreError> {
        let act = "claim a message";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        // One prober at a time claims of a receiver, so that its order holds.
        let is_free: Option<bool> = sqlx::query_scalar(
            "/* lock_receiver */
             select true from receivers
             where name = $1 and disabled_at is null and ($2 = 1 or next_at is null or next_at <= $3)
             for no key update skip locked",
        )
        .bind(&lane.receiver)
        .bind(i64::from(lane.together))
        .bind(now)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let message = match is_free {
            None => None,
            Some(_) => compose(&mut transaction, lane, now).await?,
        };
        let Some(message) = message else {
            // Dropped, it would keep the lock for a moment, and somebody else would find nothing to do.
            transaction.rollback().await.map_err(query_error(act))?;
            return Ok(None);
        };
        sqlx::query("/* space_messages */ update receivers set next_at = $2 where name = $1")
            .bind(&lane.receiver)
            .bind(now + lane.spacing)
            .execute(&mut *transaction)
            .await
            .map_err(query_error(act))?;
        let claim = lease(&mut transaction, lane, message, now).await?;
        transaction.commit().await.map_err(query_error(act))?;
        Ok(claim)
    }
}

/// The first message of a lane, if it is due and nobody is at it: what it is made of is decided at the first attempt.
async fn compose(
    connection: &mut PgConnection,
    lane: &Lane,
    now: OffsetDateTime,
) -> Result<Option<i64>, StoreError> {
    let act = "claim a message";
    let head: Option<(i64, Option<i64>, bool)> = sqlx::query_as(
        "/* head_of_lane */
         select id, message, due_at <= $3 and (leased_until is null or leased_until <= $3) from deliveries
         where receiver = $1 and urgent = $2 and state = 'pending' order by id limit 1",
    )
    .bind(&lane.receiver)
    .bind(lane.urgent)
    .bind(now)
    .fetch_optional(&mut *connection)
    .await
    .map_err(query_error(act))?;
    let id = match head {
        Some((_, Some(message), true)) => return Ok(Some(message)),
        Some((id, None, true)) => id,
        Some((_, _, false)) | None => return Ok(None),
    };
    sqlx::query(
        "/* compose_message */
         update deliveries set message = $3 where id in (
             select id from deliveries where receiver = $1 and urgent = $2 and state = 'pending' order by id limit $4)",
    )
    .bind(&lane.receiver)
    .bind(lane.urgent)
    .bind(id)
    .bind(i64::from(lane.together))
    .execute(connection)
    .await
    .map_err(query_error(act))?;
    Ok(Some(id))
}

async fn lease(
    connection: &mut PgConnection,
    lane: &Lane,
    message: i64,
    now: OffsetDateTime,
) -> Result<Option<Claim>, StoreError> {
    let act = "claim a message";
    let query = format!(
        "/* lease_message */
         with lease as materialized (select gen_random_uuid() as uid),
         leased as (
             update deliveries set attempts = attempts + 1, first_at = coalesce(first_at, $2), last_at = $2,
                    lease = lease.uid, leased_until = $3
             from lease where message = $1 and state = 'pending'
             returning deliveries.id, deliveries.uid, alert_id, attempts, first_at, lease
         )
         select leased.uid::text as uid, attempts, first_at, lease::text as lease, {NOTICE}
         from leased join alerts on alerts.id = alert_id order by leased.id"
    );
    let rows = sqlx::query(AssertSqlSafe(query))
        .bind(message)
        .bind(now)
        .bind(now + LEASE)
        .fetch_all(connection)
        .await
        .map_err(query_error(act))?;
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let envelopes = rows.iter().map(|row| {
        Ok(Envelope {
            uid: row.try_get("uid").map_err(query_error(act))?,
            notice: notice(row)?,
        })
    });
    let attempts: i32 = first.try_get("attempts").map_err(query_error(act))?;
    Ok(Some(Claim {
        receiver: lane.receiver.clone(),
        envelopes: envelopes.collect::<Result<_, StoreError>>()?,
        attempts: attempts.unsigned_abs(),
        first_at: first.try_get("first_at").map_err(query_error(act))?,
        message,
        lease: first.try_get("lease").map_err(query_error(act))?,
    }))
}
