#![allow(clippy::unwrap_used)]

use super::*;
use crate::endpoint::{ConnectFailure, Exchange, Outcome, Usage, Wait};
use proptest::prelude::*;
use time::macros::{date, datetime};

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

fn prices() -> Prices {
    Prices {
        input: money("0.55"),
        output: money("2.19"),
    }
}

#[test]
fn money_is_read_and_written_exactly() {
    for (text, micros, shown) in [
        ("0.55", 550_000, "0.55"),
        ("12", 12_000_000, "12.00"),
        ("0.000001", 1, "0.000001"),
        ("1.2500000", 1_250_000, "1.25"),
    ] {
        assert_eq!(money(text).micros(), micros);
        assert_eq!(money(text).to_string(), shown);
    }
    for text in ["-1", "1e3", "", ".5", "0,5", "nan"] {
        assert_eq!(text.parse::<Money>(), Err(MoneyError::Shape), "{text}");
    }
    assert_eq!("0.0000001".parse::<Money>(), Err(MoneyError::TooFine));
    assert_eq!("99999999999999".parse::<Money>(), Err(MoneyError::TooLarge));
}

#[test]
fn a_cost_is_rounded_up_to_a_millionth() {
    assert_eq!(prices().cost(1_000_000, 1_000_000).money, money("2.74"));
    assert_eq!(prices().cost(1, 0).money.micros(), 1);
    assert_eq!(Prices::default().cost(5, 6).money, Money::default());
}

#[test]
fn a_day_is_one_of_utc() {
    let late = datetime!(2026-12-02 01:30 +3);
    assert_eq!(day_of(late), date!(2026 - 12 - 01));
    assert_eq!(end_of_day(late), datetime!(2026-12-02 00:00 UTC));
}

fn exchange(outcome: Outcome, status: Option<u16>, counted: Option<(u64, u64)>) -> Exchange {
    Exchange {
        outcome,
        status,
        usage: counted.map(|(prompt_tokens, completion_tokens)| Usage {
            prompt_tokens,
            completion_tokens,
            cached_tokens: None,
            reasoning_tokens: None,
        }),
        request_bytes: 4_000,
        ..Exchange::default()
    }
}

/// Of a request of 1,000 tokens, for which 1,100 and 96 were reserved: what is charged.
fn charged(exchange: &Exchange) -> (u64, u64) {
    let reserved = prices().cost(1_100, 96);
    let cost = settled(&prices(), reserved, 1_000, 8_192, exchange);
    (cost.prompt_tokens, cost.answer_tokens)
}

#[test]
fn what_is_not_certainly_free_stays_charged() {
    let too_long = Outcome::RejectedTooLong {
        limit: None,
        prompt_tokens: None,
    };
    for (outcome, status, expected) in [
        (
            Outcome::ConnectFailed(ConnectFailure::Refused),
            None,
            (0, 0),
        ),
        (Outcome::TimedOut(Wait::Connect), None, (0, 0)),
        (too_long.clone(), Some(400), (0, 0)),
        (
            Outcome::RateLimited { retry_after: None },
            Some(429),
            (0, 0),
        ),
        (too_long, Some(200), (1_100, 96)),
        (Outcome::TimedOut(Wait::Total), None, (1_100, 96)),
        (Outcome::ServerError(500), Some(500), (1_100, 96)),
        (Outcome::Cancelled, None, (1_100, 96)),
        (Outcome::Answered, Some(200), (1_100, 96)),
    ] {
        let exchange = exchange(outcome, status, None);
        assert_eq!(charged(&exchange), expected, "{:?}", exchange.outcome);
    }
}

#[test]
fn what_an_endpoint_counted_is_charged_as_far_as_it_can_be_true() {
    for (counted, expected) in [
        ((990, 20), (990, 20)),
        ((1_200, 20), (1_200, 20)),
        // Known engines report 1 for any prompt.
        ((1, 20), (1_000, 20)),
        // More tokens than bytes were sent, an answer longer than the window.
        ((1_000_000, 1_000_000), (4_000, 8_192)),
        // An answer's length that was not told.
        ((1_000, 0), (1_000, 96)),
    ] {
        let exchange = exchange(Outcome::Answered, Some(200), Some(counted));
        assert_eq!(charged(&exchange), expected, "{counted:?}");
    }
}

proptest! {
    #[test]
    fn written_money_is_read_as_the_same(micros in 0..=i64::MAX as u64) {
        let amount = Money::from_micros(micros);
        prop_assert_eq!(amount.to_string().parse::<Money>(), Ok(amount));
    }

    #[test]
    fn no_prompt_is_estimated_shorter_than_it_was_measured(tokens: u64) {
        for how in [Measured::Counted, Measured::Estimated, Measured::Guessed] {
            prop_assert!(how.at_most(tokens) >= tokens);
        }
    }

    #[test]
    fn what_does_not_fit_one_limit_is_not_allowed(tokens in 0u64..2_000, limit in 1u64..2_000) {
        let budget = Budget { tokens_per_day: Some(limit), ..Budget::default() };
        prop_assert_eq!(budget.allows(prices().cost(tokens, 0)), tokens <= limit);
    }
}
