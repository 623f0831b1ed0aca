//! Masks with AVX2; rows stay plain numbers.

use super::{BLOCK, Blocks, Masks, Places, Row, Writing, skip};
use std::arch::x86_64::{
    __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_slli_epi16, _mm256_sub_epi8,
};

#[target_feature(enable = "avx2")]
fn load(block: &[u8; BLOCK], half: usize) -> __m256i {
    let bytes = &block[32 * half..][..32];
    // SAFETY: the slice has 32 bytes, and the load asks for no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// All ones where `low <= byte < low + count`.
#[target_feature(enable = "avx2")]
fn within(bytes: __m256i, low: u8, count: u8) -> __m256i {
    let from_low = _mm256_sub_epi8(bytes, _mm256_set1_epi8(low as i8));
    let clamped = _mm256_min_epu8(from_low, _mm256_set1_epi8((count - 1) as i8));
    _mm256_cmpeq_epi8(clamped, from_low)
}

#[target_feature(enable = "avx2")]
fn equal(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))
}

#[target_feature(enable = "avx2")]
fn either(one: __m256i, other: __m256i) -> __m256i {
    _mm256_or_si256(one, other)
}

/// The top bit of every byte.
#[target_feature(enable = "avx2")]
fn top_bits(bytes: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(bytes) as u32)
}

#[target_feature(enable = "avx2")]
pub(super) fn masks(blocks: &Blocks) -> Masks {
    let mut masks = Masks::default();
    for (index, block) in blocks.iter().enumerate() {
        for half in 0..2 {
            let bytes = load(block, half);
            let folded = either(bytes, _mm256_set1_epi8(0x20));
            let letter = top_bits(within(folded, b'a', 26));
            let small = top_bits(_mm256_slli_epi16::<2>(bytes));
            let beyond_ascii = within(bytes, 0xc0, 0x40);
            let escape = either(equal(bytes, b'\\'), within(bytes, b'%', 2));
            let slash_or_plus = either(equal(bytes, b'/'), equal(bytes, b'+'));
            let unused = either(
                either(equal(folded, b'i'), equal(folded, b'l')),
                either(equal(folded, b'o'), equal(folded, b'u')),
            );
            let shift = 32 * half;
            masks.letter.0[index] |= letter << shift;
            masks.upper.0[index] |= (letter & !small) << shift;
            masks.digit.0[index] |= top_bits(within(bytes, b'0', 10)) << shift;
            masks.dash.0[index] |= top_bits(equal(bytes, b'-')) << shift;
            masks.escape.0[index] |= top_bits(either(escape, beyond_ascii)) << shift;
            masks.base64.0[index] |= top_bits(either(slash_or_plus, equal(bytes, b'_'))) << shift;
            masks.unused.0[index] |= top_bits(unused) << shift;
            let quote = either(equal(bytes, b'`'), equal(bytes, b'<'));
            let emphasis = either(equal(bytes, b'*'), equal(bytes, b'_'));
            let markup = either(either(quote, emphasis), equal(bytes, b'~'));
            masks.markup.0[index] |= top_bits(markup) << shift;
        }
    }
    masks
}

#[target_feature(enable = "avx2")]
pub(super) fn places(blocks: &Blocks, parts: bool) -> Places {
    Places::of::<Row>(&masks(blocks), parts)
}

#[target_feature(enable = "avx2")]
pub(super) fn writing(block: &[u8; BLOCK]) -> Writing {
    let mut writing = Writing::default();
    for half in 0..2 {
        let bytes = load(block, half);
        let letter = within(either(bytes, _mm256_set1_epi8(0x20)), b'a', 26);
        let symbol = either(letter, within(bytes, b'0', 10));
        writing.alphanumeric |= top_bits(symbol) << (32 * half);
        writing.dash |= top_bits(equal(bytes, b'-')) << (32 * half);
    }
    writing
}

#[target_feature(enable = "avx2")]
pub(super) fn skip_prose(blocks: &[[u8; BLOCK]]) -> usize {
    skip(blocks, |block| writing(block).all())
}
