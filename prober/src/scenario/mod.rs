//! Scenarios: pure functions from a seed to a schedule, one recipe a file.
//!
//! A schedule leaves no choices: it says who sends what, of which length, in which order. Printed,
//! it is the golden file of its recipe's test.

mod calibrate;
mod crosstalk;
mod limits;
mod overflow;

use canary_gen::{Form, Layout, Seed};
pub use limits::{Fate, LimitSearch};
use std::fmt;

/// What a scenario may look at beside its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// What to do.
    pub recipe: Recipe,
    /// Of all choices.
    pub seed: Seed,
    /// How many tenants the endpoint has, at least 2.
    pub tenants: usize,
    /// The advertised context window, in tokens.
    pub context_tokens: u64,
    /// The limit the endpoint named when it refused a prompt, if it ever did, in tokens.
    pub measured_limit: Option<u64>,
    /// How canaries are written.
    pub form: Form,
    /// Room for an answer, in tokens.
    pub max_answer_tokens: u32,
}

/// What is tried.
#[derive(Clone, Debug, PartialEq)]
pub enum Recipe {
    /// Documents under, at and over the limit, each after a donor that fills the cache.
    Overflow {
        /// Lengths of the victims as fractions of the advertised window.
        ladder: Vec<f64>,
        /// Length of the donors, likewise.
        donor_fraction: f64,
    },
    /// All tenants send long, different documents at once.
    Crosstalk {
        /// Length of each document, in tokens.
        tokens: u64,
        /// How often every tenant sends.
        waves: u32,
        /// A canary every so many tokens.
        stride_tokens: u32,
    },
    /// Which length of prompt is really accepted; chosen step by step ([`LimitSearch`]).
    Limits {
        /// How many tokens may be sent.
        budget_tokens: u64,
    },
}

impl Recipe {
    /// The name in configuration, tables and output.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Overflow { .. } => "overflow",
            Self::Crosstalk { .. } => "crosstalk",
            Self::Limits { .. } => "limits",
        }
    }
}

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Measures the endpoint's tokens; proves nothing.
    Calibration,
    /// Fills the cache with its canaries.
    Donor,
    /// Within the advertised window, after a donor.
    Victim,
    /// Over the advertised window, after a donor.
    Overlong,
    /// One of several at once.
    Peer,
}

impl Role {
    /// The name in tables and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calibration => "calibration",
            Self::Donor => "donor",
            Self::Victim => "victim",
            Self::Overlong => "overlong",
            Self::Peer => "peer",
        }
    }

    /// Whether a round that learnt nothing from its probes of this role has failed its purpose.
    #[must_use]
    pub fn is_the_point(self) -> bool {
        matches!(self, Self::Victim | Self::Overlong | Self::Peer)
    }
}

/// One request to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedProbe {
    /// Who sends: an index into the endpoint's tenants.
    pub tenant: usize,
    /// What for.
    pub role: Role,
    /// Length of the prompt, in tokens.
    pub tokens: u64,
    /// How canaries stand in it.
    pub layout: Layout,
    /// How they are written.
    pub form: Form,
    /// Of its document.
    pub seed: Seed,
    /// Room for the answer, in tokens.
    pub max_answer_tokens: u32,
}

/// Steps one after the other; the probes of a step are sent at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The steps, in order.
    pub steps: Vec<Vec<PlannedProbe>>,
}

impl Schedule {
    /// The forms and layouts in it; of sparse ones, whatever their stride, one each.
    #[must_use]
    pub fn kinds(&self) -> Vec<(Form, Layout)> {
        let mut kinds: Vec<(Form, Layout)> = Vec::new();
        for probe in self.steps.iter().flatten() {
            let known = |(form, layout): &(Form, Layout)| {
                *form == probe.form && layout.as_str() == probe.layout.as_str()
            };
            if !kinds.iter().any(known) {
                kinds.push((probe.form, probe.layout));
            }
        }
        kinds
    }
}

/// Turns an order into its schedule; that of a search is empty, as it is chosen step by step.
#[must_use]
pub fn schedule(order: &Order) -> Schedule {
    let steps = match &order.recipe {
        Recipe::Overflow {
            ladder,
            donor_fraction,
        } => overflow::steps(order, ladder, *donor_fraction),
        Recipe::Crosstalk {
            tokens,
            waves,
            stride_tokens,
        } => crosstalk::steps(order, *tokens, *waves, *stride_tokens),
        Recipe::Limits { .. } => Vec::new(),
    };
    Schedule { steps }
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

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            for probe in step {
                let layout = match probe.layout {
                    Layout::Sparse { stride_tokens } => {
                        format!("a canary every {stride_tokens} tokens")
                    }
                    Layout::Dense => "a canary in every page".to_owned(),
                };
                writeln!(
                    f,
                    "step {number}: tenant {} as {} sends {} tokens, {layout} ({})",
                    probe.tenant,
                    probe.role.as_str(),
                    probe.tokens,
                    probe.form
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
