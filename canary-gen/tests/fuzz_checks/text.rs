//! Texts with canaries in them. A fuzzer cannot forge a canary, so bytes that say "put one here" do.

use canary_gen::{Canary, Form, Identity, Key, ProbeNumber, Slot, TenantNumber};

/// Stands for a canary, with two bytes behind it: which one, and how it is written. (No byte of UTF-8.)
pub(crate) const CANARY: u8 = 0xfe;
/// Longer texts take so long that a fuzzer gets nowhere.
pub(crate) const LONGEST: usize = 40 << 10;

/// The canary of a number, its form and identity: other numbers, other canaries.
pub(crate) fn minted(number: u64) -> (Form, Canary, Identity) {
    let form = Form::ALL[(number % 5) as usize];
    let identity = Identity {
        tenant: TenantNumber::new(number & 0xfff).expect("twelve bits"),
        probe: ProbeNumber::new(number >> 12 & 0x3_ffff_ffff).expect("34 bits"),
        slot: Slot::new(number >> 46 & 0x3fff).expect("14 bits"),
    };
    (
        form,
        Key::from_root(&super::ROOT).mint(identity, form),
        identity,
    )
}

/// Bytes as they are, but for what stands for canaries. `canary` tells the writing of a number.
pub(crate) fn with_canaries(bytes: &[u8], canary: impl Fn(u8) -> String) -> Vec<u8> {
    let mut text = Vec::new();
    let mut rest = bytes;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match tail {
            [number, style, tail @ ..] if byte == CANARY => {
                text.extend(styled(&canary(*number), *style));
                rest = tail;
            }
            _ => text.push(byte),
        }
        if text.len() > LONGEST {
            break;
        }
    }
    text
}

/// The low four bits of `style` say how a writing is changed, the high ones where.
fn styled(writing: &str, style: u8) -> Vec<u8> {
    let place = usize::from(style >> 4) * writing.len() / 16;
    let (head, tail) = writing.split_at(place);
    match style & 15 {
        0 => writing.to_lowercase(),
        1 => writing.to_uppercase(),
        2 => writing.replace('-', ""),
        3 => writing.replace(['-', ' '], "_"),
        4 => head.to_owned(),
        5 => tail.to_owned(),
        // One character lost, changed, added.
        6 => format!("{head}{}", &tail[1..]),
        7 => format!("{head}7{}", &tail[1..]),
        8 => format!("{head}q{tail}"),
        9 => format!("{head}\n{tail}"),
        10 => format!("{head}**{tail}"),
        11 => writing.chars().rev().collect(),
        12 => writing.bytes().map(|byte| format!("{byte:02x}")).collect(),
        13 => writing.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        14 => writing.replace('-', "\\u002d").replace(' ', "&#32;"),
        _ => writing.to_owned(),
    }
    .into_bytes()
}
