#![allow(clippy::unwrap_used)]

use super::*;
use crate::canary::strategies::identity;
use crate::canary::{Identity, ProbeNumber, Slot, TenantNumber};
use crate::form::Form;
use crate::key::Key;
use proptest::prelude::*;

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

/// One way in which a model, or what stands behind it, harms a writing.
fn damage(text: &str, kind: u8, place: usize, letter: char) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    // A place of a letter or digit, not of a separator.
    let symbols: Vec<usize> = (0..letters.len())
        .filter(|&at| letters[at].is_ascii_alphanumeric())
        .collect();
    let at = symbols[place % symbols.len()];
    match kind {
        0 => letters[at] = letter,
        1 => drop(letters.remove(at)),
        2 => letters.insert(at, letter),
        3 => {
            let place = place % (symbols.len() - 1);
            letters.swap(symbols[place], symbols[place + 1]);
        }
        4 => {
            letters[at] = if letters[at].is_ascii_uppercase() {
                letters[at].to_ascii_lowercase()
            } else {
                letters[at].to_ascii_uppercase()
            }
        }
        5 => letters.insert(at, '\n'),
        6 => letters.splice(at..at, "**".chars()).for_each(drop),
        7 => letters.splice(at..at, "<b>".chars()).for_each(drop),
        _ => {
            if let Some(at) = letters
                .iter()
                .position(|letter| !letter.is_ascii_alphanumeric())
            {
                letters[at] = ['_', ' ', ':', '.'][place % 4];
            }
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn a_canary_of_the_index_is_found_with_any_two_damages(
        identity in identity(), form in 0usize..5, damages in proptest::collection::vec((0u8..9, 0usize..60, "[a-z0-9]"), 0..=2)
    ) {
        let form = Form::ALL[form];
        let canary = Key::from_root(&ROOT).mint(identity, form);
        let mut index = Index::new(100);
        index.plant(form, &canary);
        let search = Search::new(ring())
            .with_effort(Effort::NONE)
            .with_index(std::sync::Arc::new(std::sync::RwLock::new(index)));
        let mut text = form.write(&canary);
        for (kind, place, letter) in &damages {
            text = damage(&text, *kind, *place, letter.chars().next().unwrap());
        }
        let page = format!("The answer is: {text}.");
        let found = search.scan(page.as_bytes());
        prop_assert_eq!(found.len(), 1, "{}", page);
        prop_assert_eq!(found[0].identity, identity);
        prop_assert!(found[0].proof.is_verified(), "{} {:?}", page, found[0]);
    }
}

/// A text written so that it must be read through a view.
fn disguised(view: View, text: &str, style: usize) -> String {
    let each = |write: &dyn Fn(u8) -> String| text.bytes().map(write).collect::<String>();
    match view {
        View::Json if style == 0 => text
            .encode_utf16()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect(),
        View::Json => text.replace('-', "\\u002d").replace(' ', "\\n"),
        View::Percent if style == 0 => each(&|byte| format!("%{byte:02X}")),
        View::Percent => text.replace('-', "%2D").replace(' ', "%20"),
        View::Html if style == 0 => text
            .chars()
            .map(|letter| format!("&#{};", u32::from(letter)))
            .collect(),
        View::Html => text.replace('-', "&#45;").replace(' ', "&#32;"),
        View::Fold if style == 0 => {
            let wide = |letter: char| match letter {
                '!'..='~' => char::from_u32(u32::from(letter) + 0xfee0).unwrap(),
                other => other,
            };
            text.chars().map(wide).collect()
        }
        View::Fold => text
            .chars()
            .flat_map(|letter| [letter, '\u{200b}'])
            .collect(),
        View::Markup => {
            // Between letters and digits only: before markup a backslash is markup itself.
            let mut marked = String::new();
            for letter in text.chars() {
                let inside = letter.is_ascii_alphanumeric()
                    && marked.ends_with(|before: char| before.is_ascii_alphanumeric());
                marked.push_str(match (inside, style) {
                    (false, _) => "",
                    (true, 0) => "<i>",
                    (true, _) => "**",
                });
                marked.push(letter);
            }
            marked
        }
        View::Base64 => base64(text.as_bytes()),
        View::Hex if style == 0 => each(&|byte| format!("{byte:02x}")),
        View::Hex => each(&|byte| format!("{byte:02X} ")),
        View::Reversed => text.chars().rev().collect(),
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes
        .chunks(3)
        .flat_map(|group| {
            let bits = (0..3).fold(0u32, |bits, at| {
                bits << 8 | u32::from(group.get(at).copied().unwrap_or(0))
            });
            (0..=group.len())
                .map(move |at| char::from(ALPHABET[(bits >> (18 - 6 * at)) as usize & 63]))
        })
        .collect()
}

#[test]
fn every_form_is_found_through_every_view_and_any_two_of_them() {
    for form in Form::ALL {
        let (identity, writing) = canary_text(form, 4711);
        for inner in View::ALL {
            for style in 0..2 {
                let text = disguised(inner, &writing, style);
                let page = format!("It reads: {text} and that was it.");
                let found = scan(&ring(), page.as_bytes());
                assert_eq!(found.len(), 1, "{form} in {inner:?}: {page}");
                assert_eq!(found[0].identity, identity);
                assert!(found[0].proof.is_verified());
                let end = found[0].offset as usize + found[0].length;
                assert!(
                    found[0].offset >= 10 && end <= 10 + text.len(),
                    "{form} in {inner:?}"
                );
                for outer in View::ALL {
                    let page = format!(
                        "It reads: {} and that was it.",
                        disguised(outer, &format!("x: {text} ."), style)
                    );
                    let found = scan(&ring(), page.as_bytes());
                    assert_eq!(found.len(), 1, "{form} in {inner:?} in {outer:?}: {page}");
                    assert_eq!(found[0].identity, identity);
                }
            }
        }
    }
}

/// Canaries of every form, harmed, disguised, cut, among prose: pieces of what a scanner may meet.
fn wild_text() -> impl Strategy<Value = String> {
    let writing = (
        identity(),
        0usize..5,
        proptest::collection::vec((0u8..9, 0usize..60, "[a-z0-9]"), 0..=2),
    )
        .prop_map(|(identity, form, damages)| {
            let form = Form::ALL[form];
            let text = form.write(&Key::from_root(&ROOT).mint(identity, form));
            damages.iter().fold(text, |text, (kind, place, letter)| {
                damage(&text, *kind, *place, letter.chars().next().unwrap())
            })
        });
    let disguise = (
        writing,
        proptest::option::of(0usize..8),
        proptest::option::of(0usize..8),
        0usize..2,
        0usize..20,
    )
        .prop_map(|(text, inner, outer, style, cut)| {
            let through = |text: String, view: Option<usize>| match view {
                Some(view) => disguised(View::ALL[view], &text, style),
                None => text,
            };
            let text = through(through(text, inner), outer);
            text.chars()
                .skip(cut.saturating_sub(12))
                .collect::<String>()
        });
    let piece = prop_oneof![
        3 => disguise,
        2 => "( [a-z]{1,9}){0,40}",
        1 => "[a-zA-Z0-9+/_-]{0,90}",
        1 => "[\\\\%&#;*`<>a-f0-9 ]{0,60}",
        1 => "\\PC{0,9}",
        1 => Just("\n".to_owned()),
    ];
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.join(" "))
}

/// Long runs without a gap, where windows are cut: canaries at any place of them.
fn long_text() -> impl Strategy<Value = String> {
    let canary = (identity(), 0usize..5).prop_map(|(identity, form)| {
        let form = Form::ALL[form];
        form.write(&Key::from_root(&ROOT).mint(identity, form))
    });
    let run = prop_oneof![
        ("[a-zA-Z0-9+/]{40}", 1usize..70).prop_map(|(piece, times)| piece.repeat(times)),
        ("[0-9a-f]{7}", 1usize..400).prop_map(|(piece, times)| piece.repeat(times)),
        (0usize..400).prop_map(|times| "acorn bagel cactus ".repeat(times)),
        ("%[0-9A-F]{2}", 1usize..900).prop_map(|(piece, times)| piece.repeat(times)),
    ];
    let piece = prop_oneof![canary, run, Just("/".to_owned()), Just(" ".to_owned())];
    proptest::collection::vec(piece, 1..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_split_of_a_long_run_gives_the_same_sightings(
        text in long_text(), cuts in proptest::collection::vec(1usize..3_000, 0..20)
    ) {
        let search = Search::new(ring()).with_effort(Effort { openings: 3_000, bytes_per_opening: 4096 });
        prop_assert_eq!(scan_in_chunks(&search, text.as_bytes(), &cuts), search.scan(text.as_bytes()));
    }

    #[test]
    fn any_split_of_a_wild_text_gives_the_same_sightings(
        text in wild_text(), planted in proptest::collection::vec((identity(), 0usize..5), 0..4),
        cuts in proptest::collection::vec(1usize..900, 0..40), repeat in 1usize..8
    ) {
        let mut index = Index::new(100);
        for (identity, form) in planted {
            index.plant(Form::ALL[form], &Key::from_root(&ROOT).mint(identity, Form::ALL[form]));
        }
        let search = Search::new(ring())
            .with_effort(Effort { openings: 3_000, bytes_per_opening: 4096 })
            .with_index(std::sync::Arc::new(std::sync::RwLock::new(index)));
        let text = text.repeat(repeat);
        prop_assert_eq!(scan_in_chunks(&search, text.as_bytes(), &cuts), search.scan(text.as_bytes()));
    }
}

/// Texts made to cost as much as they can.
fn hostile_texts(length: usize) -> Vec<(&'static str, Vec<u8>)> {
    let fill = |piece: &str| piece.bytes().cycle().take(length).collect::<Vec<u8>>();
    let mut state = 1u64;
    let mut random = |alphabet: &[u8]| -> Vec<u8> {
        (0..length)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                alphabet[(state >> 33) as usize % alphabet.len()]
            })
            .collect()
    };
    vec![
        ("zeros", fill("0")),
        ("groups of zeros", fill("0000-")),
        ("digits apart", fill("0 1 2 3 ")),
        ("words of the list", fill("aback abacus abalone acorn ")),
        ("names", fill("Babab Dafuh, ")),
        ("percent signs", fill("%25")),
        ("backslashes", fill("\\")),
        ("escapes", fill("\\u0030")),
        ("references", fill("&#48;")),
        ("tags", fill("<b>0")),
        ("marks", fill("a**")),
        ("wide digits", fill("０")),
        ("base32", random(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")),
        ("base64", random(b"ABCDEFabcdefGHIJghij0123456789+/")),
        ("hexadecimal", random(b"0123456789abcdef")),
        ("base64 of text", base64(&fill("0K7Q2 M9XVR ")).into_bytes()),
        ("anything", random(&(0..=255).collect::<Vec<u8>>())),
    ]
}

#[test]
fn hostile_text_costs_a_fixed_multiple_of_its_length() {
    let mut index = Index::new(1_000);
    for probe in 0..1_000 {
        let (_, text) = canary_text(Form::Code, probe);
        index.plant(Form::Code, &Form::Code.parse(&text).unwrap());
    }
    let search = Search::new(ring()).with_index(std::sync::Arc::new(std::sync::RwLock::new(index)));
    for (name, text) in hostile_texts(1 << 16) {
        let mut scanner = search.scanner();
        let mut found = Vec::new();
        scanner.push(&text, &mut found);
        let work = scanner.finish(&mut found);
        let length = text.len() as u64;
        assert!(work.bytes <= 20 * length, "{name}: {work:?}");
        assert!(work.lookups <= 10 * length, "{name}: {work:?}");
        let repairs = Effort::QUICK.openings + length / Effort::QUICK.bytes_per_opening;
        assert!(work.repair_openings <= repairs, "{name}: {work:?}");
        assert!(work.openings <= 4 * length + repairs, "{name}: {work:?}");
    }
}
