//! Canaries that are read through views.

use super::*;

/// A text written so that it must be read through a view.
pub(super) fn disguised(view: View, text: &str, style: usize) -> String {
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

pub(super) fn base64(bytes: &[u8]) -> String {
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
