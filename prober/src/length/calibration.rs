//! Calibration: what a unit of filler, a digit and a canary cost in an endpoint's tokens, learnt from
//! the `usage.prompt_tokens` of its own answers.
//!
//! `tokens = overhead + units × per_unit + digits × per_digit + canaries × per_canary` is fitted by least
//! squares over everything seen, each document weighing as much as its own scatter lets it: canaries are
//! random letters, so their number of tokens varies; filler is of words that are one token each. A weak
//! prior (see [`TokenMeasure::assumed`]) keeps the fit sane while there are few observations.

use canary_gen::document::{Contents, Summary};
use canary_gen::{Form, TokenMeasure};

const PARAMETERS: usize = 4;
/// How far off the prior may be, one standard deviation: overhead, per unit, per digit, per canary.
const PRIOR_DEVIATION: [f64; PARAMETERS] = [100.0, 1.0, 0.4, 30.0];
/// Scatter of one canary's length, in tokens (1.6 for `code` in each of eight tokenizers measured).
const CANARY_DEVIATION: f64 = 2.0;
/// Scatter of everything else: so many tokens, and so much of the length (paragraph breaks are not
/// equally dense everywhere).
const NOISE_TOKENS: f64 = 0.5;
const NOISE_SHARE: f64 = 0.0005;
/// A reported length further off than this factor is an anomaly of the endpoint, not a measurement.
const PLAUSIBLE_FACTOR: f64 = 4.0;

type Vector = [f64; PARAMETERS];
type Matrix = [Vector; PARAMETERS];

/// The running fit for one endpoint and form.
#[derive(Clone, Debug)]
pub struct Calibration {
    assumed: TokenMeasure,
    /// Normal equations of the deviation from the prior.
    matrix: Matrix,
    vector: Vector,
    observations: u32,
}

impl Calibration {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(form: Form) -> Self {
        let mut matrix = [[0.0; PARAMETERS]; PARAMETERS];
        for (index, deviation) in PRIOR_DEVIATION.iter().enumerate() {
            matrix[index][index] = 1.0 / (deviation * deviation);
        }
        Self {
            assumed: TokenMeasure::assumed(form),
            matrix,
            vector: [0.0; PARAMETERS],
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
        let contents = &document.contents;
        let row = row(contents);
        let reported = prompt_tokens as f64;
        let expected = self.assumed.tokens(contents);
        if reported * PLAUSIBLE_FACTOR < expected
            || reported > expected * PLAUSIBLE_FACTOR + 1_000.0
        {
            return false;
        }
        let weight = 1.0 / scatter(contents, reported);
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
        let [overhead, per_unit, per_digit, per_canary] = solve(self.matrix, self.vector);
        TokenMeasure {
            overhead: (self.assumed.overhead + overhead).max(0.0),
            per_unit: (self.assumed.per_unit + per_unit).max(0.05),
            per_digit: (self.assumed.per_digit + per_digit).max(0.05),
            per_canary: (self.assumed.per_canary + per_canary).max(1.0),
        }
    }
}

fn row(contents: &Contents) -> Vector {
    let Contents {
        units,
        digits,
        canaries,
    } = *contents;
    [1.0, units as f64, digits as f64, canaries as f64]
}

/// The variance of a document's length around the best measure.
fn scatter(contents: &Contents, tokens: f64) -> f64 {
    let canaries = contents.canaries as f64 * CANARY_DEVIATION.powi(2);
    NOISE_TOKENS.powi(2) + (NOISE_SHARE * tokens).powi(2) + canaries
}

/// Solves a symmetric positive definite system (the prior keeps it so) by Cholesky's method.
fn solve(matrix: Matrix, vector: Vector) -> Vector {
    let mut lower = [[0.0; PARAMETERS]; PARAMETERS];
    for row in 0..PARAMETERS {
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
    let mut forward = [0.0; PARAMETERS];
    for row in 0..PARAMETERS {
        let known: f64 = (0..row).map(|k| lower[row][k] * forward[k]).sum();
        forward[row] = (vector[row] - known) / lower[row][row];
    }
    let mut solution = [0.0; PARAMETERS];
    for row in (0..PARAMETERS).rev() {
        let known: f64 = (row + 1..PARAMETERS)
            .map(|k| lower[k][row] * solution[k])
            .sum();
        solution[row] = (forward[row] - known) / lower[row][row];
    }
    solution
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use canary_gen::{
        Document, DocumentSpec, KeyRing, Layout, ProbeNumber, Question, Seed, TenantNumber,
    };

    fn document(tokens: u64, stride_tokens: u32, measure: TokenMeasure) -> Summary {
        let spec = DocumentSpec {
            seed: Seed::from_number(tokens),
            tenant: TenantNumber::new(1).unwrap(),
            probe: ProbeNumber::new(1).unwrap(),
            form: Form::Code,
            layout: Layout::Sparse { stride_tokens },
            tokens,
            head: None,
            question: Question::One,
            closing: 0,
            measure,
        };
        Document::new(spec, KeyRing::from_root(&[1; 32])).measure()
    }

    #[test]
    fn three_small_documents_tell_the_cost_of_a_million_tokens_within_a_thousandth() {
        let truth = TokenMeasure {
            overhead: 41.0,
            per_unit: 1.31,
            // Digits in groups of three.
            per_digit: 0.45,
            per_canary: 22.4,
        };
        let mut calibration = Calibration::new(Form::Code);
        for (tokens, stride) in [(48, 1_024), (4_000, 4_000), (16_000, 64)] {
            let document = document(tokens, stride, calibration.measure());
            let reported = truth.tokens(&document.contents).round() as u64;
            assert!(calibration.observe(&document, reported));
        }
        for tokens in [30_000, 100_000, 1_000_000] {
            let document = document(tokens, 1_024, calibration.measure());
            let error = truth.tokens(&document.contents) / tokens as f64 - 1.0;
            assert!(error.abs() < 0.001, "{tokens}: {error}");
        }
    }

    #[test]
    fn an_absurd_report_is_left_out() {
        let mut calibration = Calibration::new(Form::Code);
        let measure = calibration.measure();
        assert!(!calibration.observe(&document(250_000, 1_024, measure), 1));
        assert!(!calibration.observe(&document(100, 1_024, measure), u64::MAX));
        assert_eq!(calibration.observations(), 0);
        assert_eq!(calibration.measure(), TokenMeasure::assumed(Form::Code));
    }
}
