//! Probes with their sightings and findings.

use super::{Store, StoreError, bigint, integer, query_error};
use crate::ids::{RoundId, TenantId};
use crate::judge::{Finding, Seen};
use canary_gen::{DocumentSpec, Form, Layout, ProbeNumber, Seed, Slot, TenantNumber, TokenMeasure};
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;

/// A probe that is going to be sent.
#[derive(Clone, Debug)]
pub struct NewProbe {
    /// Who sends.
    pub tenant: TenantId,
    /// Its step in the schedule.
    pub step: u32,
    /// What it is for.
    pub role: &'static str,
    /// How its canaries are written.
    pub form: Form,
    /// How they stand.
    pub layout: Layout,
    /// Of its document.
    pub seed: Seed,
    /// Wanted length of the prompt, in tokens.
    pub tokens: u64,
}

/// What is known once a probe's document has been woven and checked, right before it is sent.
#[derive(Clone, Debug)]
pub struct SentRecord {
    /// Which probe.
    pub probe: ProbeNumber,
    /// The measure its document was woven with.
    pub measure: TokenMeasure,
    /// Estimated length of the prompt, in tokens.
    pub tokens_estimated: u64,
    /// Slots that carry a canary.
    pub slots: u32,
    /// The slot its question asks for.
    pub asked: Option<Slot>,
    /// Length of the request body, in bytes.
    pub request_bytes: u64,
    /// When it is sent.
    pub sent_at: OffsetDateTime,
}

/// Token counts as the endpoint reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the answer.
    pub completion: Option<u64>,
    /// Of the prompt, served from a prefix cache.
    pub cached: Option<u64>,
}

/// What a probe turned out to be, with everything that proves it.
#[derive(Clone, Debug)]
pub struct ProbeRecord {
    /// Which probe.
    pub probe: ProbeNumber,
    /// In which round.
    pub round: RoundId,
    /// Its own tenant number, to tell own sightings from others.
    pub tenant: TenantNumber,
    /// When it ended.
    pub finished_at: OffsetDateTime,
    /// The outcome's code.
    pub outcome: &'static str,
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
    pub verdict: &'static str,
    /// The verdict's reason.
    pub reason: Option<&'static str>,
    /// Every different canary in the response.
    pub seen: Vec<Seen>,
    /// What it proves beyond the verdict.
    pub findings: Vec<FindingRecord>,
}

/// A finding with what is known of its donor.
#[derive(Clone, Debug)]
pub struct FindingRecord {
    /// What was concluded.
    pub finding: Finding,
    /// For a leak: who the donor is.
    pub donor: Option<DonorRecord>,
    /// For a leak: how the donor stands to the receiver.
    pub relation: Option<Relation>,
    /// Estimated tokens of the donor's context at which the first and the last leaked slot begin.
    pub tokens: Option<(u64, u64)>,
}

/// How the planter of a leaked canary stands to the tenant who received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Another tenant of this database.
    OtherTenant,
    /// The same tenant, another request.
    SameTenant,
    /// No probe of this database: planted by another deployment with the same key ring.
    Unknown,
}

impl Relation {
    /// The name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OtherTenant => "other_tenant",
            Self::SameTenant => "same_tenant",
            Self::Unknown => "unknown",
        }
    }
}

/// The probe that planted a canary.
#[derive(Clone, Debug)]
pub struct DonorRecord {
    /// Which one.
    pub probe: ProbeNumber,
    /// Its tenant.
    pub tenant: TenantId,
    /// The tenant's name.
    pub tenant_name: String,
    /// The endpoint the canary was planted at.
    pub endpoint_name: String,
    /// When it was sent.
    pub planted_at: Option<OffsetDateTime>,
    /// Its document, to tell where in it a slot stands; `None` if it was never sent.
    pub document: Option<DocumentSpec>,
}

impl Store {
    /// Records the probes of a round before any of them is sent, and numbers them.
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
        let mut numbers = Vec::with_capacity(probes.len());
        for probe in probes {
            let (layout, stride) = layout_columns(probe.layout);
            let id: i64 = sqlx::query_scalar(
                "/* plan_probe */
                 insert into probes (round_id, tenant_id, step, role, form, layout, stride_tokens, document_seed,
                                     tokens_wanted, planned_at)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning id",
            )
            .bind(round.0)
            .bind(probe.tenant.0)
            .bind(integer(probe.step))
            .bind(probe.role)
            .bind(probe.form.as_str())
            .bind(layout)
            .bind(stride)
            .bind(&probe.seed.as_bytes()[..])
            .bind(bigint(probe.tokens))
            .bind(now)
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
                    slots = $6, asked_slot = $7, request_bytes = $8, sent_at = $9
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
        .execute(&self.pool)
        .await
        .map_err(query_error("record that a probe is sent"))?;
        Ok(())
    }

    /// Records a judged probe with its sightings and findings, in one transaction. Doing it twice
    /// changes nothing, so it may be retried after a lost acknowledgement.
    ///
    /// # Errors
    /// When the database fails; nothing is recorded then.
    pub async fn record_probe(&self, record: &ProbeRecord) -> Result<(), StoreError> {
        let act = "record a probe";
        let mut transaction = self.pool.begin().await.map_err(query_error(act))?;
        let fresh = sqlx::query(
            "/* record_probe */
             update probes set finished_at = $2, outcome = $3, status = $4, finish_reason = $5, prompt_tokens = $6,
                    completion_tokens = $7, cached_tokens = $8, response_bytes = $9, ttft_ms = $10,
                    duration_ms = $11, own_canaries = $12, verdict = $13, reason = $14
             where id = $1 and finished_at is null",
        )
        .bind(bigint(record.probe.get()))
        .bind(record.finished_at)
        .bind(record.outcome)
        .bind(record.status.map(|status| i16::try_from(status).unwrap_or(0)))
        .bind(&record.finish_reason)
        .bind(record.usage.prompt.map(bigint))
        .bind(record.usage.completion.map(bigint))
        .bind(record.usage.cached.map(bigint))
        .bind(bigint(record.response_bytes))
        .bind(record.ttft_ms.map(bigint))
        .bind(bigint(record.duration_ms))
        .bind(integer(record.own_canaries))
        .bind(record.verdict)
        .bind(record.reason)
        .execute(&mut *transaction)
        .await
        .map_err(query_error(act))?
        .rows_affected()
            == 1;
        if fresh {
            insert_sightings(&mut transaction, record).await?;
            for finding in &record.findings {
                insert_finding(&mut transaction, record, finding).await?;
            }
        }
        transaction.commit().await.map_err(query_error(act))
    }

    /// The probe that planted a canary; `None` if this database does not know it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn donor(
        &self,
        tenant: TenantNumber,
        probe: ProbeNumber,
    ) -> Result<Option<DonorRecord>, StoreError> {
        let act = "look up the donor of a canary";
        let row = sqlx::query(
            "/* donor */
             select probes.id, probes.tenant_id, tenants.name as tenant_name, endpoints.name as endpoint_name,
                    sent_at, form, layout, stride_tokens, document_seed, tokens_wanted,
                    measure_overhead, measure_unit, measure_canary
             from probes join tenants on tenants.id = probes.tenant_id
                         join endpoints on endpoints.id = tenants.endpoint_id
             where probes.id = $1 and tenants.number = $2",
        )
        .bind(bigint(probe.get()))
        .bind(bigint(tenant.get()) as i16)
        .fetch_optional(&self.pool)
        .await
        .map_err(query_error(act))?;
        row.map(|row| donor_of(&row, tenant, probe).map_err(query_error(act)))
            .transpose()
    }
}

async fn insert_sightings(
    connection: &mut PgConnection,
    record: &ProbeRecord,
) -> Result<(), StoreError> {
    for seen in &record.seen {
        let identity = seen.sighting.identity;
        sqlx::query(
            "/* insert_sighting */
             insert into sightings (probe_id, donor_tenant, donor_probe, slot, key_id, form, strength, own, place,
                                    byte_offset, byte_length, occurrences)
             values ($1, $2, $3, $4, $5, $6, 'exact', $7, $8, $9, $10, $11)",
        )
        .bind(bigint(record.probe.get()))
        .bind(bigint(identity.tenant.get()) as i16)
        .bind(bigint(identity.probe.get()))
        .bind(bigint(identity.slot.get()) as i16)
        .bind(seen.sighting.key.to_string())
        .bind(seen.sighting.form.as_str())
        .bind(identity.tenant == record.tenant && identity.probe == record.probe)
        .bind(&seen.place)
        .bind(bigint(seen.sighting.offset))
        .bind(seen.sighting.length as i32)
        .bind(integer(seen.occurrences))
        .execute(&mut *connection)
        .await
        .map_err(query_error("record a sighting"))?;
    }
    Ok(())
}

async fn insert_finding(
    connection: &mut PgConnection,
    record: &ProbeRecord,
    finding: &FindingRecord,
) -> Result<(), StoreError> {
    let (donor_probe, slots, detail) = match &finding.finding {
        Finding::Leak {
            donor_probe,
            donor_tenant,
            slots,
        } => (
            Some(bigint(donor_probe.get())),
            slots.iter().map(|slot| bigint(slot.get()) as i32).collect(),
            serde_json::json!({ "donor_tenant_number": donor_tenant.get() }),
        ),
        Finding::LimitViolation {
            limit,
            prompt_tokens,
        } => (
            None,
            Vec::new(),
            serde_json::json!({ "limit_tokens": limit, "prompt_tokens": prompt_tokens }),
        ),
    };
    let donor = finding.donor.as_ref();
    sqlx::query(
        "/* insert_finding */
         insert into findings (round_id, probe_id, kind, certainty, found_at, donor_tenant_id, donor_probe,
                               donor_relation, planted_at, slots, first_token, last_token, detail)
         values ($1, $2, $3, 'confirmed', $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(record.round.0)
    .bind(bigint(record.probe.get()))
    .bind(finding.finding.kind())
    .bind(record.finished_at)
    .bind(donor.map(|donor| donor.tenant.0))
    .bind(donor_probe)
    .bind(finding.relation.map(Relation::as_str))
    .bind(donor.and_then(|donor| donor.planted_at))
    .bind::<Vec<i32>>(slots)
    .bind(finding.tokens.map(|(first, _)| bigint(first)))
    .bind(finding.tokens.map(|(_, last)| bigint(last)))
    .bind(detail)
    .execute(connection)
    .await
    .map_err(query_error("record a finding"))?;
    Ok(())
}

fn donor_of(
    row: &sqlx::postgres::PgRow,
    tenant: TenantNumber,
    probe: ProbeNumber,
) -> Result<DonorRecord, sqlx::Error> {
    Ok(DonorRecord {
        probe,
        tenant: TenantId(row.try_get("tenant_id")?),
        tenant_name: row.try_get("tenant_name")?,
        endpoint_name: row.try_get("endpoint_name")?,
        planted_at: row.try_get("sent_at")?,
        document: document_of(row, tenant, probe)?,
    })
}

/// The specification of a recorded probe's document; `None` while it has not been sent, or if a
/// newer version wrote a form or layout that this one does not know.
fn document_of(
    row: &sqlx::postgres::PgRow,
    tenant: TenantNumber,
    probe: ProbeNumber,
) -> Result<Option<DocumentSpec>, sqlx::Error> {
    let overhead: Option<f64> = row.try_get("measure_overhead")?;
    let per_unit: Option<f64> = row.try_get("measure_unit")?;
    let per_canary: Option<f64> = row.try_get("measure_canary")?;
    let stride: Option<i32> = row.try_get("stride_tokens")?;
    let seed: Vec<u8> = row.try_get("document_seed")?;
    let tokens: i64 = row.try_get("tokens_wanted")?;
    let layout = match (row.try_get::<String, _>("layout")?.as_str(), stride) {
        ("dense", _) => Some(Layout::Dense),
        ("sparse", Some(stride)) => u32::try_from(stride)
            .ok()
            .map(|stride_tokens| Layout::Sparse { stride_tokens }),
        _ => None,
    };
    let form = row.try_get::<String, _>("form")?.parse().ok();
    Ok((|| {
        Some(DocumentSpec {
            seed: Seed::from_bytes(seed.try_into().ok()?),
            tenant,
            probe,
            form: form?,
            layout: layout?,
            tokens: u64::try_from(tokens).ok()?,
            measure: TokenMeasure {
                overhead: overhead?,
                per_unit: per_unit?,
                per_canary: per_canary?,
            },
        })
    })())
}

fn layout_columns(layout: Layout) -> (&'static str, Option<i32>) {
    let stride = match layout {
        Layout::Sparse { stride_tokens } => Some(integer(stride_tokens)),
        Layout::Dense => None,
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
