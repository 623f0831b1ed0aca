//! Rounds.

use super::evidence::insert_evidence;
use super::findings::{FindingRecord, JointFinding, insert_finding};
use super::leases::{Lease, decide, fence};
use super::sums::{Ended, add_round};
use super::{Store, StoreError, bigint, integer, query_error};
use crate::evidence::Sealed;
use crate::ids::{EndpointId, IncidentId, RoundId};
use crate::incident::Rules;
use crate::judge::{RoundCounts, RoundVerdict};
use canary_gen::KeyId;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Row as _};
use time::OffsetDateTime;

/// A round about to begin.
#[derive(Clone, Debug)]
pub struct NewRound {
    /// Against which endpoint.
    pub endpoint: EndpointId,
    /// Which kind of scenario.
    pub scenario: &'static str,
    /// Its name in the configuration.
    pub name: String,
    /// Reproduces its schedule, with `plan`.
    pub seed: u64,
    /// Everything else that the schedule depends on.
    pub plan: serde_json::Value,
    /// The round whose schedule it repeats.
    pub replay_of: Option<RoundId>,
    /// The key its canaries are minted with.
    pub key: KeyId,
    /// Its place on the time grid; `None` if started by hand.
    pub due_at: Option<OffsetDateTime>,
    /// When it began.
    pub started_at: OffsetDateTime,
    /// The lease under which it is carried out; `None` if started by hand.
    pub lease: Option<Lease>,
}

/// How a round ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundEnd {
    /// Which one.
    pub round: RoundId,
    /// What it turned out to be.
    pub verdict: RoundVerdict,
    /// Its numbers.
    pub counts: RoundCounts,
    /// What several of its probes proved together.
    pub findings: Vec<JointFinding>,
    /// Responses that prove these, as far as they are kept and were not recorded with their probes.
    pub evidence: Vec<Sealed>,
    /// When it ended.
    #[serde(with = "time::serde::rfc3339")]
    pub finished_at: OffsetDateTime,
}

/// Ticks in a row at which a round was due and did not happen.
#[derive(Clone, Debug)]
pub struct SkippedRound {
    /// The lease under which this was decided.
    pub lease: Lease,
    /// Which kind of scenario.
    pub scenario: &'static str,
    /// Its name in the configuration.
    pub name: String,
    /// When the first of them was due.
    pub due_at: OffsetDateTime,
    /// When the last of them was due.
    pub last_due_at: OffsetDateTime,
    /// How many there are.
    pub ticks: u64,
    /// When it was skipped.
    pub skipped_at: OffsetDateTime,
    /// Why.
    pub reason: String,
}

/// A round as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundRecord {
    /// The name of its endpoint.
    pub endpoint: String,
    /// The scenario's name in the configuration.
    pub name: String,
    /// Reproduces its schedule, with `plan`.
    pub seed: u64,
    /// Everything else that the schedule depends on; `None` if it was recorded before this was kept.
    pub plan: Option<serde_json::Value>,
    /// Its verdict's name; `None` if it has not ended.
    pub verdict: Option<String>,
    /// Kinds of what it found, each once, in alphabetical order.
    pub findings: Vec<String>,
}

/// What rounds of one scenario at one endpoint counted, all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// How many there were.
    pub rounds: u64,
    /// Responses that could have told of a leak.
    pub responses: u64,
    /// Of those, how many did.
    pub leaks: u64,
    /// Answered probes whose question asked for an own canary.
    pub asked: u64,
    /// Of those, how many gave one back.
    pub recalled: u64,
}

impl Store {
    /// Records that a round begins, and that its tick is decided upon. Doing it twice finds the same round.
    ///
    /// # Errors
    /// When the database fails, or the round's lease was lost.
    pub async fn begin_round(&self, round: &NewRound) -> Result<RoundId, StoreError> {
        let act = "begin a round";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        if let Some(lease) = &round.lease {
            fence(&mut transaction, lease).await?;
        }
        let once = match round.lease {
            Some(_) => {
                "(endpoint_id, name, due_at) where lease_token is not null and state <> 'lost'"
            }
            None => "(endpoint_id, name, started_at) where lease_token is null",
        };
        let insert = format!(
            "/* begin_round */
             insert into rounds (endpoint_id, scenario, name, seed, key_id, state, due_at, started_at, plan, replay_of,
                                 prober, lease_token)
             values ($1, $2, $3, $4, $5, 'running', $6, $7, $8, $9, $10, $11)
             on conflict {once} do update set name = excluded.name
             where rounds.lease_token is not distinct from excluded.lease_token
             returning id"
        );
        let id: Option<i64> = sqlx::query_scalar(AssertSqlSafe(insert))
            .bind(round.endpoint.0)
            .bind(round.scenario)
            .bind(&round.name)
            .bind(bigint(round.seed))
            .bind(round.key.to_string())
            .bind(round.due_at)
            .bind(round.started_at)
            .bind(&round.plan)
            .bind(round.replay_of.map(|round| round.0))
            .bind(round.lease.as_ref().map(|lease| &lease.holder))
            .bind(round.lease.as_ref().map(|lease| lease.token))
            .fetch_optional(&mut *transaction)
            .await
            .map_err(query_error(act))?;
        // Somebody has decided upon the tick before.
        let id = id.ok_or(StoreError::LeaseLost)?;
        if let (Some(_), Some(due_at)) = (&round.lease, round.due_at) {
            decide(&mut transaction, (round.endpoint, &round.name), due_at).await?;
        }
        transaction.commit().await.map_err(query_error(act))?;
        Ok(RoundId(id))
    }

    /// Records how a round ended; the incidents of what its probes proved together. Doing it twice changes nothing,
    /// and tells no incidents. One that was lost meanwhile stays lost: what it brings stands in its row, its findings
    /// are late, and no sum holds it, since its tick was given to another.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn finish_round(
        &self,
        end: &RoundEnd,
        rules: &Rules,
    ) -> Result<Vec<IncidentId>, StoreError> {
        let act = "finish a round";
        let RoundCounts {
            probes,
            leaks,
            asked,
            recalled,
            cancelled,
            ..
        } = end.counts;
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let fresh: Option<(i64, String, String)> = sqlx::query_as(
            "/* finish_round */
             update rounds set state = case state when 'running' then 'finished' else state end, finished_at = $2,
                    verdict = $3, reason = case state when 'running' then $4 else concat_ws('; ', reason, $4) end,
                    probes = $5, leaks = $6, asked = $7, recalled = $8, responses = $9, cancelled = $10
             where id = $1 and finished_at is null
             returning endpoint_id, name, state",
        )
        .bind(end.round.0)
        .bind(end.finished_at)
        .bind(end.verdict.as_str())
        .bind(end.verdict.reason())
        .bind(integer(probes))
        .bind(integer(leaks))
        .bind(integer(asked))
        .bind(integer(recalled))
        .bind(end.counts.responses().trials() as i32)
        .bind(integer(cancelled))
        .fetch_optional(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let mut incidents = Vec::with_capacity(end.findings.len());
        if let Some((endpoint, name, state)) = fresh {
            if state == "finished" {
                let ended = Ended {
                    endpoint: EndpointId(endpoint),
                    name: &name,
                    at: end.finished_at,
                    verdict: end.verdict.as_str(),
                    rounds: 1,
                    counts: end.counts.clone(),
                };
                add_round(&mut transaction, &ended).await?;
            }
            for sealed in &end.evidence {
                insert_evidence(&mut transaction, sealed, end.finished_at).await?;
            }
            for finding in &end.findings {
                let of = (end.round, finding.shown_by, end.finished_at);
                let record = FindingRecord::from(finding.clone());
                incidents.push(insert_finding(&mut transaction, of, &record, rules).await?);
            }
        }
        transaction.commit().await.map_err(query_error(act))?;
        if !incidents.is_empty() {
            self.alerted.notify_one();
        }
        Ok(incidents)
    }

    /// Gives up rounds that were started by hand before then and have not ended: whoever carried them out was killed. How
    /// many. Those that are due are given up with their lease.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn give_up_by_hand(&self, before: OffsetDateTime) -> Result<u64, StoreError> {
        let given_up = sqlx::query(
            "/* give_up_by_hand */
             update rounds set state = 'lost', reason = 'whoever carried it out is gone'
             where state = 'running' and lease_token is null and started_at < $1",
        )
        .bind(before)
        .execute(&self.pool)
        .await
        .map_err(query_error("give up rounds by hand"))?;
        Ok(given_up.rows_affected())
    }

    /// A round that was not skipped; `None` if there is none of this number.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn round(&self, id: RoundId) -> Result<Option<RoundRecord>, StoreError> {
        let act = "look up a round";
        let row = sqlx::query(
            "/* round */
             select endpoints.name as endpoint, rounds.name, rounds.seed, rounds.plan, rounds.verdict,
                    array(select distinct kind from findings where round_id = rounds.id order by kind) as kinds
             from rounds join endpoints on endpoints.id = rounds.endpoint_id
             where rounds.id = $1 and state <> 'skipped'",
        )
        .bind(id.0)
        .fetch_optional(&self.pool)
        .await
        .map_err(query_error(act))?;
        row.map(|row| {
            Ok(RoundRecord {
                endpoint: row.try_get("endpoint")?,
                name: row.try_get("name")?,
                seed: row.try_get::<i64, _>("seed")?.cast_unsigned(),
                plan: row.try_get("plan")?,
                verdict: row.try_get("verdict")?,
                findings: row.try_get("kinds")?,
            })
        })
        .transpose()
        .map_err(query_error(act))
    }

    /// What the rounds of a scenario at an endpoint counted so far.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn history(&self, endpoint: EndpointId, name: &str) -> Result<History, StoreError> {
        let act = "sum up a scenario's rounds";
        let row = sqlx::query(
            "/* history */
             select coalesce(sum(rounds), 0)::bigint as rounds, coalesce(sum(responses), 0)::bigint as responses,
                    coalesce(sum(leaks), 0)::bigint as leaks, coalesce(sum(asked), 0)::bigint as asked,
                    coalesce(sum(recalled), 0)::bigint as recalled
             from round_sums where endpoint_id = $1 and name = $2 and span = 'day' and verdict <> 'skipped'",
        )
        .bind(endpoint.0)
        .bind(name)
        .fetch_one(&self.pool)
        .await
        .map_err(query_error(act))?;
        let column = |name| -> Result<u64, StoreError> {
            let count: i64 = row.try_get(name).map_err(query_error(act))?;
            Ok(count.cast_unsigned())
        };
        Ok(History {
            rounds: column("rounds")?,
            responses: column("responses")?,
            leaks: column("leaks")?,
            asked: column("asked")?,
            recalled: column("recalled")?,
        })
    }

    /// Records that due rounds did not happen, and why; their ticks are decided upon. Doing it twice changes
    /// nothing.
    ///
    /// # Errors
    /// When the database fails, or the lease was lost.
    pub async fn skip_round(&self, skipped: &SkippedRound) -> Result<(), StoreError> {
        let act = "record a skipped round";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        fence(&mut transaction, &skipped.lease).await?;
        let fresh = sqlx::query(
            "/* skip_round */
             insert into rounds (endpoint_id, scenario, name, state, due_at, started_at, reason, prober, lease_token,
                                 last_due_at, ticks)
             values ($1, $2, $3, 'skipped', $4, $5, $6, $7, $8, $9, $10)
             on conflict (endpoint_id, name, due_at) where lease_token is not null and state <> 'lost' do nothing",
        )
        .bind(skipped.lease.endpoint.0)
        .bind(skipped.scenario)
        .bind(&skipped.name)
        .bind(skipped.due_at)
        .bind(skipped.skipped_at)
        .bind(&skipped.reason)
        .bind(&skipped.lease.holder)
        .bind(skipped.lease.token)
        .bind(skipped.last_due_at)
        .bind(bigint(skipped.ticks))
        .execute(&mut *transaction)
        .await
        .map_err(query_error(act))?
        .rows_affected()
            == 1;
        if fresh {
            let ended = Ended {
                endpoint: skipped.lease.endpoint,
                name: &skipped.name,
                at: skipped.skipped_at,
                verdict: "skipped",
                rounds: skipped.ticks,
                counts: RoundCounts::default(),
            };
            add_round(&mut transaction, &ended).await?;
        }
        let line = (skipped.lease.endpoint, skipped.name.as_str());
        decide(&mut transaction, line, skipped.last_due_at).await?;
        transaction.commit().await.map_err(query_error(act))
    }
}
