//! What a session learns from an exchange: token costs, limits, builds.

use super::fact::Fact;
use super::probe::ProbeError;
use super::{Executor, Session};
use crate::endpoint::{self, Exchange, Outcome};
use crate::judge;
use crate::scenario::{PlannedProbe, Role};
use canary_gen::document::Summary;

/// Learns token costs and limits from what the endpoint reported.
pub(super) async fn learn(
    executor: &Executor,
    session: &Session,
    planned: &PlannedProbe,
    (document, estimated): (&Summary, u64),
    counted: Option<u64>,
    exchange: &Exchange,
) -> Result<Option<u64>, ProbeError> {
    learn_build(executor, session, exchange).await?;
    let answered = exchange.outcome == Outcome::Answered;
    // A count that is a finding teaches nothing: the prompt was cut, or it is wrong.
    let believed = |usage: &&endpoint::Usage| {
        planned.role == Role::Calibration || !judge::is_odd_count(estimated, usage.prompt_tokens)
    };
    let usage = exchange
        .usage
        .as_ref()
        .filter(|_| answered)
        .filter(believed);
    if let (Some(usage), Some(counted)) = (usage, counted) {
        session.learn_template(counted, usage.prompt_tokens);
    }
    if let Some(usage) = usage
        && !session.observe(planned.form, planned.layout, document, usage.prompt_tokens)
    {
        tracing::warn!(
            endpoint = session.endpoint.name,
            tokens.reported = usage.prompt_tokens,
            tokens.estimated = document.tokens as u64,
            "the endpoint reports an absurd prompt length"
        );
    }
    let Outcome::RejectedTooLong {
        limit: Some(limit), ..
    } = exchange.outcome
    else {
        return Ok(None);
    };
    if session.learn_limit(limit) {
        let fact = Fact::Limit {
            endpoint: session.id(),
            limit_tokens: limit,
        };
        executor.put(fact).await?;
    }
    Ok(Some(limit))
}

/// Learns from which build the answer came.
async fn learn_build(
    executor: &Executor,
    session: &Session,
    exchange: &Exchange,
) -> Result<(), ProbeError> {
    let model = exchange.model.as_deref().unwrap_or_default();
    let fingerprint = exchange.fingerprint.as_deref().unwrap_or_default();
    let now = executor.clock.now();
    let is_told = !model.is_empty() || !fingerprint.is_empty();
    if !is_told || !session.is_news_of_build(model, fingerprint, now) {
        return Ok(());
    }
    let fact = Fact::Build {
        endpoint: session.id(),
        model: model.to_owned(),
        fingerprint: fingerprint.to_owned(),
        seen_at: now,
    };
    let recorded = executor.put(fact).await?;
    if recorded.is_some_and(|recorded| recorded.is_change) {
        // What it says of itself is text of a response: it stands in the database, not in the log.
        tracing::info!(endpoint = session.endpoint.name, "the endpoint has changed");
    }
    Ok(())
}
