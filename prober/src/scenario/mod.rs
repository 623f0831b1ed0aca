//! Scenarios: pure functions from a seed to a schedule, one recipe a file.
//!
//! A schedule leaves no choices: it says who sends what, of which length, when, and when a client goes
//! away. Printed, it is the golden file of its recipe's test.

mod boundary;
mod burst;
mod calibrate;
mod cancel;
mod crosstalk;
mod identity;
mod limits;
mod overflow;
mod planned;
mod prefix;
mod pressure;
mod recipe;
mod returning;
mod sandwich;
mod twin;

use canary_gen::seed::Choices;
use canary_gen::{Form, Layout, Seed};
pub use limits::{Fate, LimitSearch};
pub use planned::{Cancel, PlannedHead, PlannedProbe, Role, Schedule, measured_as};
pub use recipe::{Load, Order, Recipe};

/// Turns an order into its schedule; that of a search is empty, as it is chosen step by step.
#[must_use]
pub fn schedule(order: &Order) -> Schedule {
    let steps = match &order.recipe {
        Recipe::Overflow {
            ladder,
            donor_fraction,
        } => overflow::steps(order, ladder, *donor_fraction),
        Recipe::Crosstalk(load) => crosstalk::steps(order, load),
        Recipe::Cancel { load, within_ms } => cancel::steps(order, load, *within_ms),
        Recipe::Pressure(load) => pressure::steps(order, load),
        Recipe::Return(load) => returning::steps(order, load),
        Recipe::Sandwich(load) => sandwich::steps(order, load),
        Recipe::Boundary {
            chunk_tokens,
            tokens,
            waves,
        } => boundary::steps(order, *chunk_tokens, *tokens, *waves),
        Recipe::Burst(load) => burst::steps(order, load),
        Recipe::Prefix { tokens, samples } => prefix::steps(order, *tokens, *samples),
        Recipe::Twin(load) => twin::steps(order, load),
        Recipe::Identity { load, .. } => identity::steps(order, load),
        Recipe::Limits { .. } => Vec::new(),
    };
    Schedule { steps }
}

/// Every tenant with the seed of each of its documents, in an order left to chance.
fn everybody(order: &Order, load: &Load, seed: &Seed) -> Vec<(usize, Seed)> {
    let mut choices = seed.child("order").choices();
    let mut tenants: Vec<usize> = (0..order.tenants).collect();
    choices.shuffle(&mut tenants);
    let requests = (0..u64::from(load.requests)).flat_map(|request| {
        let number = move |tenant: usize| tenant as u64 + request * order.tenants as u64;
        tenants
            .iter()
            .map(move |&tenant| (tenant, seed.child_number("document", number(tenant))))
    });
    requests.collect()
}

/// Any tenant but this one.
fn somebody_else(tenant: usize, order: &Order, choices: &mut Choices) -> usize {
    let others = order.tenants.saturating_sub(1) as u64;
    (tenant + 1 + choices.below(others) as usize) % order.tenants
}

/// A length around this one: from three quarters of it to five quarters.
fn about(tokens: u64, choices: &mut Choices) -> u64 {
    (tokens as f64 * (0.75 + 0.5 * choices.fraction())) as u64
}

/// A time of so many milliseconds at most, small ones as often as large ones: how long anything takes at an
/// endpoint is not known beforehand.
fn within(choices: &mut Choices, most_ms: u32) -> u32 {
    f64::from(most_ms.max(1)).powf(choices.fraction()) as u32
}

/// The longest prompt that leaves room for the answer, with a percent for the error of an estimate.
fn most_tokens(order: &Order) -> u64 {
    let most = order.context_tokens - order.context_tokens / 100;
    most.saturating_sub(u64::from(order.max_answer_tokens))
        .max(1)
}

/// What must be learnt of a form and layout before lengths can be steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// What the endpoint's chat template adds.
    Template,
    /// What everything costs.
    Measure,
}

/// The small documents that teach an endpoint's token measure, to be sent before `main`: for each form
/// and layout in it what `need` says.
#[must_use]
pub fn calibration(
    order: &Order,
    main: &Schedule,
    need: impl Fn(Form, Layout) -> Need,
) -> Schedule {
    Schedule {
        steps: calibrate::steps(order, main, need),
    }
}

#[cfg(test)]
mod tests;
