//! Upkeep of the partitions: weeks made ahead, old ones dropped.

use super::{MIGRATIONS, Store, StoreError, query_error};
use sqlx::AssertSqlSafe;
use time::macros::format_description;
use time::{Date, Duration, OffsetDateTime};

/// The partitioned tables, those that speak of others first.
const PARTITIONED: [&str; 2] = ["sightings", "probes"];

/// How long facts are kept. Rounds, findings, and the sums by the day are kept for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Probes and sightings; a week goes when all of it is older.
    pub probes: Duration,
    /// Sums by the hour.
    pub hours: Duration,
}

/// What was dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// First days of the weeks whose probes and sightings were dropped.
    pub weeks: Vec<Date>,
    /// Rows of sums by the hour.
    pub sums: u64,
}

/// How far the schema is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaState {
    /// Versions of the migrations that were applied.
    pub applied: Vec<i64>,
    /// Versions of those that were not, of the ones this build knows.
    pub pending: Vec<i64>,
    /// Versions that were applied and that this build does not know: of a newer one.
    pub unknown: Vec<i64>,
}

impl Store {
    /// How far the schema is. Changes nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn schema_state(&self) -> Result<SchemaState, StoreError> {
        let act = "look up the state of the schema";
        let any: bool = sqlx::query_scalar(
            "/* any_migrations */ select to_regclass('_sqlx_migrations') is not null",
        )
        .fetch_one(&self.pool)
        .await
        .map_err(query_error(act))?;
        let applied: Vec<i64> = if any {
            sqlx::query_scalar(
                "/* migrations */ select version from _sqlx_migrations where success order by 1",
            )
            .fetch_all(&self.pool)
            .await
            .map_err(query_error(act))?
        } else {
            Vec::new()
        };
        let known: Vec<i64> = MIGRATIONS.iter().map(|known| known.version).collect();
        let without = |all: &[i64], these: &[i64]| {
            let left = all.iter().filter(|version| !these.contains(version));
            left.copied().collect()
        };
        Ok(SchemaState {
            pending: without(&known, &applied),
            unknown: without(&applied, &known),
            applied,
        })
    }

    /// Whether this role may make tables.
    pub(super) async fn may_create(&self) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "/* may_create */ select coalesce(has_schema_privilege(current_schema(), 'create'), false)",
        )
        .fetch_one(&self.pool)
        .await
        .map_err(query_error("look up what this role may do"))
    }

    /// Whether the database answers.
    pub async fn answers(&self) -> bool {
        let _turn = self.turn().await;
        let answer = sqlx::query("/* answers */ select 1").execute(&self.pool);
        answer.await.is_ok()
    }

    /// Makes the partitions of this week and the next, so that none is missing while probes are planned.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn prepare_weeks(&self, now: OffsetDateTime) -> Result<(), StoreError> {
        for moment in [now, now + Duration::WEEK] {
            sqlx::query(
                "/* prepare_weeks */ select weekly_partition('probes', $1), weekly_partition('sightings', $1)",
            )
            .bind(moment)
            .execute(&self.pool)
            .await
            .map_err(query_error("make the partitions of a week"))?;
        }
        Ok(())
    }

    /// Drops what is older than it is kept, a week at a time. Stopped half way, it goes on the next time.
    /// Waits for no reader longer than five seconds: it would make the writers behind it wait, too.
    ///
    /// # Errors
    /// When the database fails, or a table was in use all that time; what was dropped before stays dropped.
    pub async fn prune(&self, keep: Retention, now: OffsetDateTime) -> Result<Pruned, StoreError> {
        let act = "drop what is older than it is kept";
        let mut pruned = Pruned::default();
        for week in self.weeks().await? {
            if end_of(week) > now - keep.probes {
                break;
            }
            self.drop_week(week).await?;
            pruned.weeks.push(week);
        }
        for table in ["probe_sums", "endpoint_sums", "round_sums"] {
            let delete =
                format!("/* prune */ delete from {table} where span = 'hour' and begins_at < $1");
            let deleted = sqlx::query(AssertSqlSafe(delete))
                .bind(now - keep.hours)
                .execute(&self.pool)
                .await
                .map_err(query_error(act))?;
            pruned.sums += deleted.rows_affected();
        }
        Ok(pruned)
    }

    /// First days of the weeks that have a partition, the oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn weeks(&self) -> Result<Vec<Date>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "/* weeks */
             select distinct right(relname, 10) from pg_inherits join pg_class on pg_class.oid = inhrelid
             where inhparent in ('probes'::regclass, 'sightings'::regclass) and not inhdetachpending
             order by 1",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(query_error("list the partitions"))?;
        // What somebody attached by hand under another name is not ours to drop.
        let day =
            |name: &String| Date::parse(name, format_description!("[year]_[month]_[day]")).ok();
        Ok(names.iter().filter_map(day).collect())
    }

    async fn drop_week(&self, week: Date) -> Result<(), StoreError> {
        let act = "drop the partitions of a week";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        sqlx::query("set local lock_timeout = '5s'")
            .execute(&mut *transaction)
            .await
            .map_err(query_error(act))?;
        for parent in PARTITIONED {
            let (year, month, day) = week.to_calendar_date();
            let name = format!("{parent}_{year:04}_{:02}_{day:02}", u8::from(month));
            let there: bool =
                sqlx::query_scalar("/* partition */ select to_regclass($1) is not null")
                    .bind(&name)
                    .fetch_one(&mut *transaction)
                    .await
                    .map_err(query_error(act))?;
            if !there {
                continue;
            }
            for statement in [
                format!("/* detach */ alter table {parent} detach partition {name}"),
                format!("/* drop */ drop table {name}"),
            ] {
                sqlx::query(AssertSqlSafe(statement))
                    .execute(&mut *transaction)
                    .await
                    .map_err(query_error(act))?;
            }
        }
        transaction.commit().await.map_err(query_error(act))
    }
}

fn end_of(week: Date) -> OffsetDateTime {
    week.saturating_add(Duration::WEEK).midnight().assume_utc()
}
