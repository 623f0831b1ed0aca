//! Who is told of an alert.

use super::super::{Store, StoreError, query_error};
use super::{NOTICE, notice};
use crate::alert::Notice;
use sqlx::{AssertSqlSafe, Row as _};
use time::{Duration, OffsetDateTime};

/// Most alerts that are routed in a transaction.
const BATCH: i64 = 200;
/// A receiver that did not take a message is tried again because of a newer one, but not sooner than this.
const SPACING: Duration = Duration::seconds(5);

/// An alert's way to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its name.
    pub receiver: String,
    /// Whether nothing holds it back.
    pub urgent: bool,
    /// When it may leave.
    pub due_at: OffsetDateTime,
}

impl Store {
    /// Decides for each new alert who is told, as `routes` says of the receivers that it is given the names of: those
    /// that are not disabled, and were known when it was noted. How many alerts there were; as many again may
    /// wait. One prober at a time decides.
    ///
    /// # Errors
    /// When the database fails; nothing is decided then.
    pub async fn route_alerts(
        &self,
        now: OffsetDateTime,
        routes: impl Fn(&Notice, &[String]) -> Vec<Route>,
    ) -> Result<usize, StoreError> {
        let act = "route alerts";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        sqlx::query("/* lock_routing */ select pg_advisory_xact_lock(hashtext('alerts'), 0)")
            .execute(&mut *transaction)
            .await
            .map_err(query_error(act))?;
        let query = format!(
            "/* unrouted */
             select alerts.id, {NOTICE},
                    array(select name from receivers
                          where disabled_at is null and first_seen_at <= noted_at) as receivers
             from alerts where routed_at is null order by alerts.id limit {BATCH}"
        );
        let rows = sqlx::query(AssertSqlSafe(query))
            .fetch_all(&mut *transaction)
            .await
            .map_err(query_error(act))?;
        if rows.is_empty() {
            transaction.rollback().await.map_err(query_error(act))?;
            return Ok(0);
        }
        let mut alerts = Vec::with_capacity(rows.len());
        let mut deliveries: Vec<(i64, Route)> = Vec::new();
        for row in &rows {
            let id: i64 = row.try_get("id").map_err(query_error(act))?;
            let receivers: Vec<String> = row.try_get("receivers").map_err(query_error(act))?;
            let routes = routes(&notice(row)?, &receivers);
            deliveries.extend(routes.into_iter().map(|route| (id, route)));
            alerts.push(id);
        }
        sqlx::query("/* routed */ update alerts set routed_at = $2 where id = any($1)")
            .bind(&alerts)
            .bind(now)
            .execute(&mut *transaction)
            .await
            .map_err(query_error(act))?;
        insert(&mut transaction, &deliveries, now).await?;
        transaction.commit().await.map_err(query_error(act))?;
        Ok(alerts.len())
    }
}

async fn insert(
    connection: &mut sqlx::PgConnection,
    deliveries: &[(i64, Route)],
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let alerts: Vec<i64> = deliveries.iter().map(|(alert, _)| *alert).collect();
    let receivers: Vec<&str> = deliveries
        .iter()
        .map(|(_, to)| to.receiver.as_str())
        .collect();
    let urgent: Vec<bool> = deliveries.iter().map(|(_, to)| to.urgent).collect();
    let due_at: Vec<OffsetDateTime> = deliveries.iter().map(|(_, to)| to.due_at).collect();
    // Whoever failed a while ago may take the new one, and what waits before it goes first.
    sqlx::query(
        "/* insert_deliveries */
         with fresh as (
             insert into deliveries (alert_id, receiver, urgent, due_at)
             select alert_id, receiver, urgent, due_at
             from unnest($1::bigint[], $2::text[], $3::bool[], $4::timestamptz[])
                  with ordinality fresh (alert_id, receiver, urgent, due_at, place)
             order by place
             returning receiver, urgent
         )
         update deliveries set due_at = greatest($5, not_before)
         from (select distinct receiver, urgent from fresh) lanes
         where state = 'pending' and deliveries.receiver = lanes.receiver and deliveries.urgent = lanes.urgent
           and attempts > 0 and due_at > $5 and last_at <= $6",
    )
    .bind(alerts)
    .bind(receivers)
    .bind(urgent)
    .bind(due_at)
    .bind(now)
    .bind(now - SPACING)
    .execute(connection)
    .await
    .map_err(query_error("route alerts"))?;
    Ok(())
}
