//! Findings, and the donors of what leaked.

use super::evidence::link;
use super::incidents::take_in;
use super::{Store, StoreError, bigint, query_error};
use crate::ids::{EndpointId, IncidentId, RoundId, TenantId};
use crate::incident::Rules;
use crate::judge::Finding;
use canary_gen::{
    DocumentSpec, Head, KeyId, Layout, ProbeNumber, Question, Seed, Slot, TenantNumber,
    TokenMeasure,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
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
    /// For a leak: the parts of the donor's context, in the order in which they came out.
    pub map: Vec<Part>,
    /// Other probes whose responses prove it, beside that of the one which shows it.
    pub witnesses: Vec<ProbeNumber>,
}

/// A part of a donor's context that came out in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its first and its last slot.
    pub slots: (Slot, Slot),
    /// Estimated tokens of the donor's context at which these two begin; `None` if its document is not known.
    pub tokens: Option<(u64, u64)>,
}

/// What several probes proved together: something that has no donor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JointFinding {
    /// The probe that shows it best.
    pub shown_by: ProbeNumber,
    /// What was concluded.
    pub finding: Finding,
    /// The others whose responses prove it.
    pub witnesses: Vec<ProbeNumber>,
}

impl From<JointFinding> for FindingRecord {
    fn from(joint: JointFinding) -> Self {
        Self {
            witnesses: joint.witnesses,
            ..Self::from(joint.finding)
        }
    }
}

impl From<Finding> for FindingRecord {
    /// One without a donor.
    fn from(finding: Finding) -> Self {
        Self {
            finding,
            donor: None,
            relation: None,
            map: Vec::new(),
            witnesses: Vec::new(),
        }
    }
}

/// How the planter of a leaked canary stands to the tenant who received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Another tenant of this database.
    OtherTenant,
    /// The same tenant, another request.
    SameTenant,
    /// Planted at another endpoint, by whatever tenant.
    OtherEndpoint,
    /// No probe of this database, minted with a key that mints no more.
    RetiredKey,
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
            Self::OtherEndpoint => "other_endpoint",
            Self::RetiredKey => "retired_key",
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
    pub endpoint: EndpointId,
    /// Its name.
    pub endpoint_name: String,
    /// When it was sent.
    pub planted_at: Option<OffsetDateTime>,
    /// Its document, to tell where in it a slot stands; `None` if it was never sent.
    pub document: Option<DocumentSpec>,
}

impl Store {
    /// The probe that planted a canary minted with a key; `None` if this database does not know it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn donor(
        &self,
        tenant: TenantNumber,
        probe: ProbeNumber,
        key: KeyId,
    ) -> Result<Option<DonorRecord>, StoreError> {
        let act = "look up the donor of a canary";
        let row = sqlx::query(
            "/* donor */
             select probes.id, probes.tenant_id, tenants.name as tenant_name, endpoints.id as endpoint_id,
                    endpoints.name as endpoint_name, sent_at, form, layout, stride_tokens, document_seed,
                    tokens_wanted, measure_overhead, measure_unit, measure_digit, measure_canary, closing,
                    question, head_seed, head_units
             from probes join tenants on tenants.id = probes.tenant_id
                         join endpoints on endpoints.id = tenants.endpoint_id
                         join rounds on rounds.id = probes.round_id
             where probes.id = $1 and tenants.number = $2 and rounds.key_id = $3",
        )
        .bind(bigint(probe.get()))
        .bind(bigint(tenant.get()) as i16)
        .bind(key.to_string())
        .fetch_optional(&self.pool)
        .await
        .map_err(query_error(act))?;
        row.map(|row| donor_of(&row, tenant, probe).map_err(query_error(act)))
            .transpose()
    }
}

/// Records a finding of a round, shown by a probe, at a time; the incident that it belongs to.
pub(super) async fn insert_finding(
    connection: &mut PgConnection,
    (round, probe, found_at): (RoundId, ProbeNumber, OffsetDateTime),
    record: &FindingRecord,
    rules: &Rules,
) -> Result<IncidentId, StoreError> {
    let relation = record.relation.map(Relation::as_str);
    let (kind, signature) = (record.finding.kind(), record.finding.signature(relation));
    let alike = (kind, signature.as_str());
    let incident = take_in(connection, (round, found_at), alike, rules).await?;
    let (donor_probe, slots) = match &record.finding {
        Finding::Leak {
            donor_probe, slots, ..
        } => (
            Some(bigint(donor_probe.get())),
            slots.iter().map(|slot| bigint(slot.get()) as i32).collect(),
        ),
        _ => (None, Vec::new()),
    };
    let donor = record.donor.as_ref();
    let tokens = || record.map.iter().filter_map(|part| part.tokens);
    let finding: i64 = sqlx::query_scalar(
        "/* insert_finding */
         insert into findings (round_id, probe_id, probe_planned_at, tenant_id, kind, certainty, found_at,
                               donor_tenant_id, donor_probe, donor_relation, planted_at, slots, first_token, last_token,
                               detail, incident_id, late)
         select $1, probes.id, planned_at, tenant_id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, state = 'lost'
         from probes join rounds on rounds.id = $1 where probes.id = $2
         returning id",
    )
    .bind(round.0)
    .bind(bigint(probe.get()))
    .bind(kind)
    .bind(record.finding.certainty())
    .bind(found_at)
    .bind(donor.map(|donor| donor.tenant.0))
    .bind(donor_probe)
    .bind(relation)
    .bind(donor.and_then(|donor| donor.planted_at))
    .bind::<Vec<i32>>(slots)
    .bind(tokens().map(|(first, _)| bigint(first)).min())
    .bind(tokens().map(|(_, last)| bigint(last)).max())
    .bind(detail(record))
    .bind(incident.0)
    .fetch_one(&mut *connection)
    .await
    .map_err(query_error("record a finding"))?;
    let proving = record.witnesses.iter().chain([&probe]);
    let proving: Vec<i64> = proving.map(|probe| bigint(probe.get())).collect();
    link(connection, finding, &proving).await?;
    Ok(incident)
}

/// The numbers behind a finding.
fn detail(record: &FindingRecord) -> Value {
    match &record.finding {
        Finding::Leak {
            donor_tenant, key, ..
        } => {
            let part = |part: &Part| {
                json!({
                    "slots": [part.slots.0.get(), part.slots.1.get()],
                    "tokens": part.tokens.map(|(first, last)| [first, last]),
                })
            };
            json!({
                "donor_tenant_number": donor_tenant.get(),
                "key": key.to_string(),
                "map": record.map.iter().map(part).collect::<Vec<_>>(),
            })
        }
        Finding::LimitViolation {
            limit,
            prompt_tokens,
        } => json!({ "limit_tokens": limit, "prompt_tokens": prompt_tokens }),
        Finding::UsageAnomaly {
            estimated,
            reported,
        }
        | Finding::Truncation {
            estimated,
            reported,
        } => json!({ "prompt_tokens": estimated, "reported_tokens": reported }),
        Finding::SharedPrefixCache {
            cached_tokens,
            usual_tokens,
            readers,
            hits,
            chance,
        } => json!({
            "cached_tokens": cached_tokens, "usual_tokens": usual_tokens,
            "readers": readers, "hits": hits, "chance": chance,
        }),
        Finding::SharedResponse { first } => json!({ "first_probe": first.get() }),
        Finding::Divergence {
            beside,
            differing,
            differing_alone,
            sets,
            chance,
        } => json!({
            "beside": beside, "differing": differing, "differing_alone": differing_alone,
            "sets": sets, "chance": chance,
        }),
    }
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
        endpoint: EndpointId(row.try_get("endpoint_id")?),
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
        ("plain", _) => Some(Layout::Plain),
        ("sparse", Some(stride)) => u32::try_from(stride)
            .ok()
            .map(|stride_tokens| Layout::Sparse { stride_tokens }),
        _ => None,
    };
    let form = row.try_get::<String, _>("form")?.parse().ok();
    let question = match row.try_get::<String, _>("question")?.as_str() {
        "one" => Some(Question::One),
        "list" => Some(Question::List),
        _ => None,
    };
    let head_seed: Option<Vec<u8>> = row.try_get("head_seed")?;
    let head_units: Option<i64> = row.try_get("head_units")?;
    Ok((|| {
        Some(DocumentSpec {
            seed: Seed::from_bytes(seed.try_into().ok()?),
            tenant,
            probe,
            head: match head_seed.zip(head_units) {
                None => None,
                Some((seed, units)) => Some(Head {
                    seed: Seed::from_bytes(seed.try_into().ok()?),
                    units: u64::try_from(units).ok()?,
                }),
            },
            question: question?,
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
