//! The cost of hostile texts.

use super::disguised::base64;
use super::*;

/// The costliest mixtures that a search found: every view changes something in every sixty bytes.
const MIXTURES: [&str; 3] = [
    "-%25a**aback ０aback Babab \\\\&#48;",
    "5c7534Babab abacus abalone &amp;%2525a`_\\\\aB3dE\u{200b}<b>aB3dE",
    "\\\\Babab aB3dE%25256162<b>aB3dEaback aback Babab ０&amp;",
];

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
    let check = |name: &str, text: &[u8], (bytes, lookups): (u64, u64)| {
        let mut scanner = search.scanner();
        let mut found = Vec::new();
        scanner.push(text, &mut found);
        let work = scanner.finish(&mut found);
        let length = text.len() as u64;
        assert!(work.bytes <= bytes * length, "{name}: {work:?}");
        assert!(work.lookups <= lookups * length, "{name}: {work:?}");
        let repairs = Effort::QUICK.openings + length / Effort::QUICK.bytes_per_opening;
        assert!(work.repair_openings <= repairs, "{name}: {work:?}");
        assert!(work.openings <= 4 * length + repairs, "{name}: {work:?}");
    };
    for (name, text) in hostile_texts(1 << 16) {
        check(name, &text, (20, 10));
    }
    for mixture in MIXTURES {
        let text: Vec<u8> = mixture.bytes().cycle().take(1 << 14).collect();
        check(mixture, &text, (400, 120));
    }
}
