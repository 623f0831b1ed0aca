//! What a request may cost at most before it is sent, and what it did cost.

use super::{Cost, Prices};
use crate::endpoint::{Exchange, Outcome, Unsent, Wait};
use crate::scenario::{PlannedProbe, Role, Schedule};

/// How the length of a prompt was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Counted by the endpoint's own tokenizer.
    Counted,
    /// Estimated by a measure that was learnt at this endpoint.
    Estimated,
    /// Guessed: nothing was learnt yet.
    Guessed,
}

impl Measured {
    /// No prompt of so many measured tokens is longer than this, unless the endpoint counts oddly.
    #[must_use]
    pub fn at_most(self, tokens: u64) -> u64 {
        match self {
            Self::Counted => tokens.saturating_add(16),
            // Lengths are reached within 1 %.
            Self::Estimated => tokens.saturating_add(tokens / 32).saturating_add(64),
            Self::Guessed => tokens.saturating_mul(2).saturating_add(256),
        }
    }
}

/// What a planned probe costs at most.
#[must_use]
pub fn of_probe(prices: &Prices, probe: &PlannedProbe) -> Cost {
    let measured = match probe.role {
        Role::Calibration => Measured::Guessed,
        _ => Measured::Estimated,
    };
    prices.cost(
        measured.at_most(probe.tokens),
        probe.max_answer_tokens.into(),
    )
}

/// What a schedule costs at most.
#[must_use]
pub fn of_schedule(prices: &Prices, schedule: &Schedule) -> Cost {
    let probes = schedule.steps.iter().flatten();
    probes.map(|probe| of_probe(prices, probe)).sum()
}

/// What a request did cost, of which `reserved` was charged before it left. What is not certainly free stays
/// charged:
///
/// - without a connection nothing left; nothing is charged;
/// - a refusal with a status of 4xx is free: no model read anything, and nobody bills it;
/// - where the endpoint told what it counted, that is charged, but never less than `sent_tokens` if it
///   counts less than nine tenths of them (known engines report 1 for 284,937), and never more tokens
///   than bytes were sent, nor an answer longer than `window_tokens`;
/// - all else (timeouts, broken connections, clients that left, errors of the server): what was reserved.
#[must_use]
pub fn settled(
    prices: &Prices,
    reserved: Cost,
    sent_tokens: u64,
    window_tokens: u64,
    exchange: &Exchange,
) -> Cost {
    if is_unsent(&exchange.outcome) {
        return Cost::default();
    }
    let Some(usage) = &exchange.usage else {
        let is_refused = exchange
            .status
            .is_some_and(|status| (400..500).contains(&status));
        return if is_refused {
            Cost::default()
        } else {
            reserved
        };
    };
    let is_far_less = usage.prompt_tokens < sent_tokens - sent_tokens / 10;
    let prompt_tokens = if is_far_less {
        sent_tokens
    } else {
        let most = exchange.request_bytes.max(reserved.prompt_tokens);
        usage.prompt_tokens.min(most)
    };
    let answer_tokens = match usage.completion_tokens {
        // It was not told.
        0 => reserved.answer_tokens,
        told => told.min(window_tokens.max(reserved.answer_tokens)),
    };
    prices.cost(prompt_tokens, answer_tokens)
}

fn is_unsent(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::ConnectFailed(_)
            | Outcome::TimedOut(Wait::Connect)
            | Outcome::Unsent(Unsent::NotTried | Unsent::BadRequest)
    )
}
