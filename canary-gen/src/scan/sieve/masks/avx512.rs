//! Masks with AVX-512 BW, and rows in two of its registers.

use super::{BLOCK, Blocks, Lanes, Masks, Places, Row, Writing, skip};
use std::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm512_alignr_epi64, _mm512_and_si512, _mm512_cmpeq_epi8_mask,
    _mm512_cmplt_epu8_mask, _mm512_loadu_si512, _mm512_or_si512, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_sll_epi64, _mm512_srl_epi64,
    _mm512_storeu_si512, _mm512_sub_epi8, _mm512_test_epi64_mask, _mm512_xor_si512,
};
use std::ops::{BitAnd, BitOr, Not};

/// A row in two registers. Its methods are for functions compiled for AVX-512 only: they are
/// inlined there, and nobody else can name the type.
#[derive(Clone, Copy)]
struct Registers(__m512i, __m512i);

impl Registers {
    #[inline(always)]
    fn both(self, other: Self, join: impl Fn(__m512i, __m512i) -> __m512i) -> Self {
        Self(join(self.0, other.0), join(self.1, other.1))
    }
}

// SAFETY (of every block in these four): only `places` below makes and uses `Registers`; it is
// compiled for AVX-512 and called where the processor has it.
impl BitAnd for Registers {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        // SAFETY: see above.
        self.both(other, |one, other| unsafe { _mm512_and_si512(one, other) })
    }
}

impl BitOr for Registers {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        // SAFETY: see above.
        self.both(other, |one, other| unsafe { _mm512_or_si512(one, other) })
    }
}

impl Not for Registers {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: see above.
        let ones = unsafe { _mm512_set1_epi64(-1) };
        // SAFETY: see above.
        self.both(Self(ones, ones), |one, other| unsafe {
            _mm512_xor_si512(one, other)
        })
    }
}

impl Lanes for Registers {
    #[inline(always)]
    fn load(row: &Row) -> Self {
        let (low, high) = row.0.split_at(8);
        // SAFETY: see above; eight numbers are 64 bytes, and the loads ask for no alignment.
        unsafe {
            Self(
                _mm512_loadu_si512(low.as_ptr().cast()),
                _mm512_loadu_si512(high.as_ptr().cast()),
            )
        }
    }

    #[inline(always)]
    fn store(self) -> Row {
        let mut row = Row::default();
        let (low, high) = row.0.split_at_mut(8);
        // SAFETY: see above; eight numbers are 64 bytes, and the stores ask for no alignment.
        unsafe {
            _mm512_storeu_si512(low.as_mut_ptr().cast(), self.0);
            _mm512_storeu_si512(high.as_mut_ptr().cast(), self.1);
        }
        row
    }

    #[inline(always)]
    fn ahead(self, by: u32) -> Self {
        // SAFETY: see above.
        unsafe {
            let nothing = _mm512_setzero_si512();
            let next = Self(
                _mm512_alignr_epi64::<1>(self.1, self.0),
                _mm512_alignr_epi64::<1>(nothing, self.1),
            );
            let (down, up) = (
                _mm_cvtsi32_si128(by as i32),
                _mm_cvtsi32_si128(64 - by as i32),
            );
            self.both(next, |own, next| {
                _mm512_or_si512(_mm512_srl_epi64(own, down), _mm512_sll_epi64(next, up))
            })
        }
    }

    #[inline(always)]
    fn behind(self, by: u32) -> Self {
        // SAFETY: see above.
        unsafe {
            let nothing = _mm512_setzero_si512();
            let previous = Self(
                _mm512_alignr_epi64::<7>(self.0, nothing),
                _mm512_alignr_epi64::<7>(self.1, self.0),
            );
            let (up, down) = (
                _mm_cvtsi32_si128(by as i32),
                _mm_cvtsi32_si128(64 - by as i32),
            );
            self.both(previous, |own, previous| {
                _mm512_or_si512(_mm512_sll_epi64(own, up), _mm512_srl_epi64(previous, down))
            })
        }
    }

    #[inline(always)]
    fn any(self) -> bool {
        // SAFETY: see above.
        unsafe {
            let either = _mm512_or_si512(self.0, self.1);
            _mm512_test_epi64_mask(either, either) != 0
        }
    }
}

#[target_feature(enable = "avx512bw")]
fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the block has 64 bytes, and the load asks for no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

/// Where `low <= byte < low + count`.
#[target_feature(enable = "avx512bw")]
fn within(bytes: __m512i, low: u8, count: u8) -> u64 {
    let from_low = _mm512_sub_epi8(bytes, _mm512_set1_epi8(low as i8));
    _mm512_cmplt_epu8_mask(from_low, _mm512_set1_epi8(count as i8))
}

#[target_feature(enable = "avx512bw")]
fn equal(bytes: __m512i, byte: u8) -> u64 {
    _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8))
}

#[target_feature(enable = "avx512bw")]
pub(super) fn masks(blocks: &Blocks) -> Masks {
    let mut masks = Masks::default();
    for (index, block) in blocks.iter().enumerate() {
        let bytes = load(block);
        let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
        let letter = within(folded, b'a', 26);
        let escape = equal(bytes, b'\\') | within(bytes, b'%', 2);
        masks.letter.0[index] = letter;
        masks.upper.0[index] = within(bytes, b'A', 26);
        masks.digit.0[index] = within(bytes, b'0', 10);
        masks.dash.0[index] = equal(bytes, b'-');
        masks.escape.0[index] = escape | within(bytes, 0xc0, 0x40);
        masks.base64.0[index] = equal(bytes, b'+') | equal(bytes, b'/') | equal(bytes, b'_');
        masks.markup.0[index] = equal(bytes, b'*')
            | equal(bytes, b'_')
            | equal(bytes, b'~')
            | equal(bytes, b'<')
            | equal(bytes, b'`');
        masks.unused.0[index] =
            equal(folded, b'i') | equal(folded, b'l') | equal(folded, b'o') | equal(folded, b'u');
    }
    masks
}

#[target_feature(enable = "avx512bw")]
pub(super) fn places(blocks: &Blocks, parts: bool) -> Places {
    Places::of::<Registers>(&masks(blocks), parts)
}

#[target_feature(enable = "avx512bw")]
pub(super) fn writing(block: &[u8; BLOCK]) -> Writing {
    let bytes = load(block);
    let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    Writing {
        alphanumeric: within(folded, b'a', 26) | within(bytes, b'0', 10),
        dash: equal(bytes, b'-'),
    }
}

#[target_feature(enable = "avx512bw")]
pub(super) fn skip_prose(blocks: &[[u8; BLOCK]]) -> usize {
    skip(blocks, |block| writing(block).all())
}
