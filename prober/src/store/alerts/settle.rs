//! What became of an attempt.

use super::super::{Store, StoreError, query_error};
use super::Claim;
use crate::alert::Next;
use sqlx::PgConnection;
use time::OffsetDateTime;

const ACT: &str = "record what became of a message";

impl Store {
    /// Records what follows from an attempt. An attempt that was taken for lost, because it took too long, counts no
    /// more: `false`.
    ///
    /// # Errors
    /// When the database fails; the message will be sent again, with the same ids.
    pub async fn settle(
        &self,
        claim: &Claim,
        next: &Next,
        now: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.pool.begin().await.map_err(query_error(ACT))?;
        let (state, due_at, not_before, error) = match next {
            Next::Delivered => ("delivered", None, None, None),
            Next::Again {
                due_at,
                not_before,
                because,
            } => (
                "pending",
                Some(*due_at),
                *not_before,
                Some(because.as_str()),
            ),
            Next::Dead { because } => ("dead", None, None, Some(because.as_str())),
            Next::Disable => ("dead", None, None, Some(GONE)),
        };
        let settled = sqlx::query(
            "/* settle_message */
             update deliveries set state = $3, due_at = coalesce($4, due_at), not_before = $5, error = $6,
                    lease = null, leased_until = null, ended_at = case when $3 = 'pending' then null else $7 end
             where message = $1 and lease = $2::uuid and state = 'pending'",
        )
        .bind(claim.message)
        .bind(&claim.lease)
        .bind(state)
        .bind(due_at)
        .bind(not_before)
        .bind(error)
        .bind(now)
        .execute(&mut *transaction)
        .await
        .map_err(query_error(ACT))?;
        if settled.rows_affected() == 0 {
            return Ok(false);
        }
        match next {
            Next::Delivered => works(&mut transaction, &claim.receiver, now).await?,
            Next::Again { because, .. } => {
                fails(&mut transaction, &claim.receiver, because, now).await?;
            }
            Next::Dead { because } => {
                fails(&mut transaction, &claim.receiver, because, now).await?;
                tell_others(&mut transaction, &claim.receiver, because, now).await?;
            }
            Next::Disable => {
                fails(&mut transaction, &claim.receiver, GONE, now).await?;
                disable(&mut transaction, &claim.receiver, now).await?;
                tell_others(&mut transaction, &claim.receiver, GONE, now).await?;
            }
        }
        transaction.commit().await.map_err(query_error(ACT))?;
        if matches!(next, Next::Dead { .. } | Next::Disable) {
            self.alerted.notify_one();
        }
        Ok(true)
    }
}

const GONE: &str = "it answered 410: it is gone, and disabled until somebody enables it";

async fn works(
    connection: &mut PgConnection,
    receiver: &str,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query(
        "/* receiver_works */
         update receivers set delivered_at = $2, failures = 0, failed_at = null, error = null, gave_up_at = null
         where name = $1",
    )
    .bind(receiver)
    .bind(now)
    .execute(connection)
    .await
    .map_err(query_error(ACT))?;
    Ok(())
}

async fn fails(
    connection: &mut PgConnection,
    receiver: &str,
    because: &str,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query(
        "/* receiver_fails */
         update receivers set failures = failures + 1, failed_at = $2, error = $3 where name = $1",
    )
    .bind(receiver)
    .bind(now)
    .bind(because)
    .execute(connection)
    .await
    .map_err(query_error(ACT))?;
    Ok(())
}

async fn disable(
    connection: &mut PgConnection,
    receiver: &str,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query("/* disable_receiver */ update receivers set disabled_at = $2 where name = $1")
        .bind(receiver)
        .bind(now)
        .execute(&mut *connection)
        .await
        .map_err(query_error(ACT))?;
    sqlx::query(
        "/* drop_messages */
         update deliveries set state = 'dead', error = $3, ended_at = $2, lease = null, leased_until = null
         where receiver = $1 and state = 'pending'",
    )
    .bind(receiver)
    .bind(now)
    .bind(GONE)
    .execute(connection)
    .await
    .map_err(query_error(ACT))?;
    Ok(())
}

/// Other receivers are told once, until the one in trouble takes a message again.
pub(super) async fn tell_others(
    connection: &mut PgConnection,
    receiver: &str,
    because: &str,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query(
        "/* tell_others */
         with trouble as (
             update receivers set gave_up_at = $3 where name = $1 and gave_up_at is null returning name
         )
         insert into alerts (what, at, receiver, notice)
         select 'undelivered', $3, name, jsonb_build_object('receiver', name, 'because', $2::text) from trouble",
    )
    .bind(receiver)
    .bind(because)
    .bind(now)
    .execute(connection)
    .await
    .map_err(query_error(ACT))?;
    Ok(())
}
