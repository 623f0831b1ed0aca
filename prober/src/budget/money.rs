//! Money: whole millionths of a unit of currency.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

const MICROS: u64 = 1_000_000;
const DECIMALS: usize = 6;

/// An amount of money, in millionths; at most 9.2 · 10¹² units, so that a database's `bigint` holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(u64);

/// Why a text is no amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Signs, exponents, letters.
    #[error("is no plain decimal number (write one such as 0.55)")]
    Shape,
    /// A part of a millionth.
    #[error("has more than 6 decimal places (write at most 6)")]
    TooFine,
    /// More than can be counted.
    #[error("has too many digits (write a smaller number)")]
    TooLarge,
}

impl Money {
    /// Of so many millionths.
    #[must_use]
    pub fn from_micros(micros: u64) -> Self {
        Self(micros.min(i64::MAX as u64))
    }

    /// In millionths.
    #[must_use]
    pub fn micros(self) -> u64 {
        self.0
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::from_micros(self.0.saturating_add(other.0))
    }
}

impl FromStr for Money {
    type Err = MoneyError;

    /// Reads a plain decimal number exactly.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let (whole, parts) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(parts) {
            return Err(MoneyError::Shape);
        }
        let parts = parts.trim_end_matches('0');
        if parts.len() > DECIMALS {
            return Err(MoneyError::TooFine);
        }
        let micros = format!("{whole}{parts:0<DECIMALS$}").parse::<u64>();
        match micros {
            Ok(micros) if i64::try_from(micros).is_ok() => Ok(Self(micros)),
            _ => Err(MoneyError::TooLarge),
        }
    }
}

impl fmt::Display for Money {
    /// With two decimal places, or as many more as it takes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = format!("{:06}", self.0 % MICROS);
        let kept = parts.trim_end_matches('0').len().max(2);
        write!(f, "{}.{}", self.0 / MICROS, &parts[..kept])
    }
}
