#![allow(clippy::unwrap_used)]

use super::*;
use crate::canary::strategies::identity;
use crate::canary::{Identity, ProbeNumber, Slot, TenantNumber};
use crate::form::Form;
use crate::key::Key;
use proptest::prelude::*;

mod damaged;
mod disguised;
mod hostile;
mod streams;

const ROOT: [u8; 32] = [5; 32];

fn ring() -> KeyRing {
    KeyRing::from_root(&ROOT)
}

fn canary_text(form: Form, probe: u64) -> (Identity, String) {
    let identity = Identity {
        tenant: TenantNumber::new(7).unwrap(),
        probe: ProbeNumber::new(probe).unwrap(),
        slot: Slot::new(3).unwrap(),
    };
    let canary = Key::from_root(&ROOT).mint(identity, form);
    (identity, form.write(&canary))
}

fn scan_in_chunks(search: &Search, text: &[u8], cuts: &[usize]) -> Vec<Sighting> {
    let mut found = Vec::new();
    let mut scanner = search.scanner();
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

/// Whether a place is in a run of hexadecimal digits that is just as long as a hash.
fn in_hash(text: &[u8], place: usize) -> bool {
    let is_in_run = |at: &usize| text[*at].is_ascii_alphanumeric();
    let start = (0..place).rev().take_while(is_in_run).last();
    let start = start.unwrap_or(place);
    let end = (place..text.len())
        .find(|at| !is_in_run(at))
        .unwrap_or(text.len());
    let is_dash = |at: Option<usize>| at.and_then(|at| text.get(at)) == Some(&b'-');
    [40, 56, 64, 96, 128].contains(&(end - start))
        && text[start..end].iter().all(u8::is_ascii_hexdigit)
        && !is_dash(start.checked_sub(1))
        && !is_dash(Some(end))
}

/// Every place tried with every fixed-length writing, nothing skipped: slow and obviously right.
fn oracle(ring: &KeyRing, text: &[u8]) -> Vec<(Identity, Form, u64, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    'places: while start < text.len() {
        for shape in crate::form::Shape::all() {
            let glued = |at: Option<usize>| {
                let byte = at.and_then(|at| text.get(at));
                byte.is_some_and(u8::is_ascii_alphanumeric)
            };
            let end = start + shape.length;
            // Without dashes, something else must stand on one side at least.
            if shape.first_dash().is_none() && glued(start.checked_sub(1)) && glued(Some(end)) {
                continue;
            }
            if shape.alphabet.form == Form::Uuid
                && shape.first_dash().is_none()
                && in_hash(text, start)
            {
                continue;
            }
            let writing = text.get(start..end);
            let canary = writing.and_then(|writing| shape.read(writing));
            if let Some((_, identity)) = canary.and_then(|canary| ring.open(&canary)) {
                found.push((identity, shape.alphabet.form, start as u64, shape.length));
                start += shape.length;
                continue 'places;
            }
        }
        start += 1;
    }
    found
}

/// A text of canaries in all forms, whole or damaged, among words, letters and dashes.
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
    fn an_exact_search_finds_what_trying_every_place_finds(text in text(), cuts in proptest::collection::vec(0usize..300, 0..20)) {
        let search = Search::exact(ring());
        let found: Vec<_> = scan_in_chunks(&search, &text, &cuts)
            .iter()
            .map(|sighting| (sighting.identity, sighting.form, sighting.offset, sighting.length))
            .collect();
        prop_assert_eq!(found, oracle(&ring(), &text));
    }

    #[test]
    fn any_split_of_a_text_gives_the_same_sightings(text in text(), cuts in proptest::collection::vec(0usize..300, 0..20)) {
        let search = Search::new(ring());
        prop_assert_eq!(scan_in_chunks(&search, &text, &cuts), search.scan(&text));
    }
}

#[test]
fn every_form_is_found_in_prose_in_any_case_whatever_stands_around_it() {
    for form in Form::ALL {
        let (identity, text) = canary_text(form, 4711);
        for text in [text.clone(), text.to_lowercase(), text.to_uppercase()] {
            for around in ["", " ", "\n\n", "(", "**", "\"", "is ", "\u{201c}"] {
                let page = format!("Of course. {around}{text}. And more.");
                let found = scan(&ring(), page.as_bytes());
                assert_eq!(found.len(), 1, "{page}");
                assert_eq!((found[0].identity, found[0].form), (identity, form));
                assert_eq!(found[0].proof, Proof::Exact, "{page}");
                let start = found[0].offset as usize;
                assert_eq!(&page[start..start + found[0].length], text);
            }
        }
    }
}

#[test]
fn a_scanner_keeps_a_constant_amount_however_long_the_text_is() {
    for (search, most) in [(Search::exact(ring()), 512), (Search::new(ring()), 8 << 10)] {
        let mut scanner = search.scanner();
        let mut found = Vec::new();
        for number in 0..2_000u32 {
            let chunk = format!("{number} pages of text and 0123456789abcdef0123456789abcdef\n");
            scanner.push(chunk.as_bytes(), &mut found);
            assert!(scanner.kept_bytes() <= most + chunk.len());
        }
        scanner.push(&vec![b'x'; 1 << 20], &mut found);
        assert!(scanner.kept_bytes() <= most);
        assert!(found.is_empty());
    }
}

#[test]
fn a_hash_costs_no_opening_and_a_canary_beside_other_digits_is_found() {
    let search = Search::exact(ring());
    let openings = |text: &str| {
        let mut scanner = search.scanner();
        let mut found = Vec::new();
        scanner.push(
            format!("{text} {}", "x ".repeat(300)).as_bytes(),
            &mut found,
        );
        (scanner.finish(&mut found).openings, found.len())
    };
    let (_, uuid) = canary_text(Form::Uuid, 3);
    let bare = uuid.replace('-', "");
    for digits in [40, 56, 64, 96, 128] {
        assert_eq!(openings(&"0123456789abcdef".repeat(8)[..digits]), (0, 0));
    }
    assert_eq!(openings(&bare), (1, 1));
    assert_eq!(openings(&format!("{bare}0123")).1, 1);
    assert_eq!(openings(&format!("n{bare}")).1, 1);
}

#[test]
fn a_page_full_of_canaries_is_told_canary_by_canary_once() {
    let page: String = (0..2_000)
        .map(|probe| format!("Code {}\n", canary_text(Form::Code, probe).1))
        .collect();
    let found = scan(&ring(), page.as_bytes());
    let probes: Vec<u64> = found
        .iter()
        .map(|sighting| sighting.identity.probe.get())
        .collect();
    assert_eq!(probes, (0..2_000).collect::<Vec<u64>>());
}
