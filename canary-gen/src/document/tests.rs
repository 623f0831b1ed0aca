#![allow(clippy::unwrap_used)]

use super::*;
use crate::scan::scan;
use proptest::prelude::*;

fn spec(layout: Layout, tokens: u64) -> DocumentSpec {
    DocumentSpec {
        seed: Seed::from_number(11),
        tenant: TenantNumber::new(5).unwrap(),
        probe: ProbeNumber::new(900).unwrap(),
        form: Form::Code,
        layout,
        tokens,
        head: None,
        question: Question::One,
        closing: 0,
        measure: TokenMeasure::assumed(Form::Code),
    }
}

fn ring() -> KeyRing {
    KeyRing::from_root(&[8; 32])
}

fn document(spec: DocumentSpec) -> Document {
    Document::new(spec, ring())
}

/// The words, digits, punctuation marks and paragraph breaks of a text, canaries left out.
fn units_of(text: &str) -> u64 {
    let mut units = text.matches("\n\n").count();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches(['.', '?']);
        units += word.len() - bare.len();
        units += match bare.len() {
            30 if bare.contains('-') => 0,
            _ if bare.bytes().all(|byte| byte.is_ascii_digit()) => bare.len(),
            _ => 1,
        };
    }
    units as u64
}

fn layouts() -> impl Strategy<Value = Layout> {
    prop_oneof![
        Just(Layout::Dense),
        (64u32..2_000).prop_map(|stride_tokens| Layout::Sparse { stride_tokens })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_document_reaches_its_length_and_its_summary_is_true(layout in layouts(), tokens in 120u64..20_000, seed: u64, closing in 0..=CLOSINGS) {
        let spec = DocumentSpec { seed: Seed::from_number(seed), closing, ..spec(layout, tokens) };
        let document = document(spec);
        let text: String = document.weave().collect();
        let summary = document.measure();
        prop_assert_eq!(summary.bytes, text.len() as u64);
        prop_assert_eq!(summary.contents.units + summary.contents.digits, units_of(&text));
        prop_assert!((summary.tokens - tokens as f64).abs() <= 2.0, "{} for {}", summary.tokens, tokens);
        let sightings = scan(&ring(), text.as_bytes());
        prop_assert_eq!(summary.contents.canaries, sightings.len() as u64);
        let slots: std::collections::BTreeSet<_> = sightings.iter().map(|seen| seen.identity.slot.get()).collect();
        prop_assert_eq!(slots, (0..u64::from(summary.slots)).collect());
        prop_assert!(sightings.iter().all(|seen| seen.identity.tenant == spec.tenant && seen.identity.probe == spec.probe));
        prop_assert!(summary.asked.is_some_and(|slot| slot.get() < u64::from(summary.slots)));
    }

    #[test]
    fn the_position_of_a_slot_is_told_without_keeping_the_text(layout in layouts(), tokens in 1_000u64..50_000) {
        let document = document(spec(layout, tokens));
        let slots = document.measure().slots;
        let positions: Vec<_> = (0..slots).step_by(1 + slots as usize / 9)
            .map(|slot| document.token_of(Slot::new(slot.into()).unwrap()).unwrap()).collect();
        prop_assert!(positions.is_sorted());
        prop_assert!(*positions.last().unwrap() < tokens);
        prop_assert_eq!(document.token_of(Slot::new(slots.into()).unwrap()), None);
    }
}

#[test]
fn the_same_specification_gives_the_same_bytes_and_another_seed_differs_from_the_first_bytes() {
    let spec = spec(Layout::Sparse { stride_tokens: 300 }, 3_000);
    let text = |spec| document(spec).weave().collect::<String>();
    assert_eq!(text(spec), text(spec));
    let other = text(DocumentSpec {
        seed: Seed::from_number(12),
        ..spec
    });
    assert_ne!(text(spec).as_bytes()[..10], other.as_bytes()[..10]);
}

#[test]
fn chunks_are_cut_alike_each_time_and_stay_small_where_the_stride_is_long() {
    let layouts = [64, 1_024, 50_000].map(|stride_tokens| Layout::Sparse { stride_tokens });
    for layout in layouts.into_iter().chain([Layout::Dense]) {
        let document = document(spec(layout, 120_000));
        let chunks: Vec<String> = document.weave().collect();
        let (_, full) = chunks.split_last().unwrap();
        for chunk in full {
            assert!((16_384..16_896).contains(&chunk.len()), "{}", chunk.len());
        }
        // Two weavers side by side, other questions asked of the document between their chunks.
        let mut pair = (document.weave(), document.weave());
        for chunk in &chunks {
            assert_eq!(pair.0.next().as_ref(), Some(chunk));
            let _ = document.token_of(Slot::new(1).unwrap());
            assert_eq!(pair.1.next().as_ref(), Some(chunk));
            assert_eq!(pair.0.summary(), pair.1.summary());
        }
        assert_eq!((pair.0.next(), pair.1.next()), (None, None));
    }
}

#[test]
fn every_page_sized_window_of_a_dense_document_holds_a_whole_canary() {
    let text: String = document(spec(Layout::Dense, 40_000)).weave().collect();
    let sightings = scan(&ring(), text.as_bytes());
    let token_at = |offset: u64| {
        let before = &text[..offset as usize];
        let canaries = sightings.iter().filter(|seen| seen.offset < offset).count();
        units_of(before) as f64 + 26.0 * canaries as f64
    };
    let starts: Vec<f64> = sightings.iter().map(|seen| token_at(seen.offset)).collect();
    // A window that begins right after the start of one canary must reach the end of the next one.
    for pair in starts.windows(2) {
        assert!(
            pair[1] + 26.0 - (pair[0] + 1.0) <= 64.0,
            "{} to {}",
            pair[0],
            pair[1]
        );
    }
}

#[test]
fn a_million_tokens_fit_the_slots() {
    let summary = document(spec(Layout::Dense, 1_048_576)).measure();
    assert!(
        summary.slots <= 16_384 && summary.slots > 14_000,
        "{}",
        summary.slots
    );
    assert!((summary.tokens - 1_048_576.0).abs() <= 2.0);
}

#[test]
fn a_document_too_short_for_a_canary_asks_for_none() {
    let summary = document(spec(Layout::Dense, 30)).measure();
    assert_eq!((summary.slots, summary.asked), (0, None));
}

#[test]
fn documents_with_the_same_head_begin_with_the_same_bytes_and_plant_after_them() {
    let head = Head {
        seed: Seed::from_number(77),
        units: 1_500,
    };
    let spec = |tenant, seed, layout| DocumentSpec {
        head: Some(head),
        tenant: TenantNumber::new(tenant).unwrap(),
        seed: Seed::from_number(seed),
        measure: TokenMeasure {
            per_unit: 1.0 + seed as f64 / 100.0,
            ..TokenMeasure::assumed(Form::Code)
        },
        ..self::spec(layout, 3_000)
    };
    let text = |spec| document(spec).weave().collect::<String>();
    let (one, other) = (
        text(spec(1, 1, Layout::Dense)),
        text(spec(2, 2, Layout::Sparse { stride_tokens: 400 })),
    );
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
    let same = &one[..same.count()];
    assert_eq!(units_of(same.trim_end()) + 1, head.units + 1, "{same}");
    assert!(scan(&ring(), same.as_bytes()).is_empty());
    let summary = document(spec(1, 1, Layout::Dense)).measure();
    assert_eq!(
        summary.contents.units + summary.contents.digits,
        units_of(&one)
    );
    assert!(summary.slots > 15 && (summary.tokens - 3_000.0).abs() <= 2.0);
    let first = document(spec(1, 1, Layout::Dense)).token_of(Slot::new(0).unwrap());
    assert!((1_500..1_600).contains(&first.unwrap()), "{first:?}");
}

#[test]
fn a_document_that_asks_for_all_canaries_asks_for_no_one_of_them() {
    let spec = DocumentSpec {
        question: Question::List,
        ..spec(Layout::Dense, 2_000)
    };
    let text: String = document(spec).weave().collect();
    let summary = document(spec).measure();
    assert!(text.ends_with("\n\nList the access codes."));
    assert!(summary.slots > 20 && summary.asked.is_none());
    assert_eq!(
        summary.contents.units + summary.contents.digits,
        units_of(&text)
    );
}

#[test]
fn a_plain_document_is_the_same_whoever_plants_it() {
    let text = |tenant| {
        let spec = DocumentSpec {
            tenant: TenantNumber::new(tenant).unwrap(),
            ..spec(Layout::Plain, 2_000)
        };
        assert_eq!(document(spec).measure().slots, 0);
        document(spec).weave().collect::<String>()
    };
    assert!(text(1) == text(2) && text(1).ends_with("Continue the text."));
    assert!((units_of(&text(1)) as f64 - 1_980.0).abs() <= 2.0);
}

#[test]
fn positions_of_many_slots_are_those_of_each() {
    let document = document(spec(Layout::Dense, 60_000));
    let slots = [700, 3, 9_999, 350].map(|slot| Slot::new(slot).unwrap());
    let each = slots.map(|slot| document.token_of(slot));
    assert_eq!(document.tokens_of(&slots), each);
    assert!(each[0].is_some() && each[2].is_none());
}
