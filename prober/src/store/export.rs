//! Findings for other systems, in the order in which they were recorded.

use super::incidents::known;
use super::{Store, StoreError, query_error};
use crate::ids::{IncidentId, RoundId};
use crate::incident::State;
use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use time::OffsetDateTime;

/// Which findings are wanted.
#[derive(Clone, Debug, Default)]
pub struct FindingFilter {
    /// Made then or later.
    pub since: Option<OffsetDateTime>,
    /// Made before.
    pub until: Option<OffsetDateTime>,
    /// At endpoints of these names; at any, if there are none.
    pub endpoints: Vec<String>,
    /// Of these kinds; of any, if there are none.
    pub kinds: Vec<String>,
    /// Those of drills, too.
    pub drills: bool,
}

/// A finding with what it is part of. Holds no response text and no canary.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedFinding {
    /// Its number: a later one was recorded later, or at the same time.
    pub id: i64,
    /// When it was made.
    pub found_at: OffsetDateTime,
    /// Its round.
    pub round: RoundId,
    /// The name of its scenario.
    pub scenario: String,
    /// The name of its endpoint.
    pub endpoint: String,
    /// What it is.
    pub kind: String,
    /// `confirmed` or `suspected`.
    pub certainty: String,
    /// The probe whose response proves it.
    pub probe: u64,
    /// Whose probe that was.
    pub tenant: String,
    /// Whether it was made in a drill, by the prober itself.
    pub is_drill: bool,
    /// Whether a response that proves it was kept, sealed.
    pub evidence: bool,
    /// Its incident; none for findings of before there were any.
    pub incident: Option<ExportedIncident>,
    /// Of a leak: whose canaries came out.
    pub donor: Option<ExportedDonor>,
    /// The numbers behind it.
    pub detail: Value,
}

/// The incident of a finding, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedIncident {
    /// Which one.
    pub id: IncidentId,
    /// What its findings show of the mechanism.
    pub signature: String,
    /// How far it is.
    pub state: State,
}

/// Whose canaries came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedDonor {
    /// How it is related to whom the response was for.
    pub relation: String,
    /// Its name, if this store knows it.
    pub tenant: Option<String>,
    /// The endpoint they were planted at.
    pub endpoint: Option<String>,
    /// By which probe.
    pub probe: u64,
    /// When.
    pub planted_at: Option<OffsetDateTime>,
    /// The slots, in the order in which they came out.
    pub slots: Vec<i32>,
    /// The estimated tokens of its context at which the first and the last of them begin.
    pub tokens: Option<(i64, i64)>,
}

/// Transactions that are writing findings, by what Postgres calls them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writers(Vec<String>);

impl Writers {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

const WRITING: &str = "from pg_locks where relation = 'findings'::regclass and mode = 'RowExclusiveLock' and granted
                       and database = (select oid from pg_database where datname = current_database())";

impl Store {
    /// The number of the last finding that can be seen; 0 if there is none. One with a lower number may still come, from
    /// a transaction that is not done: it is among [`Store::finding_writers`], asked afterwards.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn last_finding(&self) -> Result<i64, StoreError> {
        sqlx::query_scalar("/* last_finding */ select coalesce(max(id), 0) from findings")
            .fetch_one(&self.pool)
            .await
            .map_err(query_error("look up the last finding"))
    }

    /// The transactions that are writing findings now.
    ///
    /// A transaction takes its lock on the table before it gets a number for a row, and keeps it until it ends. So a
    /// number below one that can be seen is taken by a row that can be seen, by one of these, or by nobody ever.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn finding_writers(&self) -> Result<Writers, StoreError> {
        let query = format!("/* finding_writers */ select distinct virtualtransaction {WRITING}");
        let writers = sqlx::query_scalar(sqlx::AssertSqlSafe(query));
        let writers = writers.fetch_all(&self.pool).await;
        Ok(Writers(
            writers.map_err(query_error("look up who is writing findings"))?,
        ))
    }

    /// Those of these transactions that are not done.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn still_writing(&self, writers: &Writers) -> Result<Writers, StoreError> {
        let now = self.finding_writers().await?;
        let still = |writer: &String| writers.0.contains(writer);
        Ok(Writers(now.0.into_iter().filter(still).collect()))
    }

    /// Findings with a number above `after` and up to `through`, at most so many, in the order of their numbers.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn findings_between(
        &self,
        (after, through): (i64, i64),
        filter: &FindingFilter,
        most: u32,
    ) -> Result<Vec<ExportedFinding>, StoreError> {
        let rows = sqlx::query(
            "/* findings_between */
             select findings.id, found_at, round_id, rounds.name as scenario, endpoints.name as endpoint,
                    endpoints.is_drill, findings.kind, certainty, probe_id, tenants.name as tenant,
                    exists (select from finding_evidence where finding_id = findings.id) as evidence,
                    incident_id, incidents.signature, incidents.state,
                    donor_relation, donors.name as donor_tenant, donor_endpoints.name as donor_endpoint, donor_probe,
                    planted_at, slots, first_token, last_token, detail
             from findings join rounds on rounds.id = round_id
                           join endpoints on endpoints.id = rounds.endpoint_id
                           join tenants on tenants.id = findings.tenant_id
                           left join incidents on incidents.id = incident_id
                           left join tenants donors on donors.id = donor_tenant_id
                           left join endpoints donor_endpoints on donor_endpoints.id = donors.endpoint_id
             where findings.id > $1 and findings.id <= $2
               and ($3::timestamptz is null or found_at >= $3) and ($4::timestamptz is null or found_at < $4)
               and ($5 = '{}'::text[] or endpoints.name = any ($5)) and ($6 = '{}'::text[] or findings.kind = any ($6))
               and ($7 or not endpoints.is_drill)
             order by findings.id limit $8",
        )
        .bind(after)
        .bind(through)
        .bind(filter.since)
        .bind(filter.until)
        .bind(&filter.endpoints)
        .bind(&filter.kinds)
        .bind(filter.drills)
        .bind(i64::from(most))
        .fetch_all(&self.pool)
        .await
        .map_err(query_error("read findings"))?;
        rows.iter().map(exported).collect()
    }
}

fn exported(row: &PgRow) -> Result<ExportedFinding, StoreError> {
    let error = || query_error("read a finding");
    let state: Option<String> = row.try_get("state").map_err(error())?;
    let state = state.as_deref().map(known).transpose()?;
    let read = || -> Result<ExportedFinding, sqlx::Error> {
        let incident: Option<i64> = row.try_get("incident_id")?;
        let signature: Option<String> = row.try_get("signature")?;
        let first: Option<i64> = row.try_get("first_token")?;
        let relation: Option<String> = row.try_get("donor_relation")?;
        let donor_probe: Option<i64> = row.try_get("donor_probe")?;
        let donor = match relation.zip(donor_probe) {
            None => None,
            Some((relation, probe)) => Some(ExportedDonor {
                relation,
                tenant: row.try_get("donor_tenant")?,
                endpoint: row.try_get("donor_endpoint")?,
                probe: probe.cast_unsigned(),
                planted_at: row.try_get("planted_at")?,
                slots: row.try_get("slots")?,
                tokens: first.zip(row.try_get("last_token")?),
            }),
        };
        let incident = incident.zip(signature).zip(state);
        Ok(ExportedFinding {
            id: row.try_get("id")?,
            found_at: row.try_get("found_at")?,
            round: RoundId(row.try_get("round_id")?),
            scenario: row.try_get("scenario")?,
            endpoint: row.try_get("endpoint")?,
            kind: row.try_get("kind")?,
            certainty: row.try_get("certainty")?,
            probe: row.try_get::<i64, _>("probe_id")?.cast_unsigned(),
            tenant: row.try_get("tenant")?,
            is_drill: row.try_get("is_drill")?,
            evidence: row.try_get("evidence")?,
            incident: incident.map(|((id, signature), state)| ExportedIncident {
                id: IncidentId(id),
                signature,
                state,
            }),
            donor,
            detail: row.try_get("detail")?,
        })
    };
    read().map_err(error())
}
