//! Probes: planned, and about to be sent. What came of them `record` writes.

use super::findings::FindingRecord;
use super::{Store, StoreError, bigint, integer, query_error};
use crate::budget::Cost;
use crate::evidence::Sealed;
use crate::ids::{RoundId, TenantId};
use crate::judge::Seen;
use crate::scenario::{Cancel, PlannedProbe};
use canary_gen::{Layout, ProbeNumber, Slot, TenantNumber, TokenMeasure};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use std::borrow::Cow;
use time::OffsetDateTime;

/// A probe that is going to be sent.
#[derive(Clone, Debug)]
pub struct NewProbe {
    /// Who sends.
    pub tenant: TenantId,
    /// Its step in the schedule.
    pub step: u32,
    /// What is planned; what it `repeats` is a place in the list that is recorded.
    pub planned: PlannedProbe,
}

/// What is known once a probe's document has been woven and checked, right before it is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentRecord {
    /// Which probe.
    pub probe: ProbeNumber,
    /// The measure its document was woven with.
    pub measure: TokenMeasure,
    /// The length of its head in units, if it has one.
    pub head_units: Option<u64>,
    /// The closing sentence it was woven with.
    pub closing: u8,
    /// Estimated length of the prompt, in tokens.
    pub tokens_estimated: u64,
    /// Slots that carry a canary.
    pub slots: u32,
    /// The slot its question asks for.
    pub asked: Option<Slot>,
    /// Length of the request body, in bytes.
    pub request_bytes: u64,
    /// When it is sent.
    #[serde(with = "time::serde::rfc3339")]
    pub sent_at: OffsetDateTime,
}

/// Token counts as the endpoint reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the answer.
    pub completion: Option<u64>,
    /// Of the prompt, served from a prefix cache.
    pub cached: Option<u64>,
}

/// What a probe turned out to be, with everything that proves it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// Which probe.
    pub probe: ProbeNumber,
    /// In which round.
    pub round: RoundId,
    /// What its own canaries say.
    pub own: (TenantNumber, ProbeNumber),
    /// When it ended.
    #[serde(with = "time::serde::rfc3339")]
    pub finished_at: OffsetDateTime,
    /// The outcome's code.
    pub outcome: Cow<'static, str>,
    /// HTTP status.
    pub status: Option<u16>,
    /// Why the model stopped.
    pub finish_reason: Option<String>,
    /// Reported tokens.
    pub usage: Usage,
    /// Length of the response body, in bytes.
    pub response_bytes: u64,
    /// Time to the first byte of the answer's text, in milliseconds.
    pub ttft_ms: Option<u64>,
    /// Time from sending to the end, in milliseconds.
    pub duration_ms: u64,
    /// Different own canaries in the answer.
    pub own_canaries: u32,
    /// The verdict's name.
    pub verdict: Cow<'static, str>,
    /// The verdict's reason.
    pub reason: Option<Cow<'static, str>>,
    /// Every different canary in the response.
    pub seen: Vec<Seen>,
    /// What it did cost, charged instead of what was reserved.
    pub cost: Cost,
    /// What it proves beyond the verdict, with what the store knows of it; so looked up when it is recorded.
    #[serde(skip)]
    pub findings: Vec<FindingRecord>,
    /// The response, if there are findings and it is kept.
    pub evidence: Option<Sealed>,
}

impl Store {
    /// Records the probes of a round before any of them is sent, and numbers them. Doing it twice finds
    /// the same probes.
    ///
    /// # Errors
    /// When the database fails, or after 2³⁴ probes.
    pub async fn plan_probes(
        &self,
        round: RoundId,
        probes: &[NewProbe],
        now: OffsetDateTime,
    ) -> Result<Vec<ProbeNumber>, StoreError> {
        let act = "plan the probes of a round";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        // Whoever does it at the same time waits, and finds them planned.
        let planned_at: Option<OffsetDateTime> = sqlx::query_scalar(
            "/* planned_at */ select probes_planned_at from rounds where id = $1 for no key update",
        )
        .bind(round.0)
        .fetch_one(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let mut ids: Vec<i64> = sqlx::query_scalar(
            "/* planned_probes */
             select id from probes
             where round_id = $1 and planned_at between coalesce($2, '-infinity'::timestamptz)
                                                    and coalesce($2, 'infinity'::timestamptz)
             order by id",
        )
        .bind(round.0)
        .bind(planned_at)
        .fetch_all(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let known = ids.len();
        if known < probes.len() {
            // All of a round lie in the week of the first, which the round tells.
            let planned_at = planned_at.unwrap_or(now);
            if known == 0 {
                begin_week(&mut transaction, round, planned_at).await?;
            }
            let fresh: Vec<i64> = sqlx::query_scalar(
                "/* probe_numbers */ select nextval('probe_numbers') from generate_series(1, $1)",
            )
            .bind(bigint((probes.len() - known) as u64))
            .fetch_all(&mut *transaction)
            .await
            .map_err(query_error(act))?;
            ids.extend(fresh);
            insert_planned(&mut transaction, round, (probes, &ids, known), planned_at).await?;
        }
        transaction.commit().await.map_err(query_error(act))?;
        ids.into_iter().map(number).collect()
    }

    /// Records that a probe is about to be sent, so that its canaries can be located even if this
    /// process dies before the answer.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn record_sent(&self, sent: &SentRecord) -> Result<(), StoreError> {
        sqlx::query(
            "/* record_sent */
             update probes set measure_overhead = $2, measure_unit = $3, measure_canary = $4, tokens_estimated = $5,
                    slots = $6, asked_slot = $7, request_bytes = $8, sent_at = $9, measure_digit = $10, closing = $11,
                    head_units = $12
             where id = $1",
        )
        .bind(bigint(sent.probe.get()))
        .bind(sent.measure.overhead)
        .bind(sent.measure.per_unit)
        .bind(sent.measure.per_canary)
        .bind(bigint(sent.tokens_estimated))
        .bind(integer(sent.slots))
        .bind(sent.asked.map(|slot| bigint(slot.get()) as i32))
        .bind(bigint(sent.request_bytes))
        .bind(sent.sent_at)
        .bind(sent.measure.per_digit)
        .bind(i16::from(sent.closing))
        .bind(sent.head_units.map(bigint))
        .execute(&self.pool)
        .await
        .map_err(query_error("record that a probe is sent"))?;
        Ok(())
    }
}

/// A round's probes are going to lie in the week of a moment.
async fn begin_week(
    connection: &mut PgConnection,
    round: RoundId,
    planned_at: OffsetDateTime,
) -> Result<(), StoreError> {
    let act = "begin to plan the probes of a round";
    // First: attaching a partition waits for whoever has changed rounds, and they may wait for the partition.
    sqlx::query(
        "/* partitions */ select weekly_partition('probes', $1), weekly_partition('sightings', $1)",
    )
    .bind(planned_at)
    .execute(&mut *connection)
    .await
    .map_err(query_error(act))?;
    sqlx::query("/* begin_week */ update rounds set probes_planned_at = $2 where id = $1")
        .bind(round.0)
        .bind(planned_at)
        .execute(connection)
        .await
        .map_err(query_error(act))?;
    Ok(())
}

/// Records the probes of a round from a place in the list on, under these numbers.
async fn insert_planned(
    connection: &mut PgConnection,
    round: RoundId,
    (probes, ids, from): (&[NewProbe], &[i64], usize),
    planned_at: OffsetDateTime,
) -> Result<(), StoreError> {
    let new = &probes[from..];
    let of = |probe: &NewProbe| probe.planned;
    // What is sent again stands before it.
    let repeats = (from..).zip(new).map(|(place, probe)| {
        let first = probe.planned.repeats.filter(|&first| first < place);
        first.map(|first| ids[first])
    });
    let repeats: Vec<Option<i64>> = repeats.collect();
    macro_rules! column {
        (|$planned:pat_param| $value:expr) => {
            new.iter()
                .map(of)
                .map(|$planned| $value)
                .collect::<Vec<_>>()
        };
    }
    sqlx::query(
        "/* plan_probes */
         insert into probes (round_id, planned_at, id, tenant_id, step, role, form, layout, stride_tokens, document_seed,
                             tokens_wanted, question, head_seed, head_units, repeats, set_number, after_ms,
                             cancel_after_ms, cancel_after_pieces, shared_id)
         select $1, $2, planned.*
         from unnest($3::bigint[], $4::bigint[], $5::integer[], $6::text[], $7::text[], $8::text[], $9::integer[],
                     $10::bytea[], $11::bigint[], $12::text[], $13::bytea[], $14::bigint[], $15::bigint[],
                     $16::integer[], $17::integer[], $18::integer[], $19::integer[], $20::bigint[]) planned",
    )
    .bind(round.0)
    .bind(planned_at)
    .bind(&ids[from..])
    .bind(new.iter().map(|probe| probe.tenant.0).collect::<Vec<_>>())
    .bind(new.iter().map(|probe| integer(probe.step)).collect::<Vec<_>>())
    .bind(column!(|planned| planned.role.as_str()))
    .bind(column!(|planned| planned.form.as_str()))
    .bind(column!(|planned| planned.layout.as_str()))
    .bind(column!(|planned| stride(planned.layout)))
    .bind(column!(|planned| planned.seed.as_bytes().to_vec()))
    .bind(column!(|planned| bigint(planned.tokens)))
    .bind(column!(|planned| planned.question.as_str()))
    .bind(column!(|planned| planned.head.map(|head| head.seed.as_bytes().to_vec())))
    // As if a unit were a token: what it is becomes known when the document is woven.
    .bind(column!(|planned| planned.head.map(|head| bigint(head.tokens))))
    .bind(repeats)
    .bind(column!(|planned| integer(planned.set)))
    .bind(column!(|planned| integer(planned.after_ms)))
    .bind(column!(|planned| match planned.cancel {
        Some(Cancel::AfterMs(ms)) => Some(integer(ms)),
        _ => None,
    }))
    .bind(column!(|planned| match planned.cancel {
        Some(Cancel::AfterPieces(pieces)) => Some(integer(pieces)),
        _ => None,
    }))
    // All 64 bits of it, whatever sign they make.
    .bind(column!(|planned| planned.shared_id.map(u64::cast_signed)))
    .execute(connection)
    .await
    .map_err(query_error("plan the probes of a round"))?;
    Ok(())
}

fn stride(layout: Layout) -> Option<i32> {
    match layout {
        Layout::Sparse { stride_tokens } => Some(integer(stride_tokens)),
        Layout::Dense | Layout::Plain => None,
    }
}

fn number(id: i64) -> Result<ProbeNumber, StoreError> {
    u64::try_from(id)
        .ok()
        .and_then(ProbeNumber::new)
        .ok_or(StoreError::Range {
            what: "the probe number",
        })
}
