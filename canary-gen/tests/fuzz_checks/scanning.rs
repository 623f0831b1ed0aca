//! Scans of any text: the same however it is cut, at a bounded cost, and nothing hides a whole canary.

use super::text::{LONGEST, minted, with_canaries};
use canary_gen::KeyRing;
use canary_gen::scan::{Effort, Index, Proof, Search, Sighting};
use std::sync::{Arc, LazyLock, RwLock};

/// Canaries of the index, the last of those that were planted.
const PLANTED: std::ops::Range<u64> = 16..80;
/// White space behind a text, more than a scanner waits for: then all of it is judged before it ends.
const BEHIND: usize = 6 << 10;
/// One damage of every form is searched for once or twice.
const EFFORT: Effort = Effort {
    openings: 3_000,
    bytes_per_opening: 4_096,
};

static PLAIN: LazyLock<Search> =
    LazyLock::new(|| Search::new(KeyRing::from_root(&super::ROOT)).with_effort(Effort::NONE));
static INDEXED: LazyLock<Search> = LazyLock::new(|| {
    let capacity = PLANTED.end - PLANTED.start;
    let mut index = Index::new(capacity as usize);
    for number in 0..PLANTED.end {
        let (form, canary, _) = minted(number);
        index.plant(form, &canary);
    }
    PLAIN.clone().with_index(Arc::new(RwLock::new(index)))
});

/// The first four bytes say what is searched for, how often the text is repeated, how many blanks stand
/// before it, and how it is cut; the rest is the text, with canaries ([`super::text`]). Returns what was
/// found.
pub(crate) fn scanner(bytes: &[u8]) -> Vec<Sighting> {
    let Some(([style, before, cut_size, cut_seed], bytes)) = bytes.split_first_chunk() else {
        return Vec::new();
    };
    let (search, effort) = search(*style);
    let piece = with_canaries(bytes, |number| {
        let (form, canary, _) = minted(u64::from(number));
        form.write(&canary)
    });
    let repeated = piece.repeat(1 << (2 * (style >> 2 & 3)));
    let told = &repeated[..repeated.len().min(LONGEST)];
    let mut text = vec![b' '; usize::from(*before) * 31];
    text.extend_from_slice(told);
    let blanks = text.len() - told.len() + BEHIND;
    if style & 16 == 0 {
        text.extend([b' '; BEHIND]);
    }

    let mut whole = search.scanner();
    let mut expected = Vec::new();
    whole.push(&text, &mut expected);
    let work = whole.finish(&mut expected);
    let length = told.len() as u64;
    let repairs = effort.openings + text.len() as u64 / effort.bytes_per_opening;
    // Of blanks nothing is made. The multiples are those of docs/canary-format.md.
    assert!(
        work.bytes <= 1_400 * length + 2 * blanks as u64 + 4_096,
        "{work:?} for {length}"
    );
    assert!(work.lookups <= 400 * length, "{work:?} for {length}");
    assert!(work.repair_openings <= repairs, "{work:?} for {length}");
    assert!(
        work.openings <= 64 * length + repairs,
        "{work:?} for {length}"
    );

    let mut scanner = search.scanner();
    let mut found = Vec::new();
    let mut rest = &text[..];
    let mut cuts = Cuts::new(*cut_size, *cut_seed);
    while !rest.is_empty() {
        let (chunk, tail) = rest.split_at(cuts.next().min(rest.len()));
        scanner.push(chunk, &mut found);
        assert!(scanner.kept_bytes() <= 16 << 10);
        rest = tail;
    }
    scanner.finish(&mut found);
    assert_eq!(found, expected);
    for sighting in &found {
        let end = sighting.offset + sighting.length as u64;
        assert!(
            sighting.length > 0 && end <= text.len() as u64,
            "{sighting:?}"
        );
    }
    found
}

/// The first nine bytes choose a canary and its form, and where between the rest it stands, a space on
/// either side. In the rest the canary number 0 is itself.
pub(crate) fn scanner_planted(bytes: &[u8]) {
    let Some(([style, place, choice @ ..], rest)) = bytes.split_first_chunk::<10>() else {
        return;
    };
    let (form, canary, identity) = minted(u64::from_le_bytes(*choice));
    let writing = form.write(&canary);
    let place = rest.len() * usize::from(*place) / 255;
    let around = |bytes: &[u8]| {
        with_canaries(bytes, |number| match number {
            0 => writing.clone(),
            _ => {
                let (form, canary, _) = minted(u64::from(number));
                form.write(&canary)
            }
        })
    };
    let (before, behind) = (around(&rest[..place]), around(&rest[place..]));
    let text = [&before[..], b" ", writing.as_bytes(), b" ", &behind].concat();
    let found = search(*style).0.scan(&text);
    let at = before.len() as u64 + 1;
    let is_it = |sighting: &&Sighting| {
        let end = sighting.offset + sighting.length as u64;
        sighting.identity == identity && sighting.offset < at + writing.len() as u64 && at < end
    };
    let sighting = found.iter().find(is_it);
    assert!(sighting.is_some(), "{form} was missed");
    assert!(
        sighting.is_some_and(|sighting| sighting.proof == Proof::Exact
            && (sighting.offset, sighting.length) == (at, writing.len())),
        "{form} at {at}: {sighting:?}"
    );
}

/// Bit 0: with an index; bit 1: damages are searched for, too.
fn search(style: u8) -> (Search, Effort) {
    let search: &Search = if style & 1 == 1 { &INDEXED } else { &PLAIN };
    let effort = if style & 2 == 2 { EFFORT } else { Effort::NONE };
    (search.clone().with_effort(effort), effort)
}

/// Lengths of chunks: all alike, or anything up to a power of two.
struct Cuts {
    most: usize,
    alike: bool,
    state: u32,
}

impl Cuts {
    fn new(size: u8, seed: u8) -> Self {
        Self {
            most: 1 << (size % 15),
            alike: size & 0x80 != 0,
            state: u32::from(seed),
        }
    }

    fn next(&mut self) -> usize {
        if self.alike {
            return self.most;
        }
        self.state = self
            .state
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        1 + (self.state >> 8) as usize % self.most
    }
}
