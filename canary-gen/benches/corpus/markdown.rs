//! What a language model writes: paragraphs, lists, tables, headings, code, identifiers.

use super::prose::{capitalised, date, number, paragraph, sentence, url, word, words};
use super::source::Source;
use super::{code, encoded};
use std::fmt::Write as _;

/// One block and the empty line behind it.
pub(super) fn block(source: &mut Source, text: &mut String) {
    match source.below(100) {
        0..44 => paragraph(source, text),
        44..54 => heading(source, text),
        54..72 => list(source, text),
        72..78 => table(source, text),
        78..88 => code_block(source, text),
        88..95 => emphasised(source, text),
        _ => reference(source, text),
    }
}

fn heading(source: &mut Source, text: &mut String) {
    text.push_str(source.pick(&["# ", "## ", "## ", "### ", "### ", "#### "]));
    for index in 0..source.between(2, 6) {
        if index > 0 {
            text.push(' ');
        }
        capitalised(source, text);
    }
    text.push_str("\n\n");
}

fn list(source: &mut Source, text: &mut String) {
    let numbered = source.one_in(3);
    for index in 1..=source.between(3, 8) {
        if numbered {
            let _ = write!(text, "{index}. ");
        } else {
            text.push_str("- ");
        }
        if source.one_in(2) {
            text.push_str("**");
            capitalised(source, text);
            text.push_str(":** ");
        }
        sentence(source, text);
        text.push('\n');
    }
    text.push('\n');
}

fn table(source: &mut Source, text: &mut String) {
    let columns = source.between(2, 5);
    text.push('|');
    for _ in 0..columns {
        text.push(' ');
        capitalised(source, text);
        text.push_str(" |");
    }
    text.push_str("\n|");
    for _ in 0..columns {
        text.push_str(" --- |");
    }
    for _ in 0..source.between(3, 10) {
        text.push_str("\n|");
        for _ in 0..columns {
            text.push(' ');
            match source.bits(2) {
                0 => number(source, text),
                1 => date(source, text),
                _ => words(source, text, 2),
            }
            text.push_str(" |");
        }
    }
    text.push_str("\n\n");
}

fn code_block(source: &mut Source, text: &mut String) {
    text.push_str(source.pick(&["```rust\n", "```python\n", "```json\n", "```\n"]));
    code::lines(source, text);
    text.push_str("```\n\n");
}

fn emphasised(source: &mut Source, text: &mut String) {
    let count = source.between(3, 9);
    capitalised(source, text);
    text.push(' ');
    words(source, text, count);
    let (open, close) = source.pick(&[(" `", "` "), (" **", "** "), (" *", "* "), (" [", "](")]);
    text.push_str(open);
    match close {
        "` " => code::identifier(source, text),
        "](" => word(source, text),
        _ => words(source, text, 2),
    }
    text.push_str(close);
    if close == "](" {
        url(source, text);
        text.push_str(") ");
    }
    sentence(source, text);
    text.push_str("\n\n");
}

/// Identifiers, checksums and blobs, as in answers about systems.
fn reference(source: &mut Source, text: &mut String) {
    capitalised(source, text);
    text.push(' ');
    words(source, text, 4);
    text.push_str(": ");
    match source.below(16) {
        0..6 => {
            let digits = source.pick(&[32, 32, 32, 40, 64]);
            encoded::upper_hex(source, text, digits);
        }
        6..9 => {
            let digits = source.pick(&[32, 40, 64]);
            encoded::hex(source, text, digits);
        }
        9..14 => encoded::uuid(source, text),
        14 => url(source, text),
        _ => {
            let characters = 4 * source.between(40, 110) as usize;
            encoded::base64(source, text, characters);
        }
    }
    text.push_str("\n\n");
}
