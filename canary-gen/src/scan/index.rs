//! The index of recently planted canaries: how a part of one is recognised when its tag is lost.
//!
//! Every planted canary is entered with *seeds*: short runs of its symbols, at every second or third
//! of its places. A scan looks every place of a candidate up; each part that is long enough, and each
//! canary with two damages, keeps at least one seed unharmed (the table below says why).

use crate::canary::Canary;
use crate::form::{Alphabet, Form, words};
use std::fmt;

/// The symbols of one canary: character values, in `words` word numbers.
pub(super) type Symbols = Vec<u16>;

/// What counts as a part of a writing, which runs of its symbols are seeds, and which runs of a text
/// are looked up.
///
/// A part of `part` symbols holds `part - seed + 1` runs of `seed` symbols that begin one symbol
/// apart. Either all of them are seeds, and every so manyth run of a text is looked up; or all runs of
/// a text are looked up, and every so manyth run of a canary is a seed. A canary with two damages keeps
/// a run of `(length - 2) / 3` symbols (rounded up) unharmed, and the same must hold for it: where a
/// text is long enough for a whole canary, more of its runs are looked up. In `names` a seed is two
/// parts: of eight parts two damages harm four at most (a swap over a boundary harms two), and two of
/// the others stand side by side.
#[derive(Debug)]
pub(super) struct Grain {
    /// Symbols of a whole canary.
    pub(super) length: usize,
    /// The shortest part that is recognised.
    pub(super) part: usize,
    pub(super) seed: usize,
    /// From one seed of a canary to the next.
    stride: usize,
    /// From one run of a text that is looked up to the next, for parts and for whole canaries.
    probes: (usize, usize),
    radix: u64,
}

impl Grain {
    pub(super) const fn of(form: Form) -> Self {
        let (length, part, seed, stride, probes, radix) = match form {
            Form::Code => (26, 10, 7, 1, (4, 2), 32),
            Form::Uuid => (32, 12, 9, 1, (4, 2), 16),
            Form::Digits => (40, 15, 11, 3, (1, 1), 10),
            Form::Words => (words::LENGTH, 4, 3, 1, (1, 1), words::COUNT as u64),
            Form::Names => (40, 20, 10, 5, (1, 1), 20),
        };
        Self {
            length,
            part,
            seed,
            stride,
            probes,
            radix,
        }
    }

    /// From one run to look up to the next, in a text of so many symbols.
    pub(super) fn probe(&self, symbols: usize) -> usize {
        if symbols + 2 < self.length {
            self.probes.0
        } else {
            self.probes.1
        }
    }

    /// The number that a run of `seed` symbols writes.
    pub(super) fn key<S: Copy + Into<u64>>(&self, run: &[S]) -> u64 {
        run.iter()
            .fold(0, |key, &symbol| key * self.radix + symbol.into())
    }

    /// How many bits of evidence one damage costs: the logarithm of the number of texts that are one
    /// edit away.
    pub(super) fn bits_of_a_damage(&self) -> f64 {
        let length = self.length as f64;
        ((2.0 * length + 1.0) * self.radix as f64 + 2.0 * length).log2()
    }

    fn seed_places(&self) -> impl Iterator<Item = usize> {
        (0..=self.length - self.seed).step_by(self.stride)
    }
}

/// The most seeds a canary has in any form.
const MOST_SEEDS: usize = 24;
/// Slots of the table for each seed, as a fraction: a fifth of the table stays empty.
const SLOTS_PER_SEED: (usize, usize) = (5, 4);
const EMPTY: u64 = 0;

/// Recently planted canaries, the oldest forgotten first. A million of them take 245 MiB at most.
pub struct Index {
    capacity: usize,
    /// A ring once it is full: `oldest` is overwritten next.
    entries: Vec<Entry>,
    oldest: usize,
    /// Open addressing: the seed's hash above, the number of the entry + 1 below.
    slots: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Entry {
    canary: Canary,
    form: Form,
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({} of {})", self.entries.len(), self.capacity)
    }
}

impl Index {
    /// An empty index of at most so many canaries (at least 1, at most 2³¹). Takes its memory as it
    /// fills: 257 bytes a canary at most, whatever the form.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(1, 1 << 31);
        let (slots, seeds) = SLOTS_PER_SEED;
        Self {
            capacity,
            entries: Vec::new(),
            oldest: 0,
            slots: vec![EMPTY; capacity * MOST_SEEDS * slots / seeds + 1],
        }
    }

    /// How many canaries it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was planted yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Enters a canary that was, or is about to be, planted in `form`.
    pub fn plant(&mut self, form: Form, canary: &Canary) {
        let entry = Entry {
            canary: *canary,
            form,
        };
        let number = if self.entries.len() < self.capacity {
            self.entries.push(entry);
            self.entries.len() - 1
        } else {
            let number = self.oldest;
            self.oldest = (number + 1) % self.capacity;
            self.forget_seeds(number);
            self.entries[number] = entry;
            number
        };
        for hash in seed_hashes(entry) {
            let mut slot = self.home(hash);
            while self.slots[slot] != EMPTY {
                slot = self.after(slot);
            }
            self.slots[slot] = occupied(hash, number);
        }
    }

    /// The canary and form of an entry.
    pub(super) fn entry(&self, number: usize) -> (Canary, Form) {
        let entry = self.entries[number];
        (entry.canary, entry.form)
    }

    /// The entries that have one of these seeds, each with the seed's place.
    pub(super) fn matches(&self, questions: &mut Questions) -> Vec<(usize, usize)> {
        // Reading all first slots with nothing in between that depends on them lets the processor
        // fetch many at once; most are empty or another seed's.
        let Questions {
            places,
            hashes,
            first,
        } = questions;
        first.clear();
        first.extend(hashes.iter().map(|&hash| self.slots[self.home(hash)]));
        let mut matches = Vec::new();
        for ((&hash, &place), &first) in hashes.iter().zip(&*places).zip(&*first) {
            if first != EMPTY {
                self.entries_with(hash, |entry| matches.push((entry, place)));
            }
        }
        matches
    }

    /// Calls `each` with the entries that have a seed of this hash.
    fn entries_with(&self, hash: SeedHash, mut each: impl FnMut(usize)) {
        let mut slot = self.home(hash);
        loop {
            match self.slots[slot] {
                EMPTY => return,
                taken if (taken >> 32) as u32 == hash.0 => each(entry_of(taken)),
                _ => {}
            }
            slot = self.after(slot);
        }
    }

    fn home(&self, hash: SeedHash) -> usize {
        ((u64::from(hash.0) * self.slots.len() as u64) >> 32) as usize
    }

    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() {
            0
        } else {
            slot + 1
        }
    }

    fn forget_seeds(&mut self, number: usize) {
        for hash in seed_hashes(self.entries[number]) {
            let mut slot = self.home(hash);
            while self.slots[slot] != occupied(hash, number) {
                slot = self.after(slot);
            }
            self.close_gap(slot);
        }
    }

    /// Empties a slot, moving back what was displaced by it.
    fn close_gap(&mut self, mut gap: usize) {
        let count = self.slots.len();
        let mut slot = gap;
        loop {
            slot = self.after(slot);
            let taken = self.slots[slot];
            if taken == EMPTY {
                break;
            }
            let home = self.home(SeedHash((taken >> 32) as u32));
            let from_home = (slot + count - home) % count;
            let from_gap = (slot + count - gap) % count;
            if from_home >= from_gap {
                self.slots[gap] = taken;
                gap = slot;
            }
        }
        self.slots[gap] = EMPTY;
    }
}

/// Seeds of a text to look up, and where they stand. Kept from one window to the next.
#[derive(Default)]
pub(super) struct Questions {
    places: Vec<usize>,
    hashes: Vec<SeedHash>,
    first: Vec<u64>,
}

impl Questions {
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.hashes.clear();
    }

    pub(super) fn ask(&mut self, place: usize, hash: SeedHash) {
        self.places.push(place);
        self.hashes.push(hash);
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }
}

/// The hash of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeedHash(u32);

impl SeedHash {
    pub(super) fn new(form: Form, key: u64) -> Self {
        let mixed = (key ^ (form as u64 + 1) << 59).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self((mixed >> 32) as u32)
    }
}

fn occupied(hash: SeedHash, number: usize) -> u64 {
    u64::from(hash.0) << 32 | (number as u64 + 1)
}

fn entry_of(taken: u64) -> usize {
    (taken as u32 - 1) as usize
}

fn seed_hashes(entry: Entry) -> impl Iterator<Item = SeedHash> {
    let grain = Grain::of(entry.form);
    let symbols = symbols(entry.form, &entry.canary);
    let hashes: Vec<SeedHash> = grain
        .seed_places()
        .map(|place| SeedHash::new(entry.form, grain.key(&symbols[place..place + grain.seed])))
        .collect();
    hashes.into_iter()
}

/// The symbols that write a canary in a form.
pub(super) fn symbols(form: Form, canary: &Canary) -> Symbols {
    match Alphabet::of(form) {
        Some(alphabet) => alphabet.write(canary)[..alphabet.length]
            .iter()
            .map(|&value| u16::from(value))
            .collect(),
        None => words::symbols(canary).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn planted(number: u64) -> (Form, Canary) {
        let mixed = u128::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let form = Form::ALL[(mixed >> 100) as usize % Form::ALL.len()];
        (form, Canary(mixed.rotate_left(41).to_be_bytes()))
    }

    fn holds(index: &Index, (form, canary): (Form, Canary)) -> bool {
        let entry = Entry { canary, form };
        let mut hashes = seed_hashes(entry);
        hashes.all(|hash| {
            let mut found = false;
            index.entries_with(hash, |number| {
                found |= index.entry(number) == (canary, form)
            });
            found
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_newest_are_held_and_the_oldest_forgotten(capacity in 1usize..40, count in 0u64..120) {
            let mut index = Index::new(capacity);
            for number in 0..count {
                let (form, canary) = planted(number);
                index.plant(form, &canary);
            }
            let kept = count.min(capacity as u64);
            prop_assert_eq!(index.len() as u64, kept);
            for number in 0..count {
                prop_assert_eq!(holds(&index, planted(number)), number >= count - kept);
            }
            let taken = index.slots.iter().filter(|&&slot| slot != EMPTY).count();
            let seeds: usize = (count - kept..count)
                .map(|number| Grain::of(planted(number).0).seed_places().count())
                .sum();
            prop_assert_eq!(taken, seeds, "nothing of a forgotten canary stays in the table");
        }
    }

    #[test]
    fn every_part_and_every_canary_with_two_damages_has_a_seed_that_is_looked_up() {
        for form in Form::ALL {
            let grain = Grain::of(form);
            let unharmed = match form {
                // Whatever begins with the letters of a part, and the two whole parts behind it.
                Form::Names => 14,
                _ => (grain.length - 2).div_ceil(3),
            };
            for (run, text) in [(grain.part, 0), (unharmed, grain.length - 2)] {
                let probe = grain.probe(text);
                for (start, phase) in (0..=grain.length - run)
                    .flat_map(|start| (0..probe).map(move |phase| (start, phase)))
                {
                    let looked_up = |place: usize| (place + phase).is_multiple_of(probe);
                    let kept = grain.seed_places().any(|place| {
                        place >= start && place + grain.seed <= start + run && looked_up(place)
                    });
                    assert!(kept, "{form}: {run} symbols from {start}, phase {phase}");
                }
            }
            assert!(grain.seed_places().count() <= MOST_SEEDS, "{form}");
        }
    }

    #[test]
    fn a_million_canaries_fit_into_256_mib() {
        let index = Index::new(1_000_000);
        let bytes = index.slots.len() * size_of::<u64>() + index.capacity * size_of::<Entry>();
        assert!(bytes < 256 << 20, "{bytes}");
    }
}
