//! What a round tells the store once it is under way. Such facts wait in the spool while the database is away.

use super::Executor;
use super::locate::{Received, locate};
use crate::budget::{Budget, Cost};
use crate::ids::{EndpointId, IncidentId};
use crate::judge::Finding;
use crate::store::{FindingRecord, ProbeRecord, RoundEnd, SentRecord, StoreError};
use canary_gen::ProbeNumber;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// One fact. Recording it twice changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// A probe is charged what it costs at most. Without a limit: it is sent in any case.
    Charged {
        /// Which endpoint.
        endpoint: EndpointId,
        /// Which probe.
        probe: ProbeNumber,
        /// What it costs at most.
        cost: Cost,
        /// When.
        #[serde(with = "time::serde::rfc3339")]
        at: OffsetDateTime,
    },
    /// A probe is about to be sent.
    Sent(SentRecord),
    /// A probe was judged.
    Judged(Box<JudgedProbe>),
    /// A round ended.
    Ended(Box<RoundEnd>),
    /// An endpoint named its limit.
    Limit {
        /// Which endpoint.
        endpoint: EndpointId,
        /// The limit.
        limit_tokens: u64,
    },
    /// An answer came from a build.
    Build {
        /// Which endpoint.
        endpoint: EndpointId,
        /// What it calls its model.
        model: String,
        /// What it calls the build.
        fingerprint: String,
        /// When.
        #[serde(with = "time::serde::rfc3339")]
        seen_at: OffsetDateTime,
    },
}

impl Fact {
    /// The name of its kind.
    fn as_str(&self) -> &'static str {
        match self {
            Self::Charged { .. } => "charged",
            Self::Sent(_) => "sent",
            Self::Judged(_) => "judged",
            Self::Ended(_) => "ended",
            Self::Limit { .. } => "limit",
            Self::Build { .. } => "build",
        }
    }
}

/// A judged probe. Who planted what leaked is looked up when it is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JudgedProbe {
    /// What it turned out to be; its findings are empty.
    pub record: ProbeRecord,
    /// Who received it.
    pub received: Received,
    /// What it proves beyond the verdict.
    pub findings: Vec<Finding>,
}

/// What recording a fact brought.
#[derive(Debug, Default)]
pub struct Recorded {
    /// The findings of a probe, with what is known of their donors.
    pub findings: Vec<FindingRecord>,
    /// Their incidents.
    pub incidents: Vec<IncidentId>,
    /// Whether the endpoint has changed.
    pub is_change: bool,
}

impl Executor {
    /// Records a fact in the database.
    pub(super) async fn record(&self, fact: &Fact) -> Result<Recorded, StoreError> {
        self.metrics.timed(fact.as_str(), self.write(fact)).await
    }

    async fn write(&self, fact: &Fact) -> Result<Recorded, StoreError> {
        let store = &self.store;
        let mut recorded = Recorded::default();
        match fact {
            Fact::Charged {
                endpoint,
                probe,
                cost,
                at,
            } => {
                let limits = Budget::default();
                store
                    .reserve(*endpoint, *probe, *cost, &limits, *at)
                    .await?;
            }
            Fact::Sent(sent) => store.record_sent(sent).await?,
            Fact::Judged(judged) => {
                let findings = locate(self, judged.received, &judged.findings).await?;
                let record = ProbeRecord {
                    findings,
                    ..judged.record.clone()
                };
                recorded.incidents = store.record_probe(&record, &self.incidents).await?;
                recorded.findings = record.findings;
            }
            Fact::Ended(end) => {
                recorded.incidents = store.finish_round(end, &self.incidents).await?;
            }
            Fact::Limit {
                endpoint,
                limit_tokens,
            } => {
                store
                    .record_measured_limit(*endpoint, *limit_tokens)
                    .await?
            }
            Fact::Build {
                endpoint,
                model,
                fingerprint,
                seen_at,
            } => {
                let build = (model.as_str(), fingerprint.as_str());
                recorded.is_change = store.record_build(*endpoint, build, *seen_at).await?;
            }
        }
        Ok(recorded)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// As they waited in a spool. Whoever changes how facts are written must still read these.
    const WAITING: &str = include_str!("../../tests/data/spool/facts.ndjson");

    #[test]
    fn facts_that_wait_are_read_as_they_were_written() {
        for line in WAITING.lines() {
            let fact: Fact = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&fact).unwrap(), line);
        }
    }

    #[test]
    fn a_number_that_no_canary_can_hold_is_no_fact() {
        let sent = WAITING.lines().nth(1).unwrap();
        let wrong = sent.replace("\"probe\":9", "\"probe\":17179869184");
        assert_ne!(sent, wrong);
        assert!(serde_json::from_str::<Fact>(&wrong).is_err());
    }
}
