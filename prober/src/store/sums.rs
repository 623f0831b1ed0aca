//! Sums of rounds by the hour and the day, added in the transaction that records what is summed. (Those of probes are
//! added by the statement that records them, in `record`.)

use super::{StoreError, bigint, query_error};
use crate::ids::EndpointId;
use crate::judge::RoundCounts;
use sqlx::PgConnection;
use time::OffsetDateTime;

/// Rounds that have ended or were skipped.
pub(super) struct Ended<'a> {
    pub(super) endpoint: EndpointId,
    /// Of its scenario.
    pub(super) name: &'a str,
    pub(super) at: OffsetDateTime,
    /// The verdict's name, or `skipped`.
    pub(super) verdict: &'static str,
    /// How many they are.
    pub(super) rounds: u64,
    pub(super) counts: RoundCounts,
}

/// Adds a round. Must be called once for each.
pub(super) async fn add_round(
    connection: &mut PgConnection,
    ended: &Ended<'_>,
) -> Result<(), StoreError> {
    let counts = &ended.counts;
    sqlx::query(
        "/* add_round */
         insert into round_sums as sums (span, begins_at, endpoint_id, name, verdict, rounds, responses, leaks, asked,
                                         recalled)
         select span, span_begin(span, $1), $2, $3, $4, $9, $5, $6, $7, $8
         from (values ('day'), ('hour')) spans (span)
         order by span
         on conflict on constraint round_sums_once do update
         set rounds = sums.rounds + excluded.rounds, responses = sums.responses + excluded.responses,
             leaks = sums.leaks + excluded.leaks, asked = sums.asked + excluded.asked,
             recalled = sums.recalled + excluded.recalled",
    )
    .bind(ended.at)
    .bind(ended.endpoint.0)
    .bind(ended.name)
    .bind(ended.verdict)
    .bind(bigint(counts.responses().trials()))
    .bind(bigint(counts.leaks.into()))
    .bind(bigint(counts.asked.into()))
    .bind(bigint(counts.recalled.into()))
    .bind(bigint(ended.rounds))
    .execute(connection)
    .await
    .map_err(query_error("add a round to the sums"))?;
    Ok(())
}
