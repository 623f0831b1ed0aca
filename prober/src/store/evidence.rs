//! Evidence: sealed responses, and the record of who opened them. Whoever gets one to show it has left a record.

use super::{Store, StoreError, bigint, query_error};
use crate::evidence::{Binding, EvidenceKeyId, Sealed};
use crate::ids::RoundId;
use canary_gen::ProbeNumber;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;

/// What a person does with evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reads it.
    Show,
    /// Removes it.
    Erase,
    /// Has all of it sealed with another key.
    Reseal,
}

impl Act {
    fn as_str(self) -> &'static str {
        match self {
            Self::Show => "show",
            Self::Erase => "erase",
            Self::Reseal => "reseal",
        }
    }
}

/// Who does something with evidence, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// As they say.
    pub who: String,
    /// User and host, as the operating system tells them.
    pub login: String,
    /// As they state it; not blank.
    pub reason: String,
    /// When.
    pub at: OffsetDateTime,
}

/// What became of a piece of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceState {
    /// It can be opened.
    Kept,
    /// It was erased.
    Erased {
        /// When.
        at: OffsetDateTime,
        /// Because it was older than it is kept; else by a person.
        by_retention: bool,
    },
}

/// What is known of a piece of evidence without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceFacts {
    /// The probe that got the response.
    pub probe: i64,
    /// Its round.
    pub round: i64,
    /// The name of the endpoint.
    pub endpoint: String,
    /// Kinds of the findings that it proves, each once.
    pub kinds: Vec<String>,
    /// The key it is sealed with.
    pub key: String,
    /// How much of the response is in it, in bytes.
    pub plain_bytes: i64,
    /// Whether the response had more.
    pub is_cut: bool,
    /// When it was recorded.
    pub kept_at: OffsetDateTime,
    /// What became of it.
    pub state: EvidenceState,
    /// How often somebody asked to read it.
    pub shown: i64,
}

/// What came of sealing a batch of evidence anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// How many were sealed anew.
    pub sealed: u64,
    /// Those that do not open, which stay as they are.
    pub refused: Vec<ProbeNumber>,
    /// The last that was looked at; `None` if there were none left.
    pub last: Option<ProbeNumber>,
}

impl Store {
    /// The sealed response of a probe, for somebody to do something with: that is recorded first, and erasing is
    /// done at once. `None` if there is none, or it was erased; then nothing is recorded.
    ///
    /// # Errors
    /// When the database fails, or who or why is blank.
    pub async fn access_evidence(
        &self,
        probe: ProbeNumber,
        act: Act,
        access: &Access,
    ) -> Result<Option<Sealed>, StoreError> {
        let doing = "record an access to evidence";
        let mut transaction = self.pool.begin().await.map_err(query_error(doing))?;
        let row = sqlx::query(
            "/* evidence */
             select probe_id, round_id, key_id, sealed, plain_bytes, is_cut from evidence
             where probe_id = $1 and sealed is not null for update",
        )
        .bind(bigint(probe.get()))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(query_error(doing))?;
        let Some(sealed) = row.as_ref().map(sealed_of).transpose()? else {
            return Ok(None);
        };
        record(&mut transaction, Some(probe), act, access).await?;
        if act == Act::Erase {
            sqlx::query(
                "/* erase_evidence */
                 update evidence set sealed = null, erased_at = $2, erased_by = 'person' where probe_id = $1",
            )
            .bind(bigint(probe.get()))
            .bind(access.at)
            .execute(&mut *transaction)
            .await
            .map_err(query_error("erase evidence"))?;
        }
        transaction.commit().await.map_err(query_error(doing))?;
        Ok(Some(sealed))
    }

    /// What evidence there is, the newest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn evidence(&self, most: u32) -> Result<Vec<EvidenceFacts>, StoreError> {
        let act = "list evidence";
        let rows = sqlx::query(
            "/* list_evidence */
             select evidence.probe_id, evidence.round_id, endpoints.name as endpoint, evidence.key_id, plain_bytes,
                    is_cut, kept_at, erased_at, erased_by,
                    array(select distinct kind from finding_evidence join findings on findings.id = finding_id
                          where finding_evidence.probe_id = evidence.probe_id order by kind) as kinds,
                    (select count(*) from evidence_accesses shown
                     where shown.probe_id = evidence.probe_id and act = 'show') as shown
             from evidence join rounds on rounds.id = round_id join endpoints on endpoints.id = rounds.endpoint_id
             order by kept_at desc, evidence.probe_id desc limit $1",
        )
        .bind(i64::from(most))
        .fetch_all(&self.pool)
        .await
        .map_err(query_error(act))?;
        let facts: Result<_, sqlx::Error> = rows.iter().map(facts_of).collect();
        facts.map_err(query_error(act))
    }

    /// Erases what was kept before a moment; how many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn prune_evidence(
        &self,
        before: OffsetDateTime,
        now: OffsetDateTime,
    ) -> Result<u64, StoreError> {
        let pruned = sqlx::query(
            "/* prune_evidence */
             update evidence set sealed = null, erased_at = $2, erased_by = 'retention'
             where sealed is not null and kept_at < $1",
        )
        .bind(before)
        .bind(now)
        .execute(&self.pool)
        .await
        .map_err(query_error("erase evidence that is older than it is kept"))?;
        Ok(pruned.rows_affected())
    }

    /// Records that all evidence is going to be sealed with another key.
    ///
    /// # Errors
    /// When the database fails, or who or why is blank.
    pub async fn record_reseal(&self, access: &Access) -> Result<(), StoreError> {
        let act = "record an access to evidence";
        let mut connection = self.pool.acquire().await.map_err(query_error(act))?;
        record(&mut connection, None, Act::Reseal, access).await
    }

    /// Seals some evidence anew, of probes after `after`: what is not sealed with the key `with` is handed to
    /// `anew`, which gives `None` for what it cannot open. A batch is done whole or not at all, so whoever is
    /// stopped goes on where it was.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn reseal(
        &self,
        after: Option<ProbeNumber>,
        with: EvidenceKeyId,
        batch: u32,
        anew: impl Fn(&Sealed) -> Option<Sealed>,
    ) -> Result<Resealed, StoreError> {
        let act = "seal evidence anew";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let rows = sqlx::query(
            "/* to_reseal */
             select probe_id, round_id, key_id, sealed, plain_bytes, is_cut from evidence
             where probe_id > $1 and key_id <> $2 and sealed is not null
             order by probe_id limit $3 for update",
        )
        .bind(after.map_or(0, |after| bigint(after.get())))
        .bind(with.to_string())
        .bind(i64::from(batch))
        .fetch_all(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let mut resealed = Resealed::default();
        for row in &rows {
            let before = sealed_of(row)?;
            resealed.last = Some(before.of.probe);
            let Some(sealed) = anew(&before) else {
                resealed.refused.push(before.of.probe);
                continue;
            };
            sqlx::query(
                "/* reseal */ update evidence set key_id = $2, sealed = $3 where probe_id = $1",
            )
            .bind(bigint(sealed.of.probe.get()))
            .bind(sealed.key.to_string())
            .bind(&sealed.bytes)
            .execute(&mut *transaction)
            .await
            .map_err(query_error(act))?;
            resealed.sealed += 1;
        }
        transaction.commit().await.map_err(query_error(act))?;
        Ok(resealed)
    }
}

/// Records a sealed response. Doing it twice changes nothing.
pub(super) async fn insert_evidence(
    connection: &mut PgConnection,
    sealed: &Sealed,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    sqlx::query(
        "/* insert_evidence */
         insert into evidence (probe_id, round_id, key_id, sealed, plain_bytes, is_cut, kept_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (probe_id) do nothing",
    )
    .bind(bigint(sealed.of.probe.get()))
    .bind(sealed.of.round.0)
    .bind(sealed.key.to_string())
    .bind(&sealed.bytes)
    .bind(bigint(sealed.plain_bytes))
    .bind(sealed.is_cut)
    .bind(now)
    .execute(connection)
    .await
    .map_err(query_error("record evidence"))?;
    Ok(())
}

/// Notes which of these probes' responses, as far as they are kept, prove a finding.
pub(super) async fn link(
    connection: &mut PgConnection,
    finding: i64,
    probes: &[i64],
) -> Result<(), StoreError> {
    sqlx::query(
        "/* link_evidence */
         insert into finding_evidence (finding_id, probe_id)
         select $1, probe_id from evidence where probe_id = any($2)",
    )
    .bind(finding)
    .bind(probes)
    .execute(connection)
    .await
    .map_err(query_error("record which evidence proves a finding"))?;
    Ok(())
}

async fn record(
    connection: &mut PgConnection,
    probe: Option<ProbeNumber>,
    act: Act,
    access: &Access,
) -> Result<(), StoreError> {
    sqlx::query(
        "/* record_access */
         insert into evidence_accesses (at, act, probe_id, who, login, reason) values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(access.at)
    .bind(act.as_str())
    .bind(probe.map(|probe| bigint(probe.get())))
    .bind(&access.who)
    .bind(&access.login)
    .bind(&access.reason)
    .execute(connection)
    .await
    .map_err(query_error("record an access to evidence"))?;
    Ok(())
}

fn sealed_of(row: &PgRow) -> Result<Sealed, StoreError> {
    let failed = |source| StoreError::Query {
        act: "read evidence",
        source,
    };
    let range = |what| move || StoreError::Range { what };
    let column = |name| row.try_get::<i64, _>(name).map_err(failed);
    let probe = u64::try_from(column("probe_id")?).ok();
    let key: String = row.try_get("key_id").map_err(failed)?;
    Ok(Sealed {
        of: Binding {
            probe: probe
                .and_then(ProbeNumber::new)
                .ok_or_else(range("the probe number"))?,
            round: RoundId(column("round_id")?),
        },
        key: key.parse().map_err(|_| StoreError::Range {
            what: "the id of an evidence key",
        })?,
        plain_bytes: column("plain_bytes")?.cast_unsigned(),
        is_cut: row.try_get("is_cut").map_err(failed)?,
        bytes: row.try_get("sealed").map_err(failed)?,
    })
}

fn facts_of(row: &PgRow) -> Result<EvidenceFacts, sqlx::Error> {
    let erased_at: Option<OffsetDateTime> = row.try_get("erased_at")?;
    let erased_by: Option<String> = row.try_get("erased_by")?;
    Ok(EvidenceFacts {
        probe: row.try_get("probe_id")?,
        round: row.try_get("round_id")?,
        endpoint: row.try_get("endpoint")?,
        kinds: row.try_get("kinds")?,
        key: row.try_get("key_id")?,
        plain_bytes: row.try_get("plain_bytes")?,
        is_cut: row.try_get("is_cut")?,
        kept_at: row.try_get("kept_at")?,
        state: erased_at.map_or(EvidenceState::Kept, |at| EvidenceState::Erased {
            at,
            by_retention: erased_by.as_deref() == Some("retention"),
        }),
        shown: row.try_get("shown")?,
    })
}
