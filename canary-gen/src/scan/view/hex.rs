//! Hexadecimal: pairs of digits in one run, or divided by single spaces, colons, dashes, commas or
//! line breaks, with or without `0x` or `\x` before each.

use super::{Decoded, Origin, hex_value, segments};

/// Digits of the shortest run that is read: ten bytes of text.
const SHORTEST: usize = 20;

pub(super) fn read(source: &[u8], decoded: &mut Decoded, each: &mut dyn FnMut(&Decoded)) {
    let mut run: Vec<(u8, u32)> = Vec::with_capacity(source.len());
    let mut bytes = Decoded::default();
    let mut at = 0;
    while at < source.len() {
        let prefix = prefix(&source[at..]);
        if prefix > 0 {
            at += prefix;
        } else if let Some(value) = hex_value(source[at]) {
            run.push((value, at as u32));
            at += 1;
        } else if let Some(length) = separator(&source[at..]).filter(|_| !run.is_empty()) {
            at += length;
        } else {
            read_run(&run, &mut bytes, decoded, each);
            run.clear();
            at += 1;
        }
    }
    read_run(&run, &mut bytes, decoded, each);
}

/// Bytes of `0x` or `\x` before a pair of digits.
fn prefix(rest: &[u8]) -> usize {
    match rest {
        [b'0' | b'\\', b'x' | b'X', high, low, ..]
            if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
        {
            2
        }
        _ => 0,
    }
}

/// Bytes of a separator that digits follow, at once or behind a prefix.
fn separator(rest: &[u8]) -> Option<usize> {
    let length = match rest {
        [b'\r', b'\n', ..] | [b',', b' ', ..] => 2,
        [b' ' | b':' | b'-' | b',' | b'\n', ..] => 1,
        _ => return None,
    };
    let next = &rest[length..];
    let goes_on = next.first().is_some_and(u8::is_ascii_hexdigit) || prefix(next) > 0;
    goes_on.then_some(length)
}

fn read_run(
    run: &[(u8, u32)],
    bytes: &mut Decoded,
    segment: &mut Decoded,
    each: &mut dyn FnMut(&Decoded),
) {
    if run.len() < SHORTEST {
        return;
    }
    for phase in 0..2 {
        let pairs = run[phase..].chunks_exact(2);
        if !segments::may_hold_text(pairs.map(|pair| pair[0].0 << 4 | pair[1].0)) {
            continue;
        }
        bytes.clear();
        for pair in run[phase..].chunks_exact(2) {
            bytes.text.push(pair[0].0 << 4 | pair[1].0);
            bytes.origins.push(Origin {
                start: pair[0].1,
                end: pair[1].1 + 1,
            });
        }
        segments::textual(&bytes.text, &bytes.origins, segment, each);
    }
}
