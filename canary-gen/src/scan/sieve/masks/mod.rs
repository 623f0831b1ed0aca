//! What the bytes of a text are, sixty-four at a time: bit *i* of a mask speaks of byte *i* of a block.
//!
//! Implementations with the same results (property-tested): a portable one, and AVX2 or AVX-512 where
//! the processor has them, asked once at run time. This module holds the crate's only `unsafe` code:
//! the calls of functions compiled for these, after the processor was asked, and their loads.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::places::Places;
use super::row::{Lanes, Row, WIDTH};
use std::sync::LazyLock;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 64;

/// The blocks of a row: a batch, the block before it and the block behind it.
pub(crate) type Blocks = [[u8; BLOCK]; WIDTH];

/// What the bytes of a row of blocks are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    /// ASCII letters.
    pub(crate) letter: Row,
    /// ASCII upper-case letters.
    pub(crate) upper: Row,
    /// ASCII digits.
    pub(crate) digit: Row,
    /// `-`
    pub(crate) dash: Row,
    /// Bytes that may begin an escape or disguise: `\`, `%`, `&` and the first byte of every character
    /// beyond ASCII.
    pub(crate) escape: Row,
    /// `+`, `/`, `_`: what base64 needs beside letters and digits.
    pub(crate) base64: Row,
    /// What markup inside of words begins with: `*`, `_`, `~`, `<` and the backquote.
    pub(crate) markup: Row,
    /// The letters that no writing of `code` has: `I`, `L`, `O`, `U` of either case.
    pub(crate) unused: Row,
}

/// What the exact search looks at in one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writing {
    pub(crate) alphanumeric: u64,
    pub(crate) dash: u64,
}

impl Writing {
    #[inline(always)]
    pub(crate) fn all(self) -> u64 {
        self.alphanumeric | self.dash
    }
}

/// Whether a byte is a letter of either case that no writing of `code` has.
const fn is_unused(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'i' | b'l' | b'o' | b'u')
}

/// The implementation in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Path {
    /// The fastest this processor has.
    pub(crate) fn best() -> Self {
        static BEST: LazyLock<Path> =
            LazyLock::new(|| Path::all().last().copied().unwrap_or(Path::Portable));
        *BEST
    }

    /// All that this processor has, the fastest last.
    pub(crate) fn all() -> Vec<Self> {
        let mut paths = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                paths.push(Self::Avx2);
            }
            if std::arch::is_x86_feature_detected!("avx512bw") {
                paths.push(Self::Avx512);
            }
        }
        paths
    }

    /// Where in a batch something could stand. `parts`: whether parts of a canary are looked for.
    pub(crate) fn places(self, blocks: &Blocks, parts: bool) -> Places {
        match self {
            Self::Portable => Places::of::<Row>(&portable::masks(blocks), parts),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `all` makes an `Avx2`, where the processor has it.
            Self::Avx2 => unsafe { avx2::places(blocks, parts) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `all` makes an `Avx512`, where the processor has AVX-512 BW.
            Self::Avx512 => unsafe { avx512::places(blocks, parts) },
        }
    }

    /// How many of the first blocks hold no beginning of a whole fixed-length writing, by a quick look
    /// that sees one too many rather than one too few. The last block is only looked at as the one
    /// behind its neighbour.
    pub(crate) fn skip_prose(self, blocks: &[[u8; BLOCK]]) -> usize {
        match self {
            Self::Portable => skip(blocks, |block| portable::writing(block).all()),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 => unsafe { avx2::skip_prose(blocks) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx512 => unsafe { avx512::skip_prose(blocks) },
        }
    }

    /// The letters, digits and dashes of a block.
    pub(crate) fn writing(self, block: &[u8; BLOCK]) -> Writing {
        match self {
            Self::Portable => portable::writing(block),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 => unsafe { avx2::writing(block) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx512 => unsafe { avx512::writing(block) },
        }
    }
}

/// See [`Path::skip_prose`]: with the letters, digits and dashes of a block from `writing`.
#[inline(always)]
fn skip(blocks: &[[u8; BLOCK]], writing: impl Fn(&[u8; BLOCK]) -> u64) -> usize {
    let Some((first, rest)) = blocks.split_first() else {
        return 0;
    };
    let mut here = full_bytes(writing(first));
    for (index, next) in rest.iter().enumerate() {
        let there = full_bytes(writing(next));
        // A run of 23 fills two neighbouring bytes of the masks, wherever it begins.
        if here & here >> 8 != 0 || there & 0x80 != 0 && (here >> 63 == 1 || there & 0x8000 != 0) {
            return index;
        }
        here = there;
    }
    rest.len()
}

/// The top bit of every byte of a mask that has all bits set. (A borrow may mark the byte above a
/// full one as well: one look too many, never one too few.)
#[inline(always)]
fn full_bytes(mask: u64) -> u64 {
    let gaps = !mask;
    gaps.wrapping_sub(0x0101_0101_0101_0101) & !gaps & 0x8080_8080_8080_8080
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks() -> impl Strategy<Value = Box<Blocks>> {
        let byte = prop_oneof![
            any::<u8>(),
            proptest::sample::select(b"  -_+/*<~`\\%&aeiou019AZILOUlocalvapid".to_vec())
        ];
        proptest::collection::vec(byte, WIDTH * BLOCK).prop_map(|bytes| {
            let mut blocks = Box::new([[0; BLOCK]; WIDTH]);
            blocks.as_flattened_mut().copy_from_slice(&bytes);
            blocks
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_path_sees_the_same(blocks in blocks()) {
            let masks = portable::masks(&blocks);
            let skipped = Path::Portable.skip_prose(blocks.as_slice());
            for path in Path::all() {
                let same = match path {
                    Path::Portable => continue,
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: `all` asked the processor.
                    Path::Avx2 => unsafe { avx2::masks(&blocks) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: `all` asked the processor.
                    Path::Avx512 => unsafe { avx512::masks(&blocks) },
                };
                prop_assert_eq!(&same, &masks, "{:?}", path);
                for parts in [false, true] {
                    prop_assert_eq!(path.places(&blocks, parts), Path::Portable.places(&blocks, parts));
                }
                for block in blocks.iter() {
                    prop_assert_eq!(path.writing(block), Path::Portable.writing(block));
                }
                prop_assert_eq!(path.skip_prose(blocks.as_slice()), skipped);
            }
        }

        #[test]
        fn no_run_of_26_begins_in_a_block_that_is_skipped(blocks in blocks(), start in 0usize..WIDTH * BLOCK - 80, length in 20usize..40) {
            let mut blocks = blocks;
            blocks.as_flattened_mut()[start..start + length].fill(b'x');
            let skipped = Path::Portable.skip_prose(blocks.as_slice());
            let text = blocks.as_flattened();
            let begins = (0..text.len() - 26).find(|&at| {
                text[at..at + 26].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
            });
            if let Some(begins) = begins {
                prop_assert!(skipped <= begins / BLOCK);
            }
        }
    }
}
