//! What an endpoint may cost.

use super::Check;
use crate::budget::{Budget, Money, Prices};
use crate::config::document::Field;
use crate::config::mistake::Place;
use crate::config::raw::RawBudget;

/// More than any endpoint is sent in a day.
const MOST_TOKENS: u64 = 1_000_000_000_000_000;
/// In millionths. At this price the ledger's numbers hold a day of nine trillion tokens.
const MOST_PRICE: u64 = 1_000_000_000_000;
const LONGEST_CURRENCY: usize = 8;

impl Check<'_> {
    /// A budget; each key that is not there is as in `default`.
    pub(super) fn budget(&mut self, raw: &RawBudget, default: &Budget) -> Option<Budget> {
        let tokens_per_day = match &raw.tokens_per_day {
            Field::Absent => Some(default.tokens_per_day),
            field => self.whole(field, 1, 1..=MOST_TOKENS).map(Some),
        };
        let money_per_day = match &raw.money_per_day {
            Field::Absent => Some(default.money_per_day),
            Field::Wrong => None,
            Field::Given(at) if at.value == Money::default() => {
                let message =
                    "is out of range (write more than 0, or leave the key out for no limit)";
                self.mistakes.at(&at.place, message);
                None
            }
            Field::Given(at) => Some(Some(at.value)),
        };
        let mut price = |field: &Field<Money>, default: Money| match field {
            Field::Absent => Some(default),
            Field::Wrong => None,
            Field::Given(at) if at.value.micros() > MOST_PRICE => {
                let message =
                    "is out of range (write the price of a million tokens, at most 1000000)";
                self.mistakes.at(&at.place, message);
                None
            }
            Field::Given(at) => Some(at.value),
        };
        let input = price(&raw.input_price, default.prices.input);
        let output = price(&raw.output_price, default.prices.output);
        let currency = self.currency(&raw.currency, &default.currency);
        Some(Budget {
            tokens_per_day: tokens_per_day?,
            money_per_day: money_per_day?,
            prices: Prices {
                input: input?,
                output: output?,
            },
            currency: currency?,
        })
    }

    fn currency(&mut self, field: &Field<String>, default: &str) -> Option<String> {
        let at = match field {
            Field::Absent => return Some(default.to_owned()),
            Field::Wrong => return None,
            Field::Given(at) => at,
        };
        let letters = at.value.bytes().all(|byte| byte.is_ascii_uppercase());
        if (1..=LONGEST_CURRENCY).contains(&at.value.len()) && letters {
            return Some(at.value.clone());
        }
        let message = format!(
            "`{}` is no currency (write 1 to {LONGEST_CURRENCY} capital letters, such as \"USD\")",
            super::value::shown(&at.value)
        );
        self.mistakes.at(&at.place, message);
        None
    }

    /// Notes a limit of money at an endpoint that says no price: it would never be reached.
    pub(super) fn refuse_money_without_prices(&mut self, budget: &Budget, place: &Place) {
        if budget.money_per_day.is_some() && budget.prices == Prices::default() {
            let message = "has a `money_per_day` but no price (write input_price and output_price, of a million tokens)";
            self.mistakes.at(place, message);
        }
    }
}
