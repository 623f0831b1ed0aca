//! Usage anomaly and truncation: the endpoint counted far more or far fewer tokens than were sent.
//!
//! Fewer: it dropped a part, or it counts wrong. If it gave back a canary that stood in what it cannot
//! have kept, it counts wrong. (Anthropic's and vLLM's own reports of 1 for 284,937; ollama #4767 and
//! llama.cpp's `--context-shift` for heads that are dropped.)

use super::{Case, Finding, is_own};
use crate::endpoint::Outcome;
use crate::scenario::Role;

/// Estimates are good to a few percent at worst.
const FEWER: f64 = 0.9;
const MORE: f64 = 1.5;
/// Of short prompts, the chat template is too large a share.
const SHORTEST: u64 = 200;

/// Whether a reported length is far from that of the prompt, both in tokens.
#[must_use]
pub fn is_odd(estimated: u64, reported: u64) -> bool {
    let share = reported as f64 / estimated as f64;
    estimated >= SHORTEST && !(FEWER..=MORE).contains(&share)
}

pub(super) fn find(case: &Case<'_>) -> Option<Finding> {
    let is_told = case.exchange.outcome == Outcome::Answered && case.role != Role::Calibration;
    let reported = case.exchange.usage.as_ref().filter(|_| is_told)?;
    let (estimated, reported) = (case.estimated_tokens, reported.prompt_tokens);
    if !is_odd(estimated, reported) {
        return None;
    }
    let anomaly = Finding::UsageAnomaly {
        estimated,
        reported,
    };
    let share = reported as f64 / estimated as f64;
    if share > MORE {
        return Some(anomaly);
    }
    // The question stood at the end and was answered, so what is missing stood before it.
    let dropped = 1.0 - share;
    let is_contradicted = case
        .seen
        .iter()
        .filter(|seen| is_own(case, seen) && seen.in_answer)
        .any(|seen| case.depth(seen.sighting.identity.slot) < dropped / 2.0);
    Some(if is_contradicted {
        anomaly
    } else {
        Finding::Truncation {
            estimated,
            reported,
        }
    })
}
