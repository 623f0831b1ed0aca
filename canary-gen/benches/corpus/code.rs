//! Source code: lines as they stand in repositories, none of it meant to compile.

use super::encoded;
use super::prose::{any_word, number, word, words};
use super::source::Source;
use std::fmt::Write as _;

/// A few lines of one language, and an empty one.
pub(super) fn lines(source: &mut Source, text: &mut String) {
    let line = match source.bits(2) {
        0 | 1 => rust_line,
        2 => python_line,
        _ => json_line,
    };
    for _ in 0..source.between(4, 24) {
        line(source, text);
        text.push('\n');
    }
    text.push('\n');
}

/// Appends an identifier of one to three words.
pub(super) fn identifier(source: &mut Source, text: &mut String) {
    word(source, text);
    for _ in 0..source.below(3) {
        text.push('_');
        word(source, text);
    }
}

fn type_name(source: &mut Source, text: &mut String) {
    super::prose::capitalised(source, text);
    super::prose::capitalised(source, text);
}

fn rust_line(source: &mut Source, text: &mut String) {
    indent(source, text);
    match source.bits(3) {
        0 => {
            text.push_str("// ");
            words(source, text, 9);
        }
        1 => {
            text.push_str("pub fn ");
            identifier(source, text);
            text.push_str("(&self, ");
            identifier(source, text);
            text.push_str(": &");
            type_name(source, text);
            text.push_str(") -> Option<u64> {");
        }
        2 => {
            text.push_str("assert_eq!(");
            identifier(source, text);
            let _ = write!(text, ", 0x{:08X}u32);", source.bits(32));
        }
        3 => {
            text.push_str("const ");
            let _ = write!(
                text,
                "{}_{}",
                any_word(source).to_ascii_uppercase(),
                any_word(source).to_ascii_uppercase()
            );
            text.push_str(": &str = \"");
            words(source, text, 4);
            text.push_str("\\n\\t\\u{1F600}\";");
        }
        4 => text.push('}'),
        _ => {
            text.push_str("let ");
            identifier(source, text);
            text.push_str(" = self.");
            identifier(source, text);
            text.push('(');
            identifier(source, text);
            let _ = write!(text, ", {});", source.bits(12));
        }
    }
}

fn python_line(source: &mut Source, text: &mut String) {
    indent(source, text);
    match source.bits(2) {
        0 => {
            text.push_str("def ");
            identifier(source, text);
            text.push('(');
            identifier(source, text);
            text.push_str("=None):");
        }
        1 => {
            text.push_str("self.");
            identifier(source, text);
            text.push_str("['");
            word(source, text);
            text.push_str("'] = ");
            number(source, text);
        }
        2 => {
            text.push_str("raise ValueError(f\"");
            words(source, text, 5);
            text.push_str(" {");
            identifier(source, text);
            text.push_str("!r}\")");
        }
        _ => {
            text.push_str("from ");
            identifier(source, text);
            text.push_str(" import ");
            identifier(source, text);
        }
    }
}

fn json_line(source: &mut Source, text: &mut String) {
    indent(source, text);
    text.push('"');
    identifier(source, text);
    text.push_str("\": ");
    match source.bits(4) {
        0..4 => {
            text.push('"');
            words(source, text, 4);
            text.push_str("\\n\\\"caf\\u00e9\\\" \\/");
            text.push('"');
        }
        4 => {
            text.push_str("\"sha256:");
            // Lock files and manifests have one every few dozen lines.
            if source.one_in(4) {
                encoded::hex(source, text, 64);
            } else {
                encoded::hex(source, text, 12);
            }
            text.push('"');
        }
        5..8 => text.push_str("true"),
        8..10 => text.push_str("null"),
        _ => {
            let _ = write!(text, "{}", source.bits(14));
        }
    }
    text.push(',');
}

fn indent(source: &mut Source, text: &mut String) {
    text.push_str(source.pick(&["", "    ", "    ", "        ", "        ", "            "]));
}
