//! Bounds against an independent implementation: `tests/data/bounds/vectors.py`, which wrote `vectors.csv`.

use super::*;

/// How far off a bound may be, as a part of its distance to the nearer end of the range.
const TOLERANCE: f64 = 1e-12;

/// A row: the inputs, and the bounds in the order of the columns.
fn parse(row: &str) -> (Tally, Confidence, Vec<f64>) {
    let mut cells = row.split(',');
    let mut count = || cells.next().unwrap().parse().unwrap();
    let tally = Tally::new(count(), count()).unwrap();
    let mut numbers = cells.map(|cell| cell.parse().unwrap());
    let confidence = Confidence::new(numbers.next().unwrap()).unwrap();
    (tally, confidence, numbers.collect())
}

#[test]
fn an_independent_implementation_agrees_to_twelve_digits() {
    let table = include_str!("../../tests/data/bounds/vectors.csv");
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert!(rows.len() >= 60, "{}", rows.len());
    for row in rows {
        let (tally, confidence, expected) = parse(row);
        let exact = clopper_pearson(tally, confidence);
        let sequence = anytime(tally, confidence);
        let bounds = [
            exact.lower,
            exact.upper,
            upper_bound(tally, confidence),
            sequence.lower,
            sequence.upper,
            anytime_upper(tally, confidence),
        ];
        assert_eq!(bounds.len(), expected.len(), "{row}");
        for (bound, expected) in bounds.into_iter().zip(expected) {
            let distance = (bound.get() - expected).abs();
            let allowed = TOLERANCE * expected.min(1.0 - expected) + 2.0 * f64::EPSILON * expected;
            assert!(distance <= allowed, "{row}: {bound} instead of {expected}");
        }
    }
}
