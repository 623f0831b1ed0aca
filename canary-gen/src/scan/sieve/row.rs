//! Rows: the bit masks of several blocks in a row, computed with all at once. Plain loops over arrays,
//! which the compiler turns into vector instructions of whatever width its caller was compiled for.

use std::ops::{BitAnd, BitOr, Not};

/// Blocks of a row: a batch, the block before it and the block behind it.
pub(crate) const WIDTH: usize = 16;

/// One bit for each byte of [`WIDTH`] blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Row(pub(crate) [u64; WIDTH]);

impl Default for Row {
    fn default() -> Self {
        Self([0; WIDTH])
    }
}

/// What rows can do. The one of plain numbers is below; `masks` has another in vector registers.
pub(crate) trait Lanes:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    fn load(row: &Row) -> Self;
    fn store(self) -> Row;

    /// Each bit tells of the byte `by` (1 to 63) places further on; beyond the row there is nothing.
    fn ahead(self, by: u32) -> Self;

    /// Each bit tells of the byte `by` (1 to 63) places before; before the row there is nothing.
    fn behind(self, by: u32) -> Self;

    /// Whether any bit is set.
    fn any(self) -> bool;

    /// Whether this bit and the ones behind it, `length` in all, are set.
    #[inline(always)]
    fn run(self, length: u32) -> Self {
        let mut all = self;
        let mut covered = 1;
        while covered < length {
            let step = covered.min(length - covered);
            all = all & all.ahead(step);
            covered += step;
        }
        all
    }

    /// Whether this bit or one of the `length - 1` behind it is set.
    #[inline(always)]
    fn within(self, length: u32) -> Self {
        let mut any = self;
        let mut covered = 1;
        while covered < length {
            let step = covered.min(length - covered);
            any = any | any.ahead(step);
            covered += step;
        }
        any
    }

    /// Whether this bit or one of the `length - 1` before it is set.
    #[inline(always)]
    fn since(self, length: u32) -> Self {
        let mut any = self;
        let mut covered = 1;
        while covered < length {
            let step = covered.min(length - covered);
            any = any | any.behind(step);
            covered += step;
        }
        any
    }
}

impl Lanes for Row {
    #[inline(always)]
    fn load(row: &Row) -> Self {
        *row
    }

    #[inline(always)]
    fn store(self) -> Row {
        self
    }

    #[inline(always)]
    fn ahead(self, by: u32) -> Self {
        let mut next = [0; WIDTH];
        next[..WIDTH - 1].copy_from_slice(&self.0[1..]);
        let mut row = self.0;
        for (own, next) in row.iter_mut().zip(next) {
            *own = *own >> by | next << (64 - by);
        }
        Self(row)
    }

    #[inline(always)]
    fn behind(self, by: u32) -> Self {
        let mut previous = [0; WIDTH];
        previous[1..].copy_from_slice(&self.0[..WIDTH - 1]);
        let mut row = self.0;
        for (own, previous) in row.iter_mut().zip(previous) {
            *own = *own << by | previous >> (64 - by);
        }
        Self(row)
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().fold(0, |any, own| any | own) != 0
    }
}

impl BitAnd for Row {
    type Output = Self;

    #[inline(always)]
    fn bitand(mut self, other: Self) -> Self {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own &= other;
        }
        self
    }
}

impl BitOr for Row {
    type Output = Self;

    #[inline(always)]
    fn bitor(mut self, other: Self) -> Self {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own |= other;
        }
        self
    }
}

impl Not for Row {
    type Output = Self;

    #[inline(always)]
    fn not(mut self) -> Self {
        for own in &mut self.0 {
            *own = !*own;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BITS: usize = WIDTH * 64;

    fn bits(row: Row) -> Vec<bool> {
        (0..BITS)
            .map(|at| row.0[at / 64] >> (at % 64) & 1 == 1)
            .collect()
    }

    proptest! {
        #[test]
        fn rows_are_long_numbers_of_bits(words: [u64; WIDTH], fill: [u64; WIDTH], by in 1u32..64) {
            let row = Row(words) | Row(fill) | Row(words.map(|word| word.rotate_left(3)));
            let plain = bits(row);
            let distance = by as usize;
            let is_set = |at: usize| plain.get(at).copied().unwrap_or(false);
            for at in 0..BITS {
                let ahead = bits(row.ahead(by))[at];
                prop_assert_eq!(ahead, is_set(at + distance));
                prop_assert_eq!(bits(row.behind(by))[at], at >= distance && plain[at - distance]);
                if at % 97 == 0 {
                    let all = (at..at + distance).all(is_set);
                    prop_assert_eq!(bits(row.run(by))[at], all);
                    let any = (at..at + distance).any(is_set);
                    prop_assert_eq!(bits(row.within(by))[at], any);
                    let since = (at.saturating_sub(distance - 1)..=at).any(is_set);
                    prop_assert_eq!(bits(row.since(by))[at], since);
                }
            }
        }
    }
}
