//! Looking at receivers.

use super::super::{Store, StoreError, query_error};
use sqlx::Row as _;
use time::OffsetDateTime;

/// A receiver, and how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverRecord {
    /// Its name.
    pub name: String,
    /// When a prober with it in its configuration was last known to live.
    pub seen_at: OffsetDateTime,
    /// When it last took a message.
    pub delivered_at: Option<OffsetDateTime>,
    /// When it last did not, and why, if it has taken none since.
    pub failed: Option<(OffsetDateTime, String)>,
    /// How often in a row.
    pub failures: u64,
    /// When it said that it is gone.
    pub disabled_at: Option<OffsetDateTime>,
    /// How many messages it has.
    pub deliveries: DeliveryCounts,
}

/// How many deliveries a receiver has; those that were dropped because of their age are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// That wait.
    pub pending: u64,
    /// That it took.
    pub delivered: u64,
    /// That were given up.
    pub dead: u64,
}

impl Store {
    /// All receivers that a prober has known, by name.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn receivers(&self) -> Result<Vec<ReceiverRecord>, StoreError> {
        let act = "list receivers";
        let rows = sqlx::query(
            "/* receivers */
             select name, seen_at, delivered_at, failed_at, receivers.error, failures, disabled_at,
                    count(*) filter (where state = 'pending') as pending,
                    count(*) filter (where state = 'delivered') as delivered,
                    count(*) filter (where state = 'dead') as dead
             from receivers left join deliveries on receiver = name group by name order by name",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let count = |row: &sqlx::postgres::PgRow, name: &str| {
            row.try_get::<i64, _>(name).map(i64::cast_unsigned)
        };
        let read = rows.iter().map(|row| {
            let failed_at: Option<OffsetDateTime> = row.try_get("failed_at")?;
            let error: Option<String> = row.try_get("error")?;
            Ok(ReceiverRecord {
                name: row.try_get("name")?,
                seen_at: row.try_get("seen_at")?,
                delivered_at: row.try_get("delivered_at")?,
                failed: failed_at.zip(error),
                failures: count(row, "failures")?,
                disabled_at: row.try_get("disabled_at")?,
                deliveries: DeliveryCounts {
                    pending: count(row, "pending")?,
                    delivered: count(row, "delivered")?,
                    dead: count(row, "dead")?,
                },
            })
        });
        read.collect::<Result<_, _>>().map_err(query_error(act))
    }
}
