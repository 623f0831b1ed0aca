//! Power: what so many probes could have shown.

use super::{Confidence, Probability, Tally, corrected, upper_bound};

/// Roundings in a quotient of logarithms, relative: a whole number of probes that is missed by this much
/// is not rounded up to one more.
const ROUNDINGS: f64 = 4.0 * f64::EPSILON;

/// The least number of probes that detect at least one leak with the confidence, if each leaks at `rate`
/// and a leak is detected with probability `sensitivity`. `None` when no number does, or none that 64 bits
/// can count.
#[must_use]
pub fn probes_needed(
    rate: Probability,
    confidence: Confidence,
    sensitivity: Probability,
) -> Option<u64> {
    let detected = rate.get() * sensitivity.get();
    if detected <= 0.0 {
        return None;
    }
    let probes = confidence.ln_error() / (-detected).ln_1p();
    let probes = (probes * (1.0 - ROUNDINGS)).ceil().max(1.0);
    (probes < u64::MAX as f64).then_some(probes as u64)
}

/// The chance that so many probes detect at least one leak.
#[must_use]
pub fn detection_chance(probes: u64, rate: Probability, sensitivity: Probability) -> Probability {
    if probes == 0 {
        return Probability::ZERO;
    }
    let detected = rate.get() * sensitivity.get();
    Probability::saturating(-(probes as f64 * (-detected).ln_1p()).exp_m1())
}

/// The rate of leaks that so many probes rule out when none of them detects one. 1, so nothing, without
/// probes or without sensitivity.
#[must_use]
pub fn provable_rate(probes: u64, confidence: Confidence, sensitivity: Probability) -> Probability {
    corrected(upper_bound(Tally::clean(probes), confidence), sensitivity)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    fn needed(rate: f64, confidence: f64, sensitivity: f64) -> Option<u64> {
        let confidence = Confidence::new(confidence).unwrap();
        probes_needed(probability(rate), confidence, probability(sensitivity))
    }

    #[test]
    fn one_leak_in_a_thousand_takes_three_thousand_probes() {
        assert_eq!(needed(0.001, 0.95, 1.0), Some(2_995));
        assert_eq!(needed(0.001, 0.95, 0.5), Some(5_990));
    }

    #[test]
    fn one_leak_in_a_trillion_takes_three_trillion_probes() {
        assert_eq!(needed(1e-12, 0.95, 1.0), Some(2_995_732_273_553));
    }

    #[test]
    fn whole_numbers_of_probes_are_not_rounded_up() {
        assert_eq!(needed(0.5, 0.75, 1.0), Some(2));
        assert_eq!(needed(0.9, 0.9, 1.0), Some(1));
        assert_eq!(needed(0.9, 0.999, 1.0), Some(3));
        assert_eq!(needed(0.1, 0.19, 1.0), Some(2));
    }

    #[test]
    fn one_probe_detects_what_always_leaks_and_always_shows() {
        assert_eq!(needed(1.0, 0.999_999, 1.0), Some(1));
        assert_eq!(needed(0.5, 1e-9, 1.0), Some(1));
    }

    #[test]
    fn no_number_of_probes_detects_what_never_leaks_or_never_shows() {
        assert_eq!(needed(0.0, 0.95, 1.0), None);
        assert_eq!(needed(0.5, 0.95, 0.0), None);
        assert_eq!(needed(1e-300, 0.95, 1e-300), None);
        assert_eq!(needed(1e-300, 0.95, 1.0), None);
    }

    #[test]
    fn no_probe_detects_nothing_and_proves_nothing() {
        assert_eq!(
            detection_chance(0, Probability::ONE, Probability::ONE),
            Probability::ZERO
        );
        let confidence = Confidence::new(0.95).unwrap();
        assert_eq!(
            provable_rate(0, confidence, Probability::ONE),
            Probability::ONE
        );
        assert_eq!(
            provable_rate(1_000, confidence, Probability::ZERO),
            Probability::ONE
        );
    }

    #[test]
    fn a_certain_leak_is_detected_for_certain() {
        assert_eq!(
            detection_chance(1, Probability::ONE, Probability::ONE),
            Probability::ONE
        );
    }

    #[test]
    fn a_small_chance_is_not_lost_to_rounding() {
        let chance = detection_chance(10, probability(1e-18), Probability::ONE).get();
        assert!((chance / 1e-17 - 1.0).abs() < 1e-12, "{chance}");
    }

    proptest! {
        #[test]
        fn the_number_needed_suffices_and_one_less_does_not(
            ln_rate in -27.0_f64..-0.01, confidence in 0.01_f64..0.999_999, sensitivity in 0.01_f64..=1.0,
        ) {
            let (rate, sensitivity) = (probability(ln_rate.exp()), probability(sensitivity));
            let probes = probes_needed(rate, Confidence::new(confidence).unwrap(), sensitivity).unwrap();
            prop_assert!(detection_chance(probes, rate, sensitivity).get() >= confidence - 1e-14);
            if probes > 1 {
                let short = detection_chance(probes - 1, rate, sensitivity).get();
                prop_assert!(short <= confidence + 1e-14);
            }
        }

        #[test]
        fn the_provable_rate_is_the_one_that_many_probes_would_have_shown(
            probes in 1_u64..1_000_000_000, confidence in 0.01_f64..0.999_999, sensitivity in 0.01_f64..=1.0,
        ) {
            let sensitivity = probability(sensitivity);
            let rate = provable_rate(probes, Confidence::new(confidence).unwrap(), sensitivity);
            prop_assume!(rate < Probability::ONE);
            let chance = detection_chance(probes, rate, sensitivity).get();
            prop_assert!((chance - confidence).abs() < 1e-12);
        }
    }
}
