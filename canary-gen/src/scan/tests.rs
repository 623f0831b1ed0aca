#![allow(clippy::unwrap_used)]

use super::*;
use crate::canary::strategies::identity;
use crate::key::Key;
use proptest::prelude::*;

const ROOT: [u8; 32] = [5; 32];

fn ring() -> KeyRing {
    KeyRing::from_root(&ROOT)
}

/// Every place tried with every shape, nothing skipped: slow and obviously right.
fn oracle(ring: &KeyRing, text: &[u8]) -> Vec<Sighting> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < text.len() {
        match exact::read_at(ring, text, start) {
            Some(sighting) => {
                start += sighting.length;
                found.push(sighting);
            }
            None => start += 1,
        }
    }
    found
}

fn scan_in_chunks(ring: &KeyRing, text: &[u8], cuts: &[usize]) -> Vec<Sighting> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(ring.clone());
    let mut rest = text;
    for &cut in cuts {
        let (chunk, tail) = rest.split_at(cut.min(rest.len()));
        scanner.push(chunk, &mut found);
        rest = tail;
    }
    scanner.push(rest, &mut found);
    scanner.finish(&mut found);
    found
}

/// A text of canaries in both forms, whole or damaged, among words, letters and dashes.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let canary = (
        identity(),
        0usize..Form::ALL.len(),
        0usize..4,
        any::<bool>(),
    )
        .prop_map(|(identity, form, style, cut)| {
            let form = Form::ALL[form];
            let text = form.write(&Key::from_root(&ROOT).mint(identity, form));
            let text = match style {
                0 => text,
                1 => text.to_lowercase(),
                2 => text.to_uppercase(),
                _ => text.replace('-', ""),
            };
            if cut { text[1..].to_owned() } else { text }
        });
    let piece = prop_oneof![
        canary,
        "[a-zA-Z0-9-]{0,50}",
        "[ a-z.\n]{0,30}",
        Just("-".to_owned()),
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_split_of_a_text_gives_the_same_sightings(text in text(), cuts in proptest::collection::vec(0usize..80, 0..20)) {
        prop_assert_eq!(scan_in_chunks(&ring(), &text, &cuts), scan(&ring(), &text));
    }

    #[test]
    fn byte_by_byte_gives_the_same_sightings(text in text()) {
        let cuts = vec![1; text.len()];
        prop_assert_eq!(scan_in_chunks(&ring(), &text, &cuts), scan(&ring(), &text));
    }

    #[test]
    fn skipping_finds_what_trying_every_place_finds(text in text()) {
        prop_assert_eq!(scan(&ring(), &text), oracle(&ring(), &text));
    }

    #[test]
    fn every_planted_canary_is_found_where_it_stands(
        identity in identity(), before in "[ -~]{0,40}", after in "[ -~]{0,40}",
    ) {
        for form in Form::ALL {
            let written = form.write(&ring().minting().mint(identity, form));
            let text = format!("{before}{written}{after}");
            let found = scan(&ring(), text.as_bytes());
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(found[0].identity, identity);
            prop_assert_eq!(found[0].offset, before.len() as u64);
            prop_assert_eq!(found[0].length, written.len());
        }
    }

    #[test]
    fn arbitrary_bytes_hold_no_canary_and_cause_no_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        prop_assert_eq!(scan(&ring(), &bytes), vec![]);
    }
}

#[test]
fn a_canary_of_a_key_not_in_the_ring_is_not_seen() {
    let identity = Identity {
        tenant: crate::TenantNumber::new(1).unwrap(),
        probe: crate::ProbeNumber::new(2).unwrap(),
        slot: crate::Slot::new(3).unwrap(),
    };
    let foreign = Form::Code.write(&Key::from_root(&[6; 32]).mint(identity, Form::Code));
    assert_eq!(scan(&ring(), foreign.as_bytes()), vec![]);
}

#[test]
fn the_buffer_stays_small_however_long_the_text() {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(ring());
    for _ in 0..10_000 {
        scanner.push(&[b'a'; 100], &mut found);
        assert!(scanner.buffer.len() < LONGEST);
    }
    assert_eq!(scanner.base + scanner.buffer.len() as u64, 1_000_000);
}
