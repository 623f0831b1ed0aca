//! Faults: defects the engine can be told to have. Each is one wrong decision in its code path, never a
//! scripted symptom, and names the public reports it models.

mod known;

use known::{KNOWN, Known};
use std::{fmt, str::FromStr};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Admission lets in a prompt that the prefill pool cannot hold, and the failed transfer is ignored.
    StalePages,
    /// A transfer fails half way, and decode starts all the same.
    TransferFailureIgnored,
    /// The pages of an aborted request are freed while its transfer still writes into them.
    FreedWhileWriting,
    /// Decode starts when a transfer begins.
    DecodeBeforeTransfer,
    /// The pages that a transfer reads are freed when it begins.
    SourceFreedEarly,
    /// A retracted request goes on without its contents being brought back.
    SwapNotRestored,
    /// The keys of the prefix cache are short, and what a key finds is not compared with the prompt.
    PrefixKeyCollision,
    /// The keys of the prefix cache leave out the tenant.
    PrefixWithoutTenant,
    /// The keys of the prefix cache leave out the salt.
    PrefixWithoutSalt,
    /// The keys of the prefix cache leave out the adapter.
    PrefixWithoutAdapter,
    /// The last page of a prompt of whole pages is not transferred.
    BoundaryOffByOne,
    /// The rows of the batch's page table stay where they are when a request leaves the batch.
    TableRowsNotMoved,
    /// Which row of the verifier's buffer a request reads stays the same when others leave the batch.
    DraftOfNeighbour,
    /// The state of a row's thinking budget stays in its row when a request leaves the batch.
    BudgetOfNeighbour,
    /// A page is loaded from the host's memory although its place there was reused in the meantime.
    HostSlotNotPinned,
    /// The disk's index keeps the old key of a block that was reused.
    DiskIndexStale,
    /// A recurrent state is not cleared before the next request gets it.
    StateNotReset,
    /// Two halves of a batch write their logits into one buffer.
    LogitsShared,
    /// A metadata slot is free again when it was sent, not when it was read.
    MetadataSlotReused,
    /// A prompt over the window loses its head instead of being refused.
    HeadTruncated,
    /// The router's numbers of streams stay when one of them ends.
    StreamsSwapped,
    /// The answer goes to the client that last used the request's id.
    RequestIdReused,
    /// What belongs to one trace is taken for one request.
    TraceIdCollides,
    /// A connection whose client went away is used again with the reply still on it.
    ConnectionOffByOne,
    /// The key of the response cache leaves out the tenant.
    ResponseCacheWithoutTenant,
    /// The semantic cache looks at all tenants' answers.
    SemanticCacheWithoutTenant,
}

impl Fault {
    /// Every fault.
    pub fn all() -> impl Iterator<Item = Self> {
        KNOWN.iter().map(|known| known.fault)
    }

    /// The name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.known().name
    }

    /// What it does, in a line.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.known().about
    }

    /// The public reports that it models.
    #[must_use]
    pub fn reports(self) -> &'static [&'static str] {
        self.known().reports
    }

    fn known(self) -> &'static Known {
        // In the order of their declaration, which the test below checks of every one.
        &KNOWN[self as usize]
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A fault and how often a request meets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultSetting {
    /// Which defect.
    pub fault: Fault,
    /// Chance that a request which could meet it does, in `(0, 1]`.
    pub probability: f64,
}

/// A text that is no fault setting.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum UnknownFault {
    /// No such fault.
    #[error("unknown fault `{0}` (known faults: {known})", known = names())]
    Name(String),
    /// No probability.
    #[error("`{0}` is no probability (expected a number above 0 and at most 1)")]
    Probability(String),
}

fn names() -> String {
    let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
    names.join(", ")
}

impl FromStr for FaultSetting {
    type Err = UnknownFault;

    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        let (name, probability) = match text.split_once('=') {
            Some((name, number)) => {
                let parsed = number
                    .parse()
                    .ok()
                    .filter(|&number: &f64| number > 0.0 && number <= 1.0);
                (
                    name,
                    parsed.ok_or_else(|| UnknownFault::Probability(number.to_owned()))?,
                )
            }
            None => (text, 1.0),
        };
        let fault = Fault::all().find(|fault| fault.as_str() == name);
        Ok(Self {
            fault: fault.ok_or_else(|| UnknownFault::Name(name.to_owned()))?,
            probability,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_known_by_a_name_of_its_own_and_names_a_report() {
        for (index, fault) in Fault::all().enumerate() {
            assert_eq!(fault as usize, index, "{fault} stands where it is declared");
            assert!(!fault.about().is_empty() && !fault.reports().is_empty());
            assert_eq!(
                fault.as_str().parse::<FaultSetting>().map(|set| set.fault),
                Ok(fault)
            );
        }
        assert_eq!(
            Fault::SemanticCacheWithoutTenant as usize + 1,
            KNOWN.len(),
            "none is left out"
        );
    }

    #[test]
    fn the_documentation_has_a_line_for_every_fault() {
        let documented = include_str!("../../../docs/faults.md");
        let rows = documented.lines().filter(|line| line.starts_with("| `"));
        let expected: Vec<String> = KNOWN
            .iter()
            .map(|known| {
                format!(
                    "| `{}` | {} | {} |",
                    known.name,
                    known.about,
                    known.reports.join("; ")
                )
            })
            .collect();
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_setting_is_a_name_with_or_without_a_probability() {
        let setting = |probability| {
            Ok(FaultSetting {
                fault: Fault::StalePages,
                probability,
            })
        };
        assert_eq!("stale-pages".parse(), setting(1.0));
        assert_eq!("stale-pages=0.25".parse(), setting(0.25));
    }

    #[test]
    fn what_is_no_setting_is_refused_with_what_would_be_one() {
        let message = |text: &str| {
            text.parse::<FaultSetting>()
                .expect_err("no setting")
                .to_string()
        };
        for fault in Fault::all() {
            assert!(message("gremlins").contains(fault.as_str()));
        }
        for number in ["0", "1.1", "-1", "NaN", "x", ""] {
            assert!(
                message(&format!("stale-pages={number}")).contains("above 0 and at most 1"),
                "{number}"
            );
        }
    }
}
