//! Findings, and the donors of what leaked.

use super::probes::ProbeRecord;
use super::{Store, StoreError, bigint, query_error};
use crate::ids::TenantId;
use crate::judge::Finding;
use canary_gen::{DocumentSpec, Layout, ProbeNumber, Seed, TenantNumber, TokenMeasure};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;

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
                    measure_overhead, measure_unit, measure_digit, measure_canary, closing
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

pub(super) async fn insert_finding(
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
    row: &PgRow,
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
    row: &PgRow,
    tenant: TenantNumber,
    probe: ProbeNumber,
) -> Result<Option<DocumentSpec>, sqlx::Error> {
    let overhead: Option<f64> = row.try_get("measure_overhead")?;
    let per_unit: Option<f64> = row.try_get("measure_unit")?;
    // Probes of before migration 3 counted digits as units.
    let per_digit: Option<f64> = row.try_get("measure_digit")?;
    let closing: i16 = row.try_get("closing")?;
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
            closing: u8::try_from(closing).ok()?,
            measure: TokenMeasure {
                overhead: overhead?,
                per_unit: per_unit?,
                per_digit: per_digit.or(per_unit)?,
                per_canary: per_canary?,
            },
        })
    })())
}
