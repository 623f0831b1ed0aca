//! Budgets: what an endpoint may cost in a day (UTC), and what requests cost. Pure, and without floats:
//! money is counted in millionths.

mod charge;
mod money;

pub use charge::{Measured, of_probe, of_schedule, settled};
pub use money::{Money, MoneyError};

use serde::{Deserialize, Serialize};
use std::fmt;
use time::{Date, OffsetDateTime, UtcOffset};

/// The day on which a request that is sent at a moment is charged: that of UTC.
#[must_use]
pub fn day_of(now: OffsetDateTime) -> Date {
    now.to_offset(UtcOffset::UTC).date()
}

/// When the day of a moment ends.
#[must_use]
pub fn end_of_day(now: OffsetDateTime) -> OffsetDateTime {
    let midnight = now
        .to_offset(UtcOffset::UTC)
        .replace_time(time::Time::MIDNIGHT);
    midnight.saturating_add(time::Duration::DAY)
}

/// What an endpoint may cost in a day, and its prices. Nothing limited: no budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Most tokens in a day, prompts and answers together.
    pub tokens_per_day: Option<u64>,
    /// Most money in a day; only with prices.
    pub money_per_day: Option<Money>,
    /// What tokens cost.
    pub prices: Prices,
    /// What money is counted in, such as `USD`: a label.
    pub currency: String,
}

impl Budget {
    /// Whether anything is limited.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.tokens_per_day.is_some() || self.money_per_day.is_some()
    }

    /// Whether spending so much in a day is allowed.
    #[must_use]
    pub fn allows(&self, spent: Cost) -> bool {
        self.tokens_per_day
            .is_none_or(|most| spent.tokens() <= most)
            && self.money_per_day.is_none_or(|most| spent.money <= most)
    }
}

/// Prices of a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// Of prompts.
    pub input: Money,
    /// Of answers.
    pub output: Money,
}

impl Prices {
    /// What tokens cost, rounded up to a whole millionth.
    #[must_use]
    pub fn cost(&self, prompt_tokens: u64, answer_tokens: u64) -> Cost {
        let of = |tokens: u64, price: Money| u128::from(tokens) * u128::from(price.micros());
        let micros =
            (of(prompt_tokens, self.input) + of(answer_tokens, self.output)).div_ceil(1_000_000);
        Cost {
            prompt_tokens,
            answer_tokens,
            money: Money::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)),
        }
    }
}

/// What requests cost, or may cost at most. Sums stop at the largest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Of prompts.
    pub prompt_tokens: u64,
    /// Of answers.
    pub answer_tokens: u64,
    /// Of both.
    pub money: Money,
}

impl Cost {
    /// Of prompts and answers together.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.answer_tokens)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            answer_tokens: self.answer_tokens.saturating_add(other.answer_tokens),
            money: self.money.plus(other.money),
        }
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Self::plus)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens", self.tokens())?;
        if self.money > Money::default() {
            write!(f, " ({})", self.money)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
