//! Receivers as probers know them.

use super::super::{Store, StoreError, query_error};
use super::settle::tell_others;
use super::{NOTICE, notice};
use crate::alert::{Notice, PATIENCE};
use sqlx::AssertSqlSafe;
use time::{Duration, OffsetDateTime};

/// So long a resolved incident is still sent again, for an Alertmanager that was away.
const RESOLVED: Duration = Duration::minutes(15);

impl Store {
    /// Notes that a prober with these receivers lives. What was noted before a receiver was first seen it is not told.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn see_receivers(
        &self,
        names: &[String],
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "/* see_receivers */
             insert into receivers (name, seen_at)
             select name, $2 from unnest($1::text[]) names (name) order by name
             on conflict (name) do update set seen_at = greatest(receivers.seen_at, excluded.seen_at)",
        )
        .bind(names)
        .bind(now)
        .execute(&self.pool)
        .await
        .map_err(query_error("note who is told of alerts"))?;
        Ok(())
    }

    /// Gives up messages to receivers that no prober has had in its configuration for a day, and tells the others.
    ///
    /// # Errors
    /// When the database fails; nothing is given up then.
    pub async fn give_up_orphans(&self, now: OffsetDateTime) -> Result<u64, StoreError> {
        let act = "give up messages to receivers that nobody knows";
        let because = "no prober has it in its configuration";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let orphans: Vec<String> = sqlx::query_scalar(
            "/* give_up_orphans */
             update deliveries set state = 'dead', ended_at = $1, error = $3, lease = null, leased_until = null
             from receivers
             where state = 'pending' and name = receiver and seen_at < $2 returning receiver",
        )
        .bind(now)
        .bind(now - PATIENCE)
        .bind(because)
        .fetch_all(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let mut names = orphans.clone();
        names.sort_unstable();
        names.dedup();
        for name in &names {
            tell_others(&mut transaction, name, because, now).await?;
        }
        transaction.commit().await.map_err(query_error(act))?;
        Ok(orphans.len() as u64)
    }

    /// Whether it is this prober's turn to send all unresolved incidents again to an Alertmanager.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn claim_resend(
        &self,
        receiver: &str,
        every: Duration,
        now: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        let claimed = sqlx::query(
            "/* claim_resend */
             update receivers set resent_at = $2
             where name = $1 and disabled_at is null and (resent_at is null or resent_at <= $3)",
        )
        .bind(receiver)
        .bind(now)
        .bind(now - every)
        .execute(&self.pool)
        .await
        .map_err(query_error("claim the sending again of incidents"))?;
        Ok(claimed.rows_affected() > 0)
    }

    /// All that was last told of incidents that are unresolved, or were resolved a moment ago, and began since this
    /// version keeps alerts.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn standing_notices(&self, now: OffsetDateTime) -> Result<Vec<Notice>, StoreError> {
        let query = format!(
            "/* standing_notices */
             select {NOTICE} from incidents
             cross join lateral (select * from alerts where incident_id = incidents.id order by alerts.id desc limit 1) alerts
             where state <> 'resolved' or resolved_at >= $1 order by alerts.id"
        );
        let rows = sqlx::query(AssertSqlSafe(query))
            .bind(now - RESOLVED)
            .fetch_all(&self.pool)
            .await
            .map_err(query_error("look up unresolved incidents"))?;
        rows.iter().map(notice).collect()
    }

    /// Enables a receiver that was disabled because it said that it is gone; whether it was.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn enable_receiver(&self, name: &str) -> Result<bool, StoreError> {
        let enabled = sqlx::query(
            "/* enable_receiver */
             update receivers set disabled_at = null, gave_up_at = null, failures = 0, failed_at = null, error = null
             where name = $1 and disabled_at is not null",
        )
        .bind(name)
        .execute(&self.pool)
        .await
        .map_err(query_error("enable a receiver"))?;
        Ok(enabled.rows_affected() > 0)
    }

    /// Drops alerts that were told, or given up, before a moment; how many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn prune_alerts(&self, before: OffsetDateTime) -> Result<u64, StoreError> {
        // The last of an incident that is not resolved is what it is sent again by.
        let dropped = sqlx::query(
            "/* prune_alerts */
             delete from alerts where routed_at < $1
               and not exists (select from deliveries where alert_id = alerts.id and state = 'pending')
               and not exists (select from incidents where incidents.id = incident_id and incidents.state <> 'resolved')",
        )
        .bind(before)
        .execute(&self.pool)
        .await
        .map_err(query_error("drop old alerts"))?;
        Ok(dropped.rows_affected())
    }
}
