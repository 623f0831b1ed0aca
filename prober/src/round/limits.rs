//! The search for an endpoint's real limit: a round whose next probe depends on the last one.

use super::keep::Kept;
use super::running::{CutShort, OVER_BUDGET, Running};
use super::{Event, Executor, FindingReport, RoundError, RoundOrder, Session};
use crate::endpoint::Outcome;
use crate::judge::{Doubt, ProbeResult, Verdict};
use crate::scenario::{self, Fate, LimitSearch, PlannedProbe, Recipe, Role, Schedule};
use canary_gen::Seed;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A canary every so many tokens.
const STRIDE_TOKENS: u32 = 1_024;

/// What a search found: the object that `prober limits --format json` prints (docs/limits.md).
#[derive(Clone, Debug, Serialize)]
pub struct LimitReport {
    /// Name of the endpoint.
    pub endpoint: String,
    /// `as_advertised`, `smaller`, `larger`, `truncates` or `unknown`.
    pub conclusion: &'static str,
    /// Why it is unknown, or not exact.
    pub reason: Option<String>,
    /// The advertised window, in tokens.
    pub context_tokens: u64,
    /// The longest prompt that was answered, in tokens.
    pub accepted_tokens: Option<u64>,
    /// The shortest prompt that was refused, in tokens.
    pub rejected_tokens: Option<u64>,
    /// The limit that a refusal named, in tokens.
    pub named_limit_tokens: Option<u64>,
    /// Room for the answer in each request, in tokens.
    pub answer_tokens: u32,
    /// Requests sent, those of calibration included.
    pub requests: u32,
    /// Tokens sent, as far as they were measured or estimated.
    pub tokens_spent: u64,
    /// Id of the round in the store.
    pub round: i64,
    /// Reproduces the documents.
    pub seed: u64,
    /// In milliseconds.
    pub duration_ms: u64,
    /// Leaks and limit violations on the way.
    pub findings: Vec<FindingReport>,
}

impl Executor {
    /// Searches for the length of prompt that an endpoint really accepts. `order` must be of the recipe
    /// [`Recipe::Limits`].
    ///
    /// # Errors
    /// When the database keeps failing.
    pub async fn find_limit(
        &self,
        session: &Session,
        order: &RoundOrder<'_>,
    ) -> Result<LimitReport, RoundError> {
        let begun = Instant::now();
        let seed = Seed::from_number(order.seed);
        let plan = session.order(order.scenario, seed);
        let budget = match plan.recipe {
            Recipe::Limits { budget_tokens } => budget_tokens,
            _ => 0,
        };
        let probe = |index: usize, tokens: u64| {
            let role = if tokens > plan.context_tokens {
                Role::Overlong
            } else {
                Role::Victim
            };
            let seed = seed.child_number("length", index as u64);
            PlannedProbe::new(&plan, index % plan.tenants, role, tokens, seed).sparse(STRIDE_TOKENS)
        };
        let main = Schedule {
            steps: vec![vec![probe(0, plan.context_tokens)]],
        };
        let id = self
            .begin(session, order, &plan)
            .await
            .map_err(super::without_report)?;
        let settled = session.settle_lengths(&main, id).await;
        let need = |form, layout| session.need(form, layout);
        let mut steps = scenario::calibration(&plan, &main, need).steps;
        let calibrating = steps.len();
        let mut running = Running {
            executor: self,
            session,
            scenario: order.scenario,
            name: Arc::from(order.scenario.name.as_str()),
            recipe: plan.recipe.clone(),
            id,
            report: session.empty_report(id, order),
            results: Vec::new(),
            documents: Vec::new(),
            kept: Kept::default(),
            head_unit: None,
        };
        let spent = steps.iter().flatten().map(|probe| probe.tokens).sum();
        let mut search =
            LimitSearch::new(plan.context_tokens, plan.max_answer_tokens, budget, spent);
        let mut ended = match settled {
            Ok(()) => running.more(&steps, calibrating, calibrating).await,
            Err(error) => Err(CutShort::uncounted(&error)),
        };
        let mut stopped_by = None;
        while let (Ok(()), Some(tokens)) = (&ended, search.next()) {
            (self.observer)(&Event::Started {
                endpoint: &session.endpoint.name,
                scenario: "limits",
                probes: 1,
            });
            steps.push(vec![probe(steps.len(), tokens)]);
            ended = running.more(&steps, 1, 0).await;
            let Some(result) = running.results.last().filter(|_| ended.is_ok()) else {
                break;
            };
            match fate(result) {
                Ok(fate) => search.learn(tokens, fate),
                Err(code) => {
                    search.spent += tokens;
                    stopped_by = Some(code);
                    break;
                }
            }
        }
        let is_spent = matches!(ended, Err(CutShort::OverBudget));
        let requests = running.results.len() as u32;
        let report = running.end(ended, begun).await?;
        let mut found = LimitReport {
            endpoint: report.endpoint,
            conclusion: conclusion(&search, stopped_by, plan.context_tokens),
            reason: None,
            context_tokens: plan.context_tokens,
            accepted_tokens: search.accepted,
            rejected_tokens: search.rejected,
            named_limit_tokens: search.named,
            answer_tokens: plan.max_answer_tokens,
            requests,
            tokens_spent: search.spent,
            round: report.round,
            seed: report.seed,
            duration_ms: report.duration_ms,
            findings: report.findings,
        };
        found.reason = match stopped_by {
            Some(code) => Some(format!("a request of the search was not decided: {code}")),
            None if is_spent => Some(OVER_BUDGET.to_owned()),
            None if search.is_out_of_budget() => Some("the budget was spent".to_owned()),
            None if search.accepted.is_none() => report.reason,
            None => None,
        };
        Ok(found)
    }
}

impl Running<'_> {
    /// Numbers all steps so far and carries out the last `count` of them.
    async fn more(
        &mut self,
        steps: &[Vec<PlannedProbe>],
        count: usize,
        calibrating: usize,
    ) -> Result<(), CutShort> {
        let numbers = self.executor.number(self.session, self.id, steps).await;
        let numbers = numbers.map_err(CutShort::Store)?;
        let first = steps.len() - count;
        let before: usize = steps[..first].iter().map(Vec::len).sum();
        self.steps(&steps[first..], &numbers[before..], calibrating)
            .await
    }
}

/// What became of a prompt, or the code of an outcome that decides nothing.
fn fate(result: &ProbeResult) -> Result<Fate, &'static str> {
    match (&result.outcome, &result.verdict) {
        (_, Verdict::Inconclusive(Doubt::Truncated)) => Err("truncated"),
        (Outcome::Answered, _) => Ok(Fate::Accepted),
        (Outcome::RejectedTooLong { limit, .. }, _) => Ok(Fate::Rejected(*limit)),
        (other, _) => Err(other.as_str()),
    }
}

fn conclusion(search: &LimitSearch, stopped_by: Option<&str>, advertised: u64) -> &'static str {
    let slack = search.tolerance();
    match (search.accepted, search.rejected) {
        _ if stopped_by == Some("truncated") => "truncates",
        (Some(accepted), _) if accepted > advertised + slack => "larger",
        (Some(accepted), Some(rejected)) if rejected - accepted.min(rejected) <= 2 * slack => {
            if rejected + slack < advertised {
                "smaller"
            } else {
                "as_advertised"
            }
        }
        (_, Some(rejected)) if rejected + slack < advertised => "smaller",
        _ => "unknown",
    }
}

impl fmt::Display for LimitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |tokens: Option<u64>| tokens.map_or("nothing".to_owned(), super::grouped);
        writeln!(
            f,
            "{}: {} (advertised {} tokens)",
            self.endpoint,
            match self.conclusion {
                "as_advertised" => "the limit is as advertised",
                "smaller" => "the real limit is SMALLER than advertised",
                "larger" => "prompts LONGER than advertised are accepted",
                "truncates" => "prompts are CUT without a word",
                _ => "the limit could not be found",
            },
            super::grouped(self.context_tokens)
        )?;
        write!(
            f,
            "  accepted up to {}, refused from {} tokens, with room for {} of answer",
            tokens(self.accepted_tokens),
            tokens(self.rejected_tokens),
            self.answer_tokens
        )?;
        if let Some(named) = self.named_limit_tokens {
            write!(f, "; the refusal names {}", super::grouped(named))?;
        }
        if let Some(reason) = &self.reason {
            write!(f, "\n  {reason}")?;
        }
        if !self.findings.is_empty() {
            write!(
                f,
                "\n  {} findings on the way (in the store)",
                self.findings.len()
            )?;
        }
        write!(
            f,
            "\n  {} requests, {} tokens, round {}, seed {}",
            self.requests,
            super::grouped(self.tokens_spent),
            self.round,
            self.seed
        )
    }
}
