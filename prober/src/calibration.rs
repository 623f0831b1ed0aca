//! Calibration: what a unit of filler and a canary cost in an endpoint's tokens, learnt from the
//! `usage.prompt_tokens` of its own answers.
//!
//! `tokens = overhead + units × per_unit + canaries × per_canary` is fitted by least squares over
//! everything seen. Errors count relative to a document's length, so that a long one does not drown
//! the short ones and the overhead stays right. A weak prior (see [`TokenMeasure::assumed`]) keeps
//! the fit sane while there are few observations.

use canary_gen::document::Summary;
use canary_gen::{Form, TokenMeasure};

/// How far off the prior may be, one standard deviation: overhead, per unit, per canary.
const PRIOR_DEVIATION: [f64; 3] = [100.0, 1.0, 30.0];
/// How far one document may deviate from the linear model: so many tokens, and so much of its length.
const NOISE_TOKENS: f64 = 2.0;
const NOISE_SHARE: f64 = 0.002;
/// A reported length further off than this factor is an anomaly of the endpoint, not a measurement.
const PLAUSIBLE_FACTOR: f64 = 4.0;

/// The running fit for one endpoint and form.
#[derive(Clone, Debug)]
pub struct Calibration {
    assumed: TokenMeasure,
    /// Normal equations of the deviation from the prior.
    matrix: [[f64; 3]; 3],
    vector: [f64; 3],
    observations: u32,
}

impl Calibration {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(form: Form) -> Self {
        let mut matrix = [[0.0; 3]; 3];
        for (index, deviation) in PRIOR_DEVIATION.iter().enumerate() {
            matrix[index][index] = 1.0 / (deviation * deviation);
        }
        Self {
            assumed: TokenMeasure::assumed(form),
            matrix,
            vector: [0.0; 3],
            observations: 0,
        }
    }

    /// How many documents the fit rests on.
    #[must_use]
    pub fn observations(&self) -> u32 {
        self.observations
    }

    /// Takes the reported prompt length of a document. Implausible reports (a known defect reports
    /// 1 token for 284,937) are left out; returns whether this one was taken.
    pub fn observe(&mut self, document: &Summary, prompt_tokens: u64) -> bool {
        let row = [1.0, document.units as f64, document.canaries as f64];
        let reported = prompt_tokens as f64;
        let expected = self.assumed.tokens(document.units, document.canaries);
        if reported * PLAUSIBLE_FACTOR < expected
            || reported > expected * PLAUSIBLE_FACTOR + 1_000.0
        {
            return false;
        }
        let noise = NOISE_TOKENS + NOISE_SHARE * reported;
        let weight = 1.0 / (noise * noise);
        for (index, left) in row.iter().enumerate() {
            for (other, right) in row.iter().enumerate() {
                self.matrix[index][other] += weight * left * right;
            }
            self.vector[index] += weight * left * (reported - expected);
        }
        self.observations += 1;
        true
    }

    /// The measure to weave the next document with.
    #[must_use]
    pub fn measure(&self) -> TokenMeasure {
        let [overhead, per_unit, per_canary] = solve(self.matrix, self.vector);
        TokenMeasure {
            overhead: (self.assumed.overhead + overhead).max(0.0),
            per_unit: (self.assumed.per_unit + per_unit).max(0.05),
            per_canary: (self.assumed.per_canary + per_canary).max(1.0),
        }
    }
}

/// Solves a symmetric positive definite system (the prior keeps it so) by Cholesky's method.
fn solve(matrix: [[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
    let mut lower = [[0.0; 3]; 3];
    for row in 0..3 {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| lower[row][k] * lower[column][k]).sum();
            let rest = matrix[row][column] - known;
            lower[row][column] = if row == column {
                rest.sqrt()
            } else {
                rest / lower[column][column]
            };
        }
    }
    let mut forward = [0.0; 3];
    for row in 0..3 {
        let known: f64 = (0..row).map(|k| lower[row][k] * forward[k]).sum();
        forward[row] = (vector[row] - known) / lower[row][row];
    }
    let mut solution = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|k| lower[k][row] * solution[k]).sum();
        solution[row] = (forward[row] - known) / lower[row][row];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(units: u64, canaries: u64) -> Summary {
        Summary {
            units,
            canaries,
            ..Summary::default()
        }
    }

    #[test]
    fn three_small_documents_tell_the_cost_of_a_million_tokens_within_one_percent() {
        let truth = TokenMeasure {
            overhead: 41.0,
            per_unit: 1.31,
            per_canary: 22.4,
        };
        let mut calibration = Calibration::new(Form::Code);
        for (units, canaries) in [(180, 1), (3_500, 4), (900, 80)] {
            let reported = truth.tokens(units, canaries).round() as u64;
            assert!(calibration.observe(&document(units, canaries), reported));
        }
        for (units, canaries) in [(250, 2), (12_000, 40), (700_000, 1_000), (200_000, 32_768)] {
            let estimate = calibration.measure().tokens(units, canaries);
            let error = estimate / truth.tokens(units, canaries) - 1.0;
            assert!(
                error.abs() < 0.01,
                "{units} units, {canaries} canaries: {error}"
            );
        }
    }

    #[test]
    fn an_absurd_report_is_left_out() {
        let mut calibration = Calibration::new(Form::Code);
        assert!(!calibration.observe(&document(250_000, 1_000), 1));
        assert!(!calibration.observe(&document(100, 1), u64::MAX));
        assert_eq!(calibration.observations(), 0);
        assert_eq!(calibration.measure(), TokenMeasure::assumed(Form::Code));
    }
}
