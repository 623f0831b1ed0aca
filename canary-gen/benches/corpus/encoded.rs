//! Hexadecimal, UUIDs, base64 and base32: what looks most like a canary.

use super::prose;
use super::source::Source;
use std::fmt::Write as _;

const HEX: &[u8; 16] = b"0123456789abcdef";
const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE32: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LOWER_BASE32: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Appends so many lower-case hexadecimal digits.
pub(super) fn hex(source: &mut Source, text: &mut String, digits: usize) {
    source.append(text, HEX, digits);
}

/// Appends so many upper-case hexadecimal digits.
pub(super) fn upper_hex(source: &mut Source, text: &mut String, digits: usize) {
    source.append(text, UPPER_HEX, digits);
}

/// Appends a random (version 4) UUID.
pub(super) fn uuid(source: &mut Source, text: &mut String) {
    hex(source, text, 8);
    text.push('-');
    hex(source, text, 4);
    text.push_str("-4");
    hex(source, text, 3);
    text.push('-');
    source.append(text, b"89ab", 1);
    hex(source, text, 3);
    text.push('-');
    hex(source, text, 12);
}

/// Appends random bytes in base64, without a line break: `characters`, a multiple of four.
pub(super) fn base64(source: &mut Source, text: &mut String, characters: usize) {
    source.append(text, BASE64, characters.saturating_sub(2));
    text.push_str(source.pick(&["==", "A=", "xQ", "k="]));
}

/// A block of a hex dump, of plain hexadecimal lines, or of a list of checksums.
pub(super) fn hex_dump(source: &mut Source, text: &mut String) {
    match source.bits(2) {
        0 => dump_with_offsets(source, text),
        1 => {
            for _ in 0..16 {
                hex(source, text, 60);
                text.push('\n');
            }
        }
        2 => {
            for _ in 0..16 {
                upper_hex(source, text, 64);
                text.push('\n');
            }
        }
        _ => {
            for _ in 0..16 {
                let digits = source.pick(&[32, 40, 64]);
                hex(source, text, digits);
                text.push_str("  ");
                prose::word(source, text);
                text.push_str(".tar.gz\n");
            }
        }
    }
}

fn dump_with_offsets(source: &mut Source, text: &mut String) {
    for line in 0..16 {
        let _ = write!(text, "{:08x}: ", line * 16);
        let bytes = source.bytes::<16>();
        for pair in bytes.chunks_exact(2) {
            for byte in pair {
                text.push(char::from(HEX[usize::from(byte >> 4)]));
                text.push(char::from(HEX[usize::from(byte & 15)]));
            }
            text.push(' ');
        }
        text.push(' ');
        text.extend(bytes.map(|byte| {
            if byte.is_ascii_graphic() {
                char::from(byte)
            } else {
                '.'
            }
        }));
        text.push('\n');
    }
}

/// A line of a structured log.
pub(super) fn uuid_log_line(source: &mut Source, text: &mut String) {
    let (minute, second, millis) = (source.below(60), source.below(60), source.below(1000));
    let _ = write!(
        text,
        r#"{{"ts":"2026-12-01T12:{minute:02}:{second:02}.{millis:03}Z","level":"{}","trace_id":""#,
        source.pick(&["info", "warn", "debug"])
    );
    hex(source, text, 32);
    text.push_str(r#"","span_id":""#);
    hex(source, text, 16);
    for field in ["request_id", "tenant_id", "session_id", "idempotency_key"] {
        let _ = write!(text, r#"","{field}":""#);
        uuid(source, text);
    }
    text.push_str(r#"","message":""#);
    prose::words(source, text, 6);
    let _ = writeln!(text, r#"","elapsed_us":{}}}"#, source.bits(20));
}

/// A block of base64: in lines, as a data URL, as a web token, or text within.
pub(super) fn base64_blob(source: &mut Source, text: &mut String) {
    match source.bits(2) {
        0 => {
            for _ in 0..24 {
                source.append(text, BASE64, 76);
                text.push('\n');
            }
            base64(source, text, 40);
        }
        1 => {
            text.push_str(r#"<img src="data:image/png;base64,iVBORw0KGgo"#);
            base64(source, text, 2000);
            text.push_str(r#""/>"#);
        }
        2 => {
            text.push_str("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.");
            source.append(text, BASE64_URL, 180);
            text.push('.');
            source.append(text, BASE64_URL, 43);
        }
        _ => {
            let mut inner = String::new();
            for _ in 0..2 {
                match source.bits(1) {
                    0 => prose::paragraph(source, &mut inner),
                    _ => uuid_log_line(source, &mut inner),
                }
            }
            encode(inner.as_bytes(), text);
        }
    }
    text.push('\n');
}

fn encode(bytes: &[u8], text: &mut String) {
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            text.push(if place <= three.len() {
                char::from(BASE64[(bits >> (18 - 6 * place)) as usize & 63])
            } else {
                '='
            });
        }
    }
}

/// A line of Crockford base32: grouped as canaries are, otherwise grouped, bare, or without an end.
pub(super) fn base32_line(source: &mut Source, text: &mut String) {
    let alphabet: &[u8] = if source.one_in(3) {
        LOWER_BASE32
    } else {
        BASE32
    };
    let groups: &[usize] = match source.bits(2) {
        0 => &[5, 5, 5, 5, 6],
        1 => &[26],
        2 => &[4, 4, 4, 4, 4, 4, 4, 4],
        _ => &[128],
    };
    for (index, &length) in groups.iter().enumerate() {
        if index > 0 {
            text.push('-');
        }
        source.append(text, alphabet, length);
    }
    text.push(source.pick(&['\n', '\n', ' ', ',']));
}
