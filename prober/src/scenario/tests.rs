use super::*;
use proptest::prelude::*;

fn order(recipe: Recipe, tenants: usize, seed: u64) -> Order {
    Order {
        recipe,
        seed: Seed::from_number(seed),
        tenants,
        context_tokens: 1_048_576,
        measured_limit: None,
        form: Form::Code,
        max_answer_tokens: 96,
    }
}

fn overflow() -> Recipe {
    Recipe::Overflow {
        ladder: vec![0.5, 0.75, 0.9, 0.99, 1.02, 1.25],
        donor_fraction: 0.6,
    }
}

fn crosstalk() -> Recipe {
    Recipe::Crosstalk {
        tokens: 1_500,
        waves: 3,
        stride_tokens: 400,
    }
}

/// Compares with a file in tests/data/schedules; UPDATE_EXPECTED=1 writes it anew.
fn assert_golden(name: &str, text: &str) {
    let path = format!("{}/tests/data/schedules/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, text).expect("write the golden file");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text, golden,
        "differs from {path} (UPDATE_EXPECTED=1 rewrites it)"
    );
}

#[test]
fn the_schedules_of_a_seed_are_those_of_the_golden_files() {
    assert_golden(
        "overflow.txt",
        &schedule(&order(overflow(), 3, 1)).to_string(),
    );
    assert_golden(
        "crosstalk.txt",
        &schedule(&order(crosstalk(), 3, 1)).to_string(),
    );
    let order = order(overflow(), 3, 1);
    let calibration = calibration(&order, &schedule(&order), |_, _| Need::Measure);
    assert_golden("calibration.txt", &calibration.to_string());
}

proptest! {
    #[test]
    fn in_overflow_a_donor_of_another_tenant_comes_right_before_every_victim(tenants in 2usize..6, seed: u64) {
        let steps = schedule(&order(overflow(), tenants, seed)).steps;
        prop_assert_eq!(steps.len(), 12);
        for pair in steps.chunks(2) {
            let (donor, victim) = (pair[0][0], pair[1][0]);
            prop_assert_eq!(donor.role, Role::Donor);
            prop_assert!(matches!(victim.role, Role::Victim | Role::Overlong));
            prop_assert_ne!(donor.tenant, victim.tenant);
            prop_assert!(donor.tenant < tenants && victim.tenant < tenants);
            prop_assert_ne!(donor.seed, victim.seed);
        }
    }

    #[test]
    fn what_is_meant_to_fit_leaves_room_for_the_answer_and_what_is_not_does_not_fit(seed: u64) {
        for probe in schedule(&order(overflow(), 3, seed)).steps.into_iter().flatten() {
            match probe.role {
                Role::Overlong => prop_assert!(probe.tokens > 1_048_576),
                _ => prop_assert!(probe.tokens + 96 <= 1_048_576 * 99 / 100 + 1),
            }
        }
    }

    #[test]
    fn in_crosstalk_every_tenant_sends_once_a_wave_and_no_document_twice(tenants in 2usize..6, seed: u64) {
        let steps = schedule(&order(crosstalk(), tenants, seed)).steps;
        prop_assert_eq!(steps.len(), 3);
        let mut seeds = Vec::new();
        for step in &steps {
            let mut senders: Vec<_> = step.iter().map(|probe| probe.tenant).collect();
            senders.sort_unstable();
            prop_assert_eq!(senders, (0..tenants).collect::<Vec<_>>());
            for probe in step {
                prop_assert!(!seeds.contains(&probe.seed));
                seeds.push(probe.seed);
            }
        }
    }
}

#[test]
fn calibration_is_for_what_the_schedule_uses_and_what_is_not_known_yet() {
    let order = order(overflow(), 3, 1);
    let main = schedule(&order);
    let dense_only = calibration(&order, &main, |_, layout| match layout {
        Layout::Dense => Need::Measure,
        Layout::Sparse { .. } => Need::Nothing,
    });
    assert!(
        dense_only
            .steps
            .iter()
            .flatten()
            .all(|probe| probe.layout == Layout::Dense)
    );
    assert_eq!(
        calibration(&order, &main, |_, _| Need::Nothing).steps,
        Vec::<Vec<PlannedProbe>>::new()
    );
    let template = calibration(&order, &main, |_, _| Need::Template).steps;
    assert_eq!(template.len(), 1, "the template is the same for all");
}

#[test]
fn a_named_limit_that_is_the_advertised_one_adds_nothing() {
    let plain = order(overflow(), 2, 1);
    let named = Order {
        measured_limit: Some(plain.context_tokens),
        ..plain.clone()
    };
    assert_eq!(schedule(&named), schedule(&plain));
}

#[test]
fn a_limit_the_endpoint_named_is_tried_from_both_sides() {
    let with_limit = Order {
        measured_limit: Some(681_280),
        ..order(overflow(), 2, 1)
    };
    let lengths: Vec<u64> = schedule(&with_limit)
        .steps
        .iter()
        .flatten()
        .filter(|probe| probe.role == Role::Victim)
        .map(|probe| probe.tokens)
        .collect();
    assert!(
        lengths.contains(&671_060) && lengths.contains(&694_905),
        "{lengths:?}"
    );
}
