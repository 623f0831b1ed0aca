//! Limit violation: a prompt over the advertised window was answered. Whatever the answer was made
//! from, it was not the whole prompt.

use super::{Case, Finding};
use crate::endpoint::Outcome;

/// An estimated length counts as over the limit only beyond this factor: the estimate is good to 1 %.
const ESTIMATE_MARGIN: f64 = 1.015;

pub(super) fn find(case: &Case<'_>) -> Option<Finding> {
    // Cut and answered is not refused either.
    if !matches!(
        case.exchange.outcome,
        Outcome::Answered | Outcome::Truncated
    ) {
        return None;
    }
    let limit = case.context_tokens;
    let prompt_tokens = over(case, limit)?;
    Some(Finding::LimitViolation {
        limit,
        prompt_tokens,
    })
}

/// The length of a prompt that is over a limit, in tokens.
pub(super) fn over(case: &Case<'_>, limit: u64) -> Option<u64> {
    let reported = case
        .exchange
        .usage
        .as_ref()
        .map(|usage| usage.prompt_tokens);
    let over_by_report = reported.filter(|&tokens| tokens > limit);
    // A report below the limit does not clear it: a truncating server reports what it kept.
    let over_by_estimate = Some(case.estimated_tokens)
        .filter(|&tokens| tokens as f64 > limit as f64 * ESTIMATE_MARGIN);
    over_by_report.or(over_by_estimate)
}
