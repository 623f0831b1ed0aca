//! Rounds.

use super::findings::{FindingRecord, insert_finding};
use super::sums::{Ended, add_round};
use super::{Store, StoreError, bigint, integer, query_error};
use crate::ids::{EndpointId, RoundId};
use crate::judge::{RoundCounts, RoundVerdict};
use canary_gen::{KeyId, ProbeNumber};
use sqlx::Row as _;
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
}

/// How a round ended.
#[derive(Clone, Debug)]
pub struct RoundEnd {
    /// Which one.
    pub round: RoundId,
    /// What it turned out to be.
    pub verdict: RoundVerdict,
    /// Its numbers.
    pub counts: RoundCounts,
    /// What several of its probes proved together, each with the probe that shows it best.
    pub findings: Vec<(ProbeNumber, FindingRecord)>,
    /// When it ended.
    pub finished_at: OffsetDateTime,
}

/// A round that was due and did not happen.
#[derive(Clone, Debug)]
pub struct SkippedRound {
    /// Against which endpoint.
    pub endpoint: EndpointId,
    /// Which kind of scenario.
    pub scenario: &'static str,
    /// Its name in the configuration.
    pub name: String,
    /// When it was due.
    pub due_at: OffsetDateTime,
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
    /// Records that a round begins. Doing it twice finds the same round.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn begin_round(&self, round: &NewRound) -> Result<RoundId, StoreError> {
        sqlx::query_scalar(
            "/* begin_round */
             insert into rounds (endpoint_id, scenario, name, seed, key_id, state, due_at, started_at, plan, replay_of)
             values ($1, $2, $3, $4, $5, 'running', $6, $7, $8, $9)
             on conflict on constraint rounds_once do update set name = excluded.name
             returning id",
        )
        .bind(round.endpoint.0)
        .bind(round.scenario)
        .bind(&round.name)
        .bind(bigint(round.seed))
        .bind(round.key.to_string())
        .bind(round.due_at)
        .bind(round.started_at)
        .bind(&round.plan)
        .bind(round.replay_of.map(|round| round.0))
        .fetch_one(&self.pool)
        .await
        .map(RoundId)
        .map_err(query_error("begin a round"))
    }

    /// Records how a round ended. Doing it twice changes nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn finish_round(&self, end: &RoundEnd) -> Result<(), StoreError> {
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
        let fresh: Option<(i64, String)> = sqlx::query_as(
            "/* finish_round */
             update rounds set state = 'finished', finished_at = $2, verdict = $3, reason = $4,
                    probes = $5, leaks = $6, asked = $7, recalled = $8, responses = $9, cancelled = $10
             where id = $1 and state = 'running'
             returning endpoint_id, name",
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
        if let Some((endpoint, name)) = fresh {
            let ended = Ended {
                endpoint: EndpointId(endpoint),
                name: &name,
                at: end.finished_at,
                verdict: end.verdict.as_str(),
                counts: end.counts.clone(),
            };
            add_round(&mut transaction, &ended).await?;
            for (probe, finding) in &end.findings {
                let of = (end.round, *probe, end.finished_at);
                insert_finding(&mut transaction, of, finding).await?;
            }
        }
        transaction.commit().await.map_err(query_error(act))
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

    /// Records that a due round did not happen, and why. Doing it twice changes nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn skip_round(&self, skipped: &SkippedRound) -> Result<(), StoreError> {
        let act = "record a skipped round";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let fresh = sqlx::query(
            "/* skip_round */
             insert into rounds (endpoint_id, scenario, name, state, due_at, started_at, reason)
             values ($1, $2, $3, 'skipped', $4, $5, $6)
             on conflict on constraint rounds_once do nothing",
        )
        .bind(skipped.endpoint.0)
        .bind(skipped.scenario)
        .bind(&skipped.name)
        .bind(skipped.due_at)
        .bind(skipped.skipped_at)
        .bind(&skipped.reason)
        .execute(&mut *transaction)
        .await
        .map_err(query_error(act))?
        .rows_affected()
            == 1;
        if fresh {
            let ended = Ended {
                endpoint: skipped.endpoint,
                name: &skipped.name,
                at: skipped.skipped_at,
                verdict: "skipped",
                counts: RoundCounts::default(),
            };
            add_round(&mut transaction, &ended).await?;
        }
        transaction.commit().await.map_err(query_error(act))
    }
}
