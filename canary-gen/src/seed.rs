//! Randomness as a tree with labels: a child seed depends on its parent and a fixed label only,
//! so one more draw in one place changes nothing in another.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use ring::hmac;

/// A 32-byte seed of deterministic choices. Not a secret: it may be logged and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed([u8; 32]);

impl Seed {
    /// The root of a tree, from a number that a person can type.
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        Self([0; 32]).derive(b"root", &number.to_be_bytes())
    }

    /// A seed that was kept as bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be kept.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The seed of a part of the work. Different labels give unrelated seeds.
    #[must_use]
    pub fn child(&self, label: &str) -> Self {
        self.derive(label.as_bytes(), &[])
    }

    /// The seed of the `index`-th part of its kind.
    #[must_use]
    pub fn child_number(&self, label: &str, index: u64) -> Self {
        self.derive(label.as_bytes(), &index.to_be_bytes())
    }

    /// A stream of choices drawn from this seed.
    #[must_use]
    pub fn choices(&self) -> Choices {
        Choices(ChaCha8Rng::from_seed(self.0))
    }

    fn derive(&self, label: &[u8], suffix: &[u8]) -> Self {
        let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &self.0));
        mac.update(label);
        mac.update(&[0]);
        mac.update(suffix);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(mac.sign().as_ref());
        Self(bytes)
    }
}

/// Deterministic choices (ChaCha8), the same on every machine.
#[derive(Clone, Debug)]
pub struct Choices(ChaCha8Rng);

impl Choices {
    /// A number in `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `low..=high` (`low` when the range is empty).
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// A number in `[0, 1)`.
    pub fn fraction(&mut self) -> f64 {
        // 53 bits: every value is exact in an f64.
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of `items`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// Bits for several small choices, for one step of the stream.
    pub fn draw(&mut self) -> Draw {
        Draw(self.0.next_u64())
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// 64 random bits, used up by small choices. While the product of all their bounds stays below 2³²,
/// no outcome is likelier than another by more than one in 2³².
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// A number in `0..bound`; 0 when `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        let product = u128::from(self.0) * u128::from(bound);
        // The bits are a fraction: its product's whole part is the choice, the rest is as good a fraction.
        self.0 = product as u64;
        (product >> 64) as u32
    }

    /// One of `items`, which must not be empty.
    #[inline]
    pub fn pick<'a, T, const COUNT: usize>(&mut self, items: &'a [T; COUNT]) -> &'a T {
        &items[self.below(COUNT as u32) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_depend_on_parent_and_label_only() {
        let root = Seed::from_number(7);
        let mut before = root.child("a").choices();
        let _ = root.child("b").choices().below(10);
        assert_eq!(
            before.below(1 << 40),
            root.child("a").choices().below(1 << 40)
        );
        assert_ne!(root.child("a"), root.child("b"));
        assert_ne!(root.child_number("a", 1), root.child_number("a", 2));
        assert_ne!(root, Seed::from_number(8));
    }

    #[test]
    fn choices_stay_in_their_range() {
        let mut choices = Seed::from_number(1).choices();
        for _ in 0..1_000 {
            assert!(choices.below(7) < 7);
            assert!((3..=5).contains(&choices.between(3, 5)));
            assert!((0.0..1.0).contains(&choices.fraction()));
        }
        assert_eq!(choices.below(0), 0);
    }

    #[test]
    fn the_choices_of_a_draw_are_even_and_independent() {
        let mut choices = Seed::from_number(2).choices();
        let mut counts = [[[0u32; 5]; 4]; 3];
        for _ in 0..60_000 {
            let mut draw = choices.draw();
            let first = *draw.pick(&[0usize, 1, 2]);
            let [second, third] = [4, 5].map(|bound| draw.below(bound) as usize);
            counts[first][second][third] += 1;
        }
        // 1,000 are expected, with a standard deviation of 31.
        let all = counts.as_flattened().as_flattened();
        assert!(
            all.iter().all(|count| (850..1_150).contains(count)),
            "{all:?}"
        );
        assert_eq!(choices.draw().below(0), 0);
    }
}
