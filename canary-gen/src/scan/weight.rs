//! How much a sighting weighs against chance, in bits (derived in docs/canary-format.md).
//!
//! Canaries are as good as random, so for any text that does not know them the chance that one of its
//! `places` agrees in `matched` bits with one of the canaries is at most `canaries × places / 2^matched`.
//! The weight is the negative logarithm of that bound.

use super::Work;

/// The bits of the tag: what verifies a whole canary.
const TAG_BITS: f64 = 64.0;
/// The minter chooses among sixteen writings, so that a given text may be up to 2⁴ times as likely to
/// be planted as among random ones.
const TWEAK_BITS: f64 = 4.0;

/// The weight of a canary whose tag was verified, after so many others were tried.
pub(super) fn verified(work: &Work) -> u32 {
    rounded(TAG_BITS - (work.openings.max(1) as f64).log2())
}

/// A match against the index.
pub(super) struct Match {
    /// Bits of the canary that the text agrees with.
    pub(super) bits: f64,
    /// Canaries that were compared.
    pub(super) canaries: usize,
    /// Places of the text that were compared so far.
    pub(super) places: u64,
    /// Places of a canary at which the part may begin.
    pub(super) offsets: usize,
}

impl Match {
    pub(super) fn weight(&self) -> u32 {
        let tried = self.canaries as f64 * self.places as f64 * self.offsets as f64;
        rounded(self.bits - TWEAK_BITS - tried.max(1.0).log2())
    }
}

fn rounded(bits: f64) -> u32 {
    if bits > 0.0 { bits as u32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(bits: f64, canaries: usize, places: u64, offsets: usize) -> u32 {
        Match {
            bits,
            canaries,
            places,
            offsets,
        }
        .weight()
    }

    #[test]
    fn a_part_weighs_less_the_more_it_was_compared_with() {
        assert_eq!(weight(50.0, 1, 1, 1), 46);
        assert_eq!(weight(50.0, 1 << 10, 1 << 8, 1 << 4), 24);
        assert_eq!(weight(50.0, 1 << 20, 1 << 30, 1 << 4), 0);
    }

    #[test]
    fn a_verified_canary_weighs_its_tag_less_what_was_tried() {
        let tried = |openings| {
            verified(&Work {
                openings,
                ..Work::default()
            })
        };
        assert_eq!((tried(1), tried(1 << 20)), (64, 44));
    }
}
