//! What is read back for people.

use super::{Store, StoreError, query_error};
use sqlx::Row as _;

/// How many rows there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Rounds, skipped ones too.
    pub rounds: i64,
    /// Probes, planned ones too.
    pub probes: i64,
    /// Probes with a verdict.
    pub judged: i64,
    /// Sightings.
    pub sightings: i64,
    /// Findings.
    pub findings: i64,
}

impl Store {
    /// Counts what has been recorded.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        let act = "count what is recorded";
        let row = sqlx::query(
            "/* counts */
             select (select count(*) from rounds) as rounds,
                    (select count(*) from probes) as probes,
                    (select count(*) from probes where verdict is not null) as judged,
                    (select count(*) from sightings) as sightings,
                    (select count(*) from findings) as findings",
        )
        .fetch_one(&self.pool)
        .await
        .map_err(query_error(act))?;
        let column = |name| row.try_get(name).map_err(query_error(act));
        Ok(Counts {
            rounds: column("rounds")?,
            probes: column("probes")?,
            judged: column("judged")?,
            sightings: column("sightings")?,
            findings: column("findings")?,
        })
    }
}
