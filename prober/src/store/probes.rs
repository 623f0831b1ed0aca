//! Probes with their sightings.

use super::evidence::insert_evidence;
use super::findings::{FindingRecord, insert_finding};
use super::spending::settle;
use super::sums::add_probe;
use super::{Store, StoreError, bigint, integer, query_error};
use crate::budget::Cost;
use crate::evidence::Sealed;
use crate::ids::{IncidentId, RoundId, TenantId};
use crate::incident::Rules;
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
        let planned: Vec<i64> = sqlx::query_scalar(
            "/* planned_probes */ select id from probes where round_id = $1 order by id",
        )
        .bind(round.0)
        .fetch_all(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let known = planned.len();
        sqlx::query(
            "/* partitions */ select weekly_partition('probes', $1), weekly_partition('sightings', $1)",
        )
        .bind(now)
        .execute(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let numbers: Result<Vec<_>, StoreError> = planned.into_iter().map(number).collect();
        let mut numbers = numbers?;
        for NewProbe {
            tenant,
            step,
            planned,
        } in probes.iter().skip(known)
        {
            let (layout, stride) = layout_columns(planned.layout);
            let (leaves_ms, leaves_pieces) = match planned.cancel {
                Some(Cancel::AfterMs(ms)) => (Some(ms), None),
                Some(Cancel::AfterPieces(pieces)) => (None, Some(pieces)),
                None => (None, None),
            };
            // What is sent again stands before it.
            let repeats = planned.repeats.and_then(|place| numbers.get(place));
            let id: i64 = sqlx::query_scalar(
                "/* plan_probe */
                 insert into probes (round_id, tenant_id, step, role, form, layout, stride_tokens, document_seed,
                                     tokens_wanted, planned_at, question, head_seed, head_units, repeats, set_number,
                                     after_ms, cancel_after_ms, cancel_after_pieces, shared_id)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
                 returning id",
            )
            .bind(round.0)
            .bind(tenant.0)
            .bind(integer(*step))
            .bind(planned.role.as_str())
            .bind(planned.form.as_str())
            .bind(layout)
            .bind(stride)
            .bind(&planned.seed.as_bytes()[..])
            .bind(bigint(planned.tokens))
            .bind(now)
            .bind(planned.question.as_str())
            .bind(planned.head.map(|head| head.seed.as_bytes().to_vec()))
            // As if a unit were a token: what it is becomes known when the document is woven.
            .bind(planned.head.map(|head| bigint(head.tokens)))
            .bind(repeats.map(|number| bigint(number.get())))
            .bind(integer(planned.set))
            .bind(integer(planned.after_ms))
            .bind(leaves_ms.map(integer))
            .bind(leaves_pieces.map(integer))
            // All 64 bits of it, whatever sign they make.
            .bind(planned.shared_id.map(u64::cast_signed))
            .fetch_one(&mut *transaction)
            .await
            .map_err(query_error(act))?;
            numbers.push(number(id)?);
        }
        transaction.commit().await.map_err(query_error(act))?;
        Ok(numbers)
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

    /// Records a judged probe with its sightings and findings, in one transaction; the incidents of these. Doing it
    /// twice changes nothing, so it may be retried after a lost acknowledgement; then it tells no incidents.
    ///
    /// # Errors
    /// When the database fails; nothing is recorded then.
    pub async fn record_probe(
        &self,
        record: &ProbeRecord,
        rules: &Rules,
    ) -> Result<Vec<IncidentId>, StoreError> {
        let act = "record a probe";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let fresh: Option<OffsetDateTime> = sqlx::query_scalar(
            "/* record_probe */
             update probes set finished_at = $2, outcome = $3, status = $4, finish_reason = $5, prompt_tokens = $6,
                    completion_tokens = $7, cached_tokens = $8, response_bytes = $9, ttft_ms = $10,
                    duration_ms = $11, own_canaries = $12, verdict = $13, reason = $14
             where id = $1 and finished_at is null
             returning planned_at",
        )
        .bind(bigint(record.probe.get()))
        .bind(record.finished_at)
        .bind(&record.outcome)
        .bind(record.status.map(|status| i16::try_from(status).unwrap_or(0)))
        .bind(&record.finish_reason)
        .bind(record.usage.prompt.map(bigint))
        .bind(record.usage.completion.map(bigint))
        .bind(record.usage.cached.map(bigint))
        .bind(bigint(record.response_bytes))
        .bind(record.ttft_ms.map(bigint))
        .bind(bigint(record.duration_ms))
        .bind(integer(record.own_canaries))
        .bind(&record.verdict)
        .bind(&record.reason)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(query_error(act))?;
        let mut incidents = Vec::with_capacity(record.findings.len());
        if let Some(planned_at) = fresh {
            insert_sightings(&mut transaction, record, planned_at).await?;
            add_probe(&mut transaction, record.probe, record.finished_at).await?;
            if let Some(sealed) = &record.evidence {
                insert_evidence(&mut transaction, sealed, record.finished_at).await?;
            }
            for finding in &record.findings {
                let of = (record.round, record.probe, record.finished_at);
                incidents.push(insert_finding(&mut transaction, of, finding, rules).await?);
            }
            settle(&mut transaction, record.probe, record.cost).await?;
        }
        transaction.commit().await.map_err(query_error(act))?;
        Ok(incidents)
    }
}

async fn insert_sightings(
    connection: &mut PgConnection,
    record: &ProbeRecord,
    planned_at: OffsetDateTime,
) -> Result<(), StoreError> {
    for seen in &record.seen {
        let identity = seen.sighting.identity;
        sqlx::query(
            "/* insert_sighting */
             insert into sightings (probe_id, donor_tenant, donor_probe, slot, key_id, form, strength, own, place,
                                    byte_offset, byte_length, occurrences, damages, weight_bits, views,
                                    probe_planned_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        )
        .bind(bigint(record.probe.get()))
        .bind(bigint(identity.tenant.get()) as i16)
        .bind(bigint(identity.probe.get()))
        .bind(bigint(identity.slot.get()) as i16)
        .bind(seen.sighting.key.to_string())
        .bind(seen.sighting.form.as_str())
        .bind(seen.sighting.proof.as_str())
        .bind((identity.tenant, identity.probe) == record.own)
        .bind(&seen.place)
        .bind(bigint(seen.sighting.offset))
        .bind(seen.sighting.length as i32)
        .bind(integer(seen.occurrences))
        .bind(i16::from(seen.sighting.proof.damages()))
        .bind(integer(seen.sighting.weight_bits))
        .bind(seen.sighting.views.to_string())
        .bind(planned_at)
        .execute(&mut *connection)
        .await
        .map_err(query_error("record a sighting"))?;
    }
    Ok(())
}

fn layout_columns(layout: Layout) -> (&'static str, Option<i32>) {
    let stride = match layout {
        Layout::Sparse { stride_tokens } => Some(integer(stride_tokens)),
        Layout::Dense | Layout::Plain => None,
    };
    (layout.as_str(), stride)
}

fn number(id: i64) -> Result<ProbeNumber, StoreError> {
    u64::try_from(id)
        .ok()
        .and_then(ProbeNumber::new)
        .ok_or(StoreError::Range {
            what: "the probe number",
        })
}
