//! Rounds.

use super::{Store, StoreError, bigint, integer, query_error};
use crate::ids::{EndpointId, RoundId};
use crate::judge::{RoundCounts, RoundVerdict};
use canary_gen::KeyId;
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
    /// Reproduces its schedule.
    pub seed: u64,
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

impl Store {
    /// Records that a round begins. Doing it twice finds the same round.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn begin_round(&self, round: &NewRound) -> Result<RoundId, StoreError> {
        sqlx::query_scalar(
            "/* begin_round */
             insert into rounds (endpoint_id, scenario, name, seed, key_id, state, due_at, started_at)
             values ($1, $2, $3, $4, $5, 'running', $6, $7)
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
        let RoundCounts {
            probes,
            leaks,
            asked,
            recalled,
            ..
        } = end.counts;
        sqlx::query(
            "/* finish_round */
             update rounds set state = 'finished', finished_at = $2, verdict = $3, reason = $4,
                    probes = $5, leaks = $6, asked = $7, recalled = $8
             where id = $1 and state = 'running'",
        )
        .bind(end.round.0)
        .bind(end.finished_at)
        .bind(end.verdict.as_str())
        .bind(end.verdict.reason())
        .bind(integer(probes))
        .bind(integer(leaks))
        .bind(integer(asked))
        .bind(integer(recalled))
        .execute(&self.pool)
        .await
        .map_err(query_error("finish a round"))?;
        Ok(())
    }

    /// Records that a due round did not happen, and why. Doing it twice changes nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn skip_round(&self, skipped: &SkippedRound) -> Result<(), StoreError> {
        sqlx::query(
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
        .execute(&self.pool)
        .await
        .map_err(query_error("record a skipped round"))?;
        Ok(())
    }
}
