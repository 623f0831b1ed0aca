//! The choices that make a text, a few bits at a time: a word costs sixteen of them.

use canary_gen::Seed;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A stream of cheap deterministic choices.
pub(super) struct Source {
    rng: ChaCha8Rng,
    bits: u64,
    left: u32,
}

impl Source {
    pub(super) fn new(seed: &Seed) -> Self {
        Self {
            rng: ChaCha8Rng::from_seed(*seed.as_bytes()),
            bits: 0,
            left: 0,
        }
    }

    /// A number of `count` random bits, at most 32.
    pub(super) fn bits(&mut self, count: u32) -> u32 {
        if self.left < count {
            self.bits = self.rng.next_u64();
            self.left = u64::BITS;
        }
        let low = self.bits & ((1 << count) - 1);
        self.bits >>= count;
        self.left -= count;
        low as u32
    }

    /// A number in `0..bound`; of at most 2¹⁶, so that the bias is below one in 2⁸ and no matter.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        debug_assert!(bound <= 1 << 16);
        ((u64::from(self.bits(24)) * u64::from(bound)) >> 24) as u32
    }

    /// A number in `low..=high`.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// True once in `bound` times.
    pub(super) fn one_in(&mut self, bound: u32) -> bool {
        self.below(bound) == 0
    }

    /// One of `items`, which must not be empty.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }

    /// Random bytes.
    pub(super) fn bytes<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        let mut bytes = [0; COUNT];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    /// Appends `count` random characters of an alphabet of ASCII characters.
    pub(super) fn append(&mut self, text: &mut String, alphabet: &[u8], count: usize) {
        if alphabet.len().is_power_of_two() {
            let bits = alphabet.len().trailing_zeros();
            text.extend((0..count).map(|_| char::from(alphabet[self.bits(bits) as usize])));
        } else {
            text.extend((0..count).map(|_| char::from(self.pick(alphabet))));
        }
    }
}
