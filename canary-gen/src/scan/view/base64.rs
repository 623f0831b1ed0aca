//! Base64 (RFC 4648 sections 4 and 5): the standard alphabet and the one for URLs, also mixed, with
//! line breaks inside. A piece may begin anywhere in a group of four, so each run is read at its four
//! phases.

use super::{Decoded, Origin, segments};

/// Characters of the shortest run that is read: ten bytes of text.
const SHORTEST: usize = 14;
const NO_VALUE: u8 = 0xff;

static VALUES: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut values = [NO_VALUE; 256];
    let mut index = 0;
    while index < alphabet.len() {
        values[alphabet[index] as usize] = index as u8;
        index += 1;
    }
    values[b'+' as usize] = 62;
    values[b'-' as usize] = 62;
    values[b'/' as usize] = 63;
    values[b'_' as usize] = 63;
    values
};

pub(super) fn read(source: &[u8], decoded: &mut Decoded, each: &mut dyn FnMut(&Decoded)) {
    let mut run = Vec::with_capacity(source.len());
    let mut bytes = Decoded::default();
    let mut at = 0;
    while at < source.len() {
        if VALUES[usize::from(source[at])] != NO_VALUE {
            run.push(at as u32);
            at += 1;
            continue;
        }
        match line_break(&source[at..]) {
            Some(length) if !run.is_empty() => at += length,
            _ => {
                read_run(source, &run, &mut bytes, decoded, each);
                run.clear();
                at += 1;
            }
        }
    }
    read_run(source, &run, &mut bytes, decoded, each);
}

/// Bytes of a line break and its indentation, if base64 goes on behind it.
fn line_break(rest: &[u8]) -> Option<usize> {
    let newline = match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => return None,
    };
    let indentation = rest[newline..]
        .iter()
        .take(2)
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let next = rest.get(newline + indentation)?;
    (VALUES[usize::from(*next)] != NO_VALUE).then_some(newline + indentation)
}

/// Reads the characters at the places of `run` at each phase.
fn read_run(
    source: &[u8],
    run: &[u32],
    bytes: &mut Decoded,
    segment: &mut Decoded,
    each: &mut dyn FnMut(&Decoded),
) {
    let is = |test: fn(&u8) -> bool| run.iter().any(|&at| test(&source[at as usize]));
    if run.len() < SHORTEST || !is(u8::is_ascii_uppercase) || !is(u8::is_ascii_lowercase) {
        return;
    }
    for phase in 0..4 {
        let group_bytes = run[phase..].chunks(4).flat_map(|group| {
            let bits = bits_of(source, group);
            (0..group.len() - 1).map(move |index| (bits >> (16 - 8 * index)) as u8)
        });
        if !segments::may_hold_text(group_bytes) {
            continue;
        }
        bytes.clear();
        for group in run[phase..].chunks(4) {
            let bits = bits_of(source, group);
            for index in 0..group.len() - 1 {
                bytes.text.push((bits >> (16 - 8 * index)) as u8);
                bytes.origins.push(Origin {
                    start: group[index],
                    end: group[index + 1] + 1,
                });
            }
        }
        segments::textual(&bytes.text, &bytes.origins, segment, each);
    }
}

/// The 24 bits of a group of up to four characters, the first one's on top.
#[inline]
fn bits_of(source: &[u8], group: &[u32]) -> u32 {
    let bits = group.iter().fold(0, |bits, &at| {
        bits << 6 | u32::from(VALUES[usize::from(source[at as usize])])
    });
    bits << (6 * (4 - group.len()))
}
