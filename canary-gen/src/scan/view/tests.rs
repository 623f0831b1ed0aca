#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn read(view: View, source: &[u8]) -> Vec<(Vec<u8>, Vec<Origin>)> {
    let mut texts = Vec::new();
    view.read(source, &mut Decoded::default(), &mut |decoded| {
        texts.push((decoded.text.clone(), decoded.origins.clone()));
    });
    texts
}

fn reads(view: View, source: &str) -> Vec<String> {
    let texts = view.texts(source.as_bytes()).into_iter();
    texts.map(|text| String::from_utf8(text).unwrap()).collect()
}

const CODE: &str = "0K7Q2-M9XVR-T4HBN-C8WJD-E5GFPS";

#[test]
fn json_escapes_are_undone_and_torn_ones_left() {
    assert_eq!(reads(View::Json, r#"a\n\"b\\\/\u0041"#), ["a\n\"b\\/A"]);
    assert_eq!(
        reads(View::Json, r"\ud83d\ude00 \ud83d. \q"),
        ["😀 \u{fffd}. \\q"]
    );
    assert_eq!(reads(View::Json, r"\u00"), [""; 0]);
    assert_eq!(reads(View::Json, "nothing"), [""; 0]);
}

#[test]
fn percent_encoding_is_undone_in_either_case() {
    assert_eq!(
        reads(View::Percent, "%30%4B7%2dM 5% %zz+"),
        ["0K7-M 5% %zz+"]
    );
    assert_eq!(reads(View::Percent, "100% of 5 %"), [""; 0]);
}

#[test]
fn character_references_are_replaced_numeric_ones_also_without_semicolon() {
    assert_eq!(
        reads(
            View::Html,
            "&#48;&#x4b;&#x37 &#0081;2&dash;M &lt;b&gt; &nosuch; &"
        ),
        ["0K7 Q2\u{2010}M <b> &nosuch; &"]
    );
    assert_eq!(reads(View::Html, "R&D at AT&T; &#; &#xg;"), [""; 0]);
}

#[test]
fn unicode_disguises_are_folded_and_invisible_characters_removed() {
    assert_eq!(reads(View::Fold, "０Ｋ７Ｑ２－Ｍ９ＸＶＲ"), ["0K7Q2-M9XVR"]);
    assert_eq!(reads(View::Fold, "𝟎𝐊𝟕𝐐𝟐‑М9ХVR"), ["0K7Q2-M9XVR"]);
    assert_eq!(
        reads(View::Fold, "0\u{200b}K\u{ad}7Q2\u{feff}-M\u{301}9"),
        ["0K7Q2-M9"]
    );
    assert_eq!(reads(View::Fold, "٤٢ ५६ ①Ⅳ"), ["42 56 1IV"]);
    assert_eq!(reads(View::Fold, "naïve 東京"), [""; 0]);
}

#[test]
fn markup_inside_of_words_goes_and_what_it_parts_stays_parted() {
    assert_eq!(
        reads(View::Markup, "0K**7**Q2-M`9XVR`-<b>T4HBN</b>"),
        ["0K7Q2-M9XVR`-T4HBN"]
    );
    assert_eq!(
        reads(View::Markup, "[ap**ple**s](http://a.b/c) *river*\nstone"),
        ["apples *river*\nstone"]
    );
    assert_eq!(
        reads(View::Markup, "2 < 3 and [1] > 0, **bold** snake_case"),
        [""; 0]
    );
}

#[test]
fn base64_is_read_from_any_place_and_over_line_breaks() {
    // "x" and the code, in base64.
    let encoded = "eDBLN1EyLU05WFZSLVQ0SEJOLUM4V0pELUU1R0ZQUw==";
    for cut in 0..4 {
        let texts = reads(View::Base64, &encoded[cut..]);
        assert!(
            texts.iter().any(|text| text.contains(&CODE[3..])),
            "{texts:?}"
        );
    }
    let wrapped = format!(
        "({}\r\n  {}\n{})",
        &encoded[..16],
        &encoded[16..36],
        &encoded[36..]
    );
    assert!(
        reads(View::Base64, &wrapped)
            .iter()
            .any(|text| text.ends_with(CODE))
    );
}

#[test]
fn hexadecimal_is_read_in_each_style() {
    let digits: Vec<String> = CODE.bytes().map(|byte| format!("{byte:02x}")).collect();
    for source in [
        digits.concat(),
        digits.concat().to_uppercase(),
        format!("0{}", digits.concat()),
        digits.join(" "),
        digits.join(":"),
        format!("0x{}", digits.join(", 0x")),
        format!("\\x{}", digits.join("\\x")),
    ] {
        assert!(
            reads(View::Hex, &source).iter().any(|text| text == CODE),
            "{source}"
        );
    }
}

#[test]
fn the_reverse_keeps_characters_whole() {
    assert_eq!(reads(View::Reversed, "aé東😀"), ["😀東éa"]);
    assert_eq!(View::Reversed.texts(b"a\xffb"), [b"b\xffa"]);
}

/// Encodes every byte of a text in one of the ways of a view.
fn encoded(view: View, text: &[u8], styles: &[u8]) -> Vec<(Vec<u8>, usize)> {
    text.iter()
        .enumerate()
        .map(|(at, &byte)| {
            let style = styles[at % styles.len()];
            let plain = style.is_multiple_of(2) && byte.is_ascii_alphanumeric();
            let written = match view {
                _ if plain => vec![byte],
                View::Json if style < 128 => format!("\\u{byte:04x}").into_bytes(),
                View::Json => format!("\\u{byte:04X}").into_bytes(),
                View::Percent if style < 128 => format!("%{byte:02x}").into_bytes(),
                View::Percent => format!("%{byte:02X}").into_bytes(),
                View::Html if style < 128 => format!("&#{byte};").into_bytes(),
                _ => format!("&#x{byte:x};").into_bytes(),
            };
            (written, at)
        })
        .collect()
}

proptest! {
    #[test]
    fn what_is_escaped_is_read_and_known_where(
        text in "[ -~]{1,60}", styles in proptest::collection::vec(any::<u8>(), 1..60), which in 0usize..3
    ) {
        let view = [View::Json, View::Percent, View::Html][which];
        let pieces = encoded(view, text.as_bytes(), &styles);
        let source: Vec<u8> = pieces.iter().flat_map(|(piece, _)| piece.clone()).collect();
        if pieces.iter().all(|(piece, _)| piece.len() == 1) {
            return Ok(());
        }
        let texts = read(view, &source);
        prop_assert_eq!(texts.len(), 1);
        prop_assert_eq!(&texts[0].0, text.as_bytes());
        let mut start = 0;
        for ((piece, _), origin) in pieces.iter().zip(&texts[0].1) {
            prop_assert_eq!((origin.start as usize, origin.end as usize), (start, start + piece.len()));
            start += piece.len();
        }
    }

    #[test]
    fn whatever_is_read_stays_in_bounds(source in proptest::collection::vec(any::<u8>(), 0..300)) {
        for view in View::ALL {
            check_bounds(view, &source)?;
        }
    }

    #[test]
    fn whatever_text_is_read_stays_in_bounds(source in "[\\\\%&#;a-fx0-9<>\\[\\]()*_` \n=+/A-Zé😀\u{200b}]{0,300}") {
        for view in View::ALL {
            check_bounds(view, source.as_bytes())?;
        }
    }
}

fn check_bounds(view: View, source: &[u8]) -> Result<(), TestCaseError> {
    let mut total = 0;
    for (text, origins) in read(view, source) {
        prop_assert_eq!(text.len(), origins.len());
        total += text.len();
        for origin in &origins {
            prop_assert!(origin.start < origin.end && origin.end as usize <= source.len());
        }
        let rising = origins.is_sorted_by_key(|origin| origin.start);
        prop_assert!(rising || view == View::Reversed);
    }
    prop_assert!(total <= 4 * source.len(), "{} of {}", total, source.len());
    Ok(())
}
