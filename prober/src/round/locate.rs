//! Who planted what leaked, and from which part of that context it came.

use super::Executor;
use crate::ids::EndpointId;
use crate::judge::{self, Finding};
use crate::store::{DonorRecord, FindingRecord, Part, Relation, StoreError};
use canary_gen::{Document, KeyId, Slot, TenantNumber};
use serde::{Deserialize, Serialize};

/// Who received it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Received {
    /// From which endpoint.
    pub endpoint: EndpointId,
    /// Which tenant.
    pub tenant: TenantNumber,
}

/// Findings with what is known of their donors.
pub(super) async fn locate(
    executor: &Executor,
    received: Received,
    findings: &[Finding],
) -> Result<Vec<FindingRecord>, StoreError> {
    let mut records = Vec::with_capacity(findings.len());
    for finding in findings {
        let Finding::Leak {
            donor_tenant,
            donor_probe,
            key,
            ref slots,
            ..
        } = *finding
        else {
            records.push(FindingRecord::from(finding.clone()));
            continue;
        };
        let donor = executor.store.donor(donor_tenant, donor_probe, key).await?;
        let relation = relation(executor, received, donor.as_ref(), donor_tenant, key);
        let map = leak_map(executor, donor.as_ref(), slots).await;
        records.push(FindingRecord {
            finding: finding.clone(),
            donor,
            relation: Some(relation),
            map,
            witnesses: Vec::new(),
        });
    }
    Ok(records)
}

fn relation(
    executor: &Executor,
    received: Received,
    donor: Option<&DonorRecord>,
    tenant: TenantNumber,
    key: KeyId,
) -> Relation {
    match donor {
        None if key != executor.ring.minting().id() => Relation::RetiredKey,
        None => Relation::Unknown,
        Some(donor) if donor.endpoint != received.endpoint => Relation::OtherEndpoint,
        Some(_) if tenant == received.tenant => Relation::SameTenant,
        Some(_) => Relation::OtherTenant,
    }
}

/// The runs of leaked slots, each with its place in the donor's context. The document is woven once more
/// for that, on a thread of its own.
async fn leak_map(executor: &Executor, donor: Option<&DonorRecord>, slots: &[Slot]) -> Vec<Part> {
    let runs = judge::runs(slots);
    let ends: Vec<Slot> = runs
        .iter()
        .flat_map(|&(first, last)| [first, last])
        .collect();
    let tokens = match donor.and_then(|donor| donor.document) {
        None => Vec::new(),
        Some(spec) => {
            let document = Document::new(spec, executor.ring.clone());
            let ends = ends.clone();
            let positions = tokio::task::spawn_blocking(move || document.tokens_of(&ends));
            // Without a place a leak is a leak all the same.
            positions.await.unwrap_or_default()
        }
    };
    runs.into_iter()
        .enumerate()
        .map(|(run, slots)| {
            let position = |end: usize| tokens.get(2 * run + end).copied().flatten();
            Part {
                slots,
                tokens: position(0).zip(position(1)),
            }
        })
        .collect()
}
