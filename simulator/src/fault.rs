//! Faults: defects the engine can be told to have. Each is one wrong decision in its code path, never a
//! scripted symptom, and names the public report it models.

use std::{fmt, str::FromStr};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A prompt longer than the prefill pool, but within the advertised window, is accepted. Prefill
    /// runs until its pool is exhausted, the transfer is cut short, the failure is ignored, and decode
    /// reads pages that were never written for this request.
    ///
    /// Reports: Cloudflare Workers AI, October 2026; sgl-project/sglang #30233.
    StalePages,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 1] = [Self::StalePages];

    /// The name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StalePages => "stale-pages",
        }
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
    #[error("unknown fault `{0}` (known faults: stale-pages)")]
    Name(String),
    /// No probability.
    #[error("`{0}` is no probability (expected a number above 0 and at most 1)")]
    Probability(String),
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
        let fault = Fault::ALL.into_iter().find(|fault| fault.as_str() == name);
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
        for fault in Fault::ALL {
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
