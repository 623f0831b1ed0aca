//! Leases of endpoints, and how far their time grids are decided upon.
//!
//! Nobody holds a transaction open while a round runs: a lease is a row with a time at which it expires, and
//! whatever its holder decides is refused once another one has it.

use super::{Store, StoreError, bigint, query_error};
use crate::ids::EndpointId;
use sqlx::{PgConnection, Row as _};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use time::OffsetDateTime;

/// By name of the scenario: until when its ticks have an outcome.
pub type Decided = HashMap<String, OffsetDateTime>;

/// The sole right to carry out an endpoint's due rounds, until it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Of which endpoint.
    pub endpoint: EndpointId,
    /// Grows with every lease.
    pub token: i64,
    /// The name of the prober that has it.
    pub holder: String,
}

/// A lease that was gained.
#[derive(Clone, Debug)]
pub struct Gained {
    /// The lease.
    pub lease: Lease,
    /// Rounds of a holder before that had not ended: they are lost now, and their ticks undecided.
    pub lost: u64,
}

impl Store {
    /// Makes the grids of an endpoint's scenarios known. Ticks of a new one are decided up to `now`: they are
    /// the past.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn open_lines(
        &self,
        endpoint: EndpointId,
        names: &[String],
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let act = "make the time grids of an endpoint known";
        sqlx::query(
            "/* open_lines */
             with lease as (
                 insert into leases (endpoint_id) values ($1) on conflict on constraint leases_once do nothing
             )
             insert into lines (endpoint_id, name, decided_until)
             select $1, name, $3 from unnest($2) names (name)
             on conflict on constraint lines_once do nothing",
        )
        .bind(endpoint.0)
        .bind(names)
        .bind(now)
        .execute(&self.pool)
        .await
        .map_err(query_error(act))?;
        Ok(())
    }

    /// How far the grids of each of these endpoints are decided upon.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn decided(
        &self,
        endpoints: &[EndpointId],
    ) -> Result<HashMap<EndpointId, Decided>, StoreError> {
        let lines: Vec<(i64, String, OffsetDateTime)> = sqlx::query_as(
            "/* decided */ select endpoint_id, name, decided_until from lines where endpoint_id = any($1)",
        )
        .bind(numbers(endpoints))
        .fetch_all(&self.pool)
        .await
        .map_err(query_error("look up how far time grids are decided upon"))?;
        let mut decided: HashMap<EndpointId, Decided> = HashMap::new();
        for (endpoint, name, until) in lines {
            decided
                .entry(EndpointId(endpoint))
                .or_default()
                .insert(name, until);
        }
        Ok(decided)
    }

    /// Those of these endpoints where a due round is under way that nobody carries out any more: its lease has
    /// expired, was given back, or is `holder`'s, who knows nothing of it (this very prober before a crash).
    ///
    /// # Errors
    /// When the database fails.
    pub async fn abandoned(
        &self,
        endpoints: &[EndpointId],
        holder: &str,
    ) -> Result<HashSet<EndpointId>, StoreError> {
        let abandoned: Vec<i64> = sqlx::query_scalar(
            "/* abandoned */
             select endpoint_id from leases
             where endpoint_id = any($1) and (holder is null or expires_at <= clock_timestamp() or holder = $2)
               and exists (select from rounds
                           where rounds.endpoint_id = leases.endpoint_id and state = 'running'
                             and lease_token is not null)",
        )
        .bind(numbers(endpoints))
        .bind(holder)
        .fetch_all(&self.pool)
        .await
        .map_err(query_error("look for rounds that nobody carries out"))?;
        Ok(abandoned.into_iter().map(EndpointId).collect())
    }

    /// Leases up to `most` of these endpoints: those that nobody has, whose lease has expired, or whose holder is
    /// of the same name (this very prober before a crash). Rounds that a holder before left running are lost.
    ///
    /// # Errors
    /// When the database fails; nothing is leased then, or the leases expire unused.
    pub async fn lease(
        &self,
        endpoints: &[EndpointId],
        holder: &str,
        duration: Duration,
        most: usize,
    ) -> Result<Vec<Gained>, StoreError> {
        let act = "lease endpoints";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let rows = sqlx::query(
            "/* lease */
             with free as (
                 select endpoint_id from leases
                 where endpoint_id = any($1)
                   and (holder is null or expires_at <= clock_timestamp() or holder = $2)
                 -- Whoever waited longest first; and several probers begin at different ends.
                 order by expires_at nulls first, random()
                 limit $4
                 for update skip locked
             )
             update leases set holder = $2, token = token + 1, leased_at = clock_timestamp(),
                               expires_at = clock_timestamp() + $3 * interval '1 millisecond'
             from free where leases.endpoint_id = free.endpoint_id
             returning leases.endpoint_id, token",
        )
        .bind(numbers(endpoints))
        .bind(holder)
        .bind(duration.as_millis() as f64)
        .bind(bigint(most as u64))
        .fetch_all(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let mut gained = Vec::with_capacity(rows.len());
        for row in rows {
            let lease = Lease {
                endpoint: EndpointId(row.try_get("endpoint_id").map_err(query_error(act))?),
                token: row.try_get("token").map_err(query_error(act))?,
                holder: holder.to_owned(),
            };
            let lost = lose_rounds(&mut transaction, lease.endpoint).await?;
            gained.push(Gained { lease, lost });
        }
        transaction.commit().await.map_err(query_error(act))?;
        Ok(gained)
    }

    /// Puts off when a lease expires; false if it is no longer this one's.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn renew(&self, lease: &Lease, duration: Duration) -> Result<bool, StoreError> {
        let renewed = sqlx::query(
            "/* renew */
             update leases set expires_at = clock_timestamp() + $4 * interval '1 millisecond'
             where endpoint_id = $1 and token = $2 and holder = $3 and expires_at > clock_timestamp()",
        )
        .bind(lease.endpoint.0)
        .bind(lease.token)
        .bind(&lease.holder)
        .bind(duration.as_millis() as f64)
        .execute(&self.pool)
        .await
        .map_err(query_error("renew a lease"))?;
        Ok(renewed.rows_affected() == 1)
    }

    /// Gives a lease back; nothing if it is no longer this one's.
    ///
    /// # Errors
    /// When the database fails; it expires then.
    pub async fn give_back(&self, lease: &Lease) -> Result<(), StoreError> {
        sqlx::query(
            "/* give_back */
             update leases set holder = null, leased_at = null, expires_at = null
             where endpoint_id = $1 and token = $2 and holder = $3",
        )
        .bind(lease.endpoint.0)
        .bind(lease.token)
        .bind(&lease.holder)
        .execute(&self.pool)
        .await
        .map_err(query_error("give a lease back"))?;
        Ok(())
    }
}

fn numbers(endpoints: &[EndpointId]) -> Vec<i64> {
    endpoints.iter().map(|endpoint| endpoint.0).collect()
}

/// Rounds that a holder before left running are lost; their ticks have no outcome again.
async fn lose_rounds(
    connection: &mut PgConnection,
    endpoint: EndpointId,
) -> Result<u64, StoreError> {
    let lost = sqlx::query(
        "/* lose_rounds */
         with lost as (
             update rounds set state = 'lost', reason = 'its prober lost the lease'
             where endpoint_id = $1 and state = 'running' and lease_token is not null
             returning name, due_at
         ),
         undecided as (
             update lines set decided_until = least(decided_until, due_at - interval '1 millisecond')
             from (select name, min(due_at) as due_at from lost group by name) first
             where endpoint_id = $1 and lines.name = first.name
         )
         select from lost",
    )
    .bind(endpoint.0)
    .fetch_all(connection)
    .await
    .map_err(query_error("give up the rounds of a lost lease"))?;
    Ok(lost.len() as u64)
}

/// Refuses whoever has the lease no more, and keeps others from taking it until the transaction ends.
pub(super) async fn fence(connection: &mut PgConnection, lease: &Lease) -> Result<(), StoreError> {
    let is_held = sqlx::query(
        "/* fence */
         select from leases
         where endpoint_id = $1 and token = $2 and holder = $3 and expires_at > clock_timestamp()
         for update",
    )
    .bind(lease.endpoint.0)
    .bind(lease.token)
    .bind(&lease.holder)
    .fetch_optional(connection)
    .await
    .map_err(query_error("check a lease"))?
    .is_some();
    if is_held {
        Ok(())
    } else {
        Err(StoreError::LeaseLost)
    }
}

/// A grid is decided upon up to a tick.
pub(super) async fn decide(
    connection: &mut PgConnection,
    (endpoint, name): (EndpointId, &str),
    until: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query(
        "/* decide */
         update lines set decided_until = greatest(decided_until, $3) where endpoint_id = $1 and name = $2",
    )
    .bind(endpoint.0)
    .bind(name)
    .bind(until)
    .execute(connection)
    .await
    .map_err(query_error("decide upon a tick"))?;
    Ok(())
}
