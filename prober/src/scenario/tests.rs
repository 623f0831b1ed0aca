use super::*;
use canary_gen::{Document, DocumentSpec, KeyRing, ProbeNumber, TenantNumber, TokenMeasure};
use proptest::prelude::*;

fn order(recipe: Recipe, tenants: usize, seed: u64) -> Order {
    Order {
        recipe,
        seed: Seed::from_number(seed),
        tenants,
        context_tokens: 1_048_576,
        measured_limit: None,
        page_tokens: 64,
        form: Form::Code,
        max_answer_tokens: 96,
    }
}

const LOAD: Load = Load {
    tokens: 1_500,
    requests: 1,
    waves: 3,
    stride_tokens: 400,
};

fn overflow() -> Recipe {
    Recipe::Overflow {
        ladder: vec![0.5, 0.75, 0.9, 0.99, 1.02, 1.25],
        donor_fraction: 0.6,
    }
}

fn crosstalk() -> Recipe {
    Recipe::Crosstalk(LOAD)
}

/// Every recipe that has a schedule, small.
fn recipes() -> Vec<Recipe> {
    let load = |tokens, requests, waves| Load {
        tokens,
        requests,
        waves,
        stride_tokens: 200,
    };
    vec![
        crosstalk(),
        Recipe::Cancel {
            load: load(900, 1, 2),
            within_ms: 500,
        },
        Recipe::Pressure(load(2_000, 2, 2)),
        Recipe::Return(load(1_000, 1, 2)),
        Recipe::Sandwich(load(600, 1, 7)),
        Recipe::Boundary {
            chunk_tokens: 1_024,
            tokens: 2_048,
            waves: 2,
        },
        Recipe::Burst(load(400, 2, 2)),
        Recipe::Prefix {
            tokens: 1_000,
            samples: 8,
        },
        Recipe::Twin(load(500, 1, 2)),
        Recipe::Identity {
            load: load(500, 1, 2),
            id_fields: vec!["rid".to_owned()],
        },
    ]
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
    for recipe in recipes() {
        let name = format!("{}.txt", recipe.as_str());
        assert_golden(&name, &schedule(&order(recipe, 3, 1)).to_string());
    }
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
        Layout::Sparse { .. } | Layout::Plain => Need::Nothing,
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

#[test]
fn an_order_is_the_same_after_it_was_stored() {
    for recipe in recipes().into_iter().chain([overflow()]) {
        let order = Order {
            seed: Seed::from_number(0),
            measured_limit: Some(7),
            ..order(recipe, 3, 1)
        };
        let stored = serde_json::to_string(&order).expect("plain values");
        let again: Order = serde_json::from_str(&stored).expect("as it was written");
        assert_eq!(again, order, "{stored}");
    }
}

/// The probe that a probe sends the document of, or itself.
fn origin<'a>(probes: &'a [PlannedProbe], probe: &'a PlannedProbe) -> &'a PlannedProbe {
    probe.repeats.map_or(probe, |place| &probes[place])
}

proptest! {
    #[test]
    fn every_schedule_is_a_function_of_its_order(tenants in 2usize..5, seed: u64) {
        for recipe in recipes() {
            let order = order(recipe, tenants, seed);
            prop_assert_eq!(schedule(&order), schedule(&order));
        }
    }

    #[test]
    fn whoever_sends_again_sends_what_was_sent_before_it_in_the_schedule(tenants in 2usize..5, seed: u64) {
        for recipe in recipes() {
            let name = recipe.as_str();
            let probes: Vec<PlannedProbe> = schedule(&order(recipe, tenants, seed)).steps.concat();
            for (place, probe) in probes.iter().enumerate() {
                prop_assert!(probe.tenant < tenants);
                let Some(first) = probe.repeats else { continue };
                prop_assert!(first < place, "{} {} of {}", name, place, first);
                let first = probes[first];
                prop_assert_eq!(first.repeats, None);
                prop_assert_eq!((first.seed, first.tokens, first.layout, first.question), (probe.seed, probe.tokens, probe.layout, probe.question));
                prop_assert!(probe.tenant == first.tenant || probe.layout == Layout::Plain);
            }
        }
    }

    #[test]
    fn what_a_later_schedule_repeats_is_moved_with_it(seed: u64) {
        let main = schedule(&order(Recipe::Return(LOAD), 2, seed));
        let calibration = schedule(&order(crosstalk(), 2, seed));
        let moved = calibration.steps.concat().len();
        let both: Vec<PlannedProbe> = main.clone().after(calibration).steps.concat();
        for (probe, before) in both[moved..].iter().zip(main.steps.concat()) {
            prop_assert_eq!(probe.repeats, before.repeats.map(|place| place + moved));
        }
    }

    #[test]
    fn in_a_sandwich_each_request_is_three_times_alone_once_after_a_stranger_and_once_beside(tenants in 2usize..5, seed: u64) {
        let load = Load { waves: 9, ..LOAD };
        let steps = schedule(&order(Recipe::Sandwich(load), tenants, seed)).steps;
        let probes: Vec<PlannedProbe> = steps.concat();
        prop_assert_eq!(steps.len(), 9 * 4 + 1);
        for alone in steps[..27].chunks(3) {
            let own = alone[0][0];
            for alone in alone {
                prop_assert_eq!((alone.len(), alone[0].role), (1, Role::Solo));
                prop_assert_eq!(origin(&probes, &alone[0]).seed, own.seed);
            }
        }
        let sets = |steps: &[Vec<PlannedProbe>]| {
            let mut sets: Vec<u32> = steps.concat().iter().map(|probe| probe.set).collect();
            sets.sort_unstable();
            sets
        };
        prop_assert_eq!(sets(&steps[27..36]), (1..=9).collect::<Vec<u32>>());
        let crowd: Vec<PlannedProbe> = steps[36].iter().copied().filter(|probe| probe.role == Role::Amid).collect();
        prop_assert_eq!(steps[36].len(), 9 + tenants);
        prop_assert_eq!(sets(&[crowd]), (1..=9).collect::<Vec<u32>>());
        for pair in steps[27..36].windows(2) {
            prop_assert_ne!(pair[0][0].tenant, pair[1][0].tenant);
        }
        prop_assert!(probes[27..36].iter().all(|probe| probe.role == Role::Amid && probe.repeats.is_some()));
    }

    #[test]
    fn a_reader_sends_what_only_another_tenant_sent_and_a_control_what_it_sent_itself(tenants in 2usize..5, seed: u64) {
        let recipe = Recipe::Prefix { tokens: 1_000, samples: 8 };
        let probes: Vec<PlannedProbe> = schedule(&order(recipe, tenants, seed)).steps.concat();
        prop_assert_eq!(probes.len(), tenants + 4 * 8);
        for (place, probe) in probes.iter().enumerate() {
            let before = || probes[..place].iter().filter(|before| before.head == probe.head);
            match probe.role {
                Role::Primer | Role::Fresh => prop_assert_eq!(before().count(), 0),
                Role::Reader => prop_assert!(before().count() > 0 && before().all(|before| before.tenant != probe.tenant)),
                Role::Control => prop_assert!(before().any(|before| before.role == Role::Primer && before.tenant == probe.tenant)),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn boundaries_are_whole_pages_and_chunks_and_their_neighbours(seed: u64) {
        let recipe = Recipe::Boundary { chunk_tokens: 1_024, tokens: 2_048, waves: 2 };
        let steps = schedule(&order(recipe, 3, seed)).steps;
        let mut victims: Vec<u64> = steps.concat().iter().filter(|probe| probe.role == Role::Victim).map(|probe| probe.tokens).collect();
        victims.sort_unstable();
        prop_assert_eq!(victims.len(), 12);
        for three in [0, 1, u64::MAX] {
            let whole = victims.iter().filter(|tokens| tokens.wrapping_sub(three).is_multiple_of(64)).count();
            prop_assert_eq!(whole, 4);
        }
    }

    #[test]
    fn twins_are_of_two_tenants_and_equal_ones_have_no_canary(seed: u64) {
        let steps = schedule(&order(Recipe::Twin(LOAD), 3, seed)).steps;
        let probes: Vec<PlannedProbe> = steps.concat();
        for set in probes.chunks(8) {
            prop_assert_ne!(set[0].tenant, set[1].tenant);
            prop_assert_eq!(set[0].seed, set[1].seed);
            prop_assert_eq!((set[0].repeats, set[1].repeats), (None, None));
            let equal: Vec<&PlannedProbe> = set.iter().filter(|probe| probe.role == Role::Twin).collect();
            prop_assert_eq!(equal.len(), 4);
            prop_assert!(equal.iter().all(|twin| twin.layout == Layout::Plain && origin(&probes, twin).seed == equal[0].seed));
        }
    }

    #[test]
    fn clients_leave_within_the_time_and_come_back_after_it(seed: u64) {
        let recipe = Recipe::Cancel { load: LOAD, within_ms: 300 };
        let probes: Vec<PlannedProbe> = schedule(&order(recipe, 3, seed)).steps.concat();
        for three in probes.chunks(3) {
            prop_assert_eq!(three[0].role, Role::Leaver);
            if let Some(Cancel::AfterMs(ms)) = three[0].cancel {
                prop_assert!(ms <= 300 && three[1].after_ms == ms + 1);
            }
            prop_assert_eq!((three[1].role, three[1].cancel), (Role::Returner, None));
            prop_assert_ne!(three[2].tenant, three[0].tenant);
        }
    }
}

#[test]
#[allow(clippy::unwrap_used)]
fn a_document_with_a_head_is_as_long_as_planned_whatever_a_word_costs() {
    for per_unit in [0.6, 1.3, 3.2] {
        let recipe = Recipe::Prefix {
            tokens: 1_000,
            samples: 8,
        };
        let planned = schedule(&order(recipe, 2, 1)).steps[0][0];
        let measure = TokenMeasure {
            per_unit,
            per_canary: 40.0,
            ..TokenMeasure::assumed(Form::Code)
        };
        let spec = DocumentSpec {
            seed: planned.seed,
            tenant: TenantNumber::new(1).unwrap(),
            probe: ProbeNumber::new(1).unwrap(),
            head: planned.head.map(|head| head.woven(per_unit)),
            question: planned.question,
            form: planned.form,
            layout: planned.layout,
            tokens: planned.tokens,
            closing: 0,
            measure,
        };
        let document = Document::new(spec, KeyRing::from_root(&[1; 32])).measure();
        let off = document.tokens / planned.tokens as f64 - 1.0;
        assert!(off.abs() < 0.05, "{per_unit}: {}", document.tokens);
        assert!(document.slots > 0, "{per_unit}: no room for a canary");
    }
}
