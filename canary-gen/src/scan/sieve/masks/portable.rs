//! Masks by a table: what all others must agree with.

use super::{BLOCK, Blocks, Masks, Row, Writing, is_unused};

const UPPER: u8 = 1;
const LOWER: u8 = 2;
const DIGIT: u8 = 4;
const DASH: u8 = 8;
const ESCAPE: u8 = 16;
const BASE64: u8 = 32;
const UNUSED: u8 = 64;
const MARKUP: u8 = 128;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'-' => DASH,
            b'\\' | b'%' | b'&' | 0xc0.. => ESCAPE,
            b'+' | b'/' | b'_' => BASE64,
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            _ => 0,
        };
        if is_unused(byte as u8) {
            classes[byte] |= UNUSED;
        }
        if matches!(byte as u8, b'*' | b'_' | b'~' | b'<' | b'`') {
            classes[byte] |= MARKUP;
        }
        byte += 1;
    }
    classes
};

fn mask(block: &[u8; BLOCK], wanted: u8) -> u64 {
    block.iter().rev().fold(0, |mask, &byte| {
        mask << 1 | u64::from(CLASSES[usize::from(byte)] & wanted != 0)
    })
}

fn gather(blocks: &Blocks, wanted: u8) -> Row {
    Row(std::array::from_fn(|index| mask(&blocks[index], wanted)))
}

pub(super) fn masks(blocks: &Blocks) -> Masks {
    let class = |wanted| gather(blocks, wanted);
    Masks {
        letter: class(UPPER | LOWER),
        upper: class(UPPER),
        digit: class(DIGIT),
        dash: class(DASH),
        escape: class(ESCAPE),
        base64: class(BASE64),
        markup: class(MARKUP),
        unused: class(UNUSED),
    }
}

pub(super) fn writing(block: &[u8; BLOCK]) -> Writing {
    Writing {
        alphanumeric: mask(block, UPPER | LOWER | DIGIT),
        dash: mask(block, DASH),
    }
}
