//! Bounds: what counts prove about rates.
//!
//! | question | answer |
//! |---|---|
//! | k leaks in n probes, n fixed beforehand: how often does it leak? | [`clopper_pearson`], [`upper_bound`], [`lower_bound`] |
//! | the same, looked at after every probe, stopped whenever one likes | [`anytime()`], [`anytime_upper`] |
//! | how much of what leaks do we see? | [`Sensitivity`], [`ByDepth`] |
//! | what does a rate of seen leaks say of all leaks? | [`corrected`] |
//! | does it happen more often here than there? | [`more_often`] |
//! | are these faster than those? | [`faster`] |
//! | how many probes prove something? | [`probes_needed`], [`detection_chance`], [`provable_rate`] |
//!
//! Everything here is a pure function of counts. Inputs are checked once, where they enter
//! ([`Probability`], [`Confidence`], [`Tally`]), so no function here fails or panics.
//!
//! A bound of fixed n is valid for one look at a number of probes chosen without looking. A prober that
//! runs for days and alerts whenever the bound allows it looks all the time: that takes the anytime ones.
//!
//! All of it takes probes to be independent with one common rate. Where the rate drifts, the bounds are
//! about none of its values in particular; where probes of a round leak together, count rounds.

mod anytime;
mod beta;
mod exact;
mod fisher;
mod power;
mod probability;
mod rank;
mod rate;
mod sensitivity;
mod tally;

pub use anytime::{anytime, anytime_upper};
pub use exact::{clopper_pearson, lower_bound, upper_bound};
pub use fisher::more_often;
pub use power::{detection_chance, probes_needed, provable_rate};
pub use probability::{Confidence, Interval, OutOfRange, Probability};
pub use rank::{MOST_RANKED, faster};
pub use sensitivity::{ByDepth, Sensitivity, corrected};
pub use tally::Tally;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod properties;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod vectors;
