//! The hunt through one stream: the sieve drives it, windows are examined, sightings come out.

use super::layer::Layer;
use super::report::Reports;
use super::search::Reach;
use super::sieve::{BATCH, BLOCK, Path, Places, WIDTH, blocks_around, exact_places};
use super::spelled::Scratch;
use super::view::{Decoded, ViewSet};
use super::word::Listed;
use super::{Search, Sighting, Work, exact, window, words};
use crate::canary::{Canary, Identity};
use crate::form::Form;
use crate::key::KeyId;
use std::ops::Range;

/// A window is judged once so many bytes behind the place that called for it have arrived.
pub(super) const AHEAD: usize = 4 << 10;
/// A window reaches back so far before the place that called for it, at most.
pub(super) const BACK: usize = 2 << 10;

/// Where in a layer the hunt stands; everything before was judged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    /// The next block to sieve; a multiple of [`BLOCK`].
    pub(super) block: u64,
    /// The next place to try for a whole fixed-length writing.
    pub(super) exact: u64,
    /// The end of what windows have covered.
    pub(super) window: u64,
    /// The end of what runs of words have covered.
    pub(super) words: u64,
    /// The last window that was read through views: where it starts and ends.
    pub(super) viewed: (u64, u64),
    /// What should be read through views is only noted down.
    pub(super) defers_views: bool,
}

impl Cursor {
    /// The same places in a text that starts at `base` (places before it become its start).
    fn relative_to(self, base: u64) -> Self {
        let relative = |place: u64| place.saturating_sub(base);
        Self {
            block: relative(self.block),
            exact: relative(self.exact),
            window: relative(self.window),
            words: relative(self.words),
            viewed: (relative(self.viewed.0), relative(self.viewed.1)),
            ..self
        }
    }

    fn absolute_from(self, base: u64) -> Self {
        Self {
            block: self.block + base,
            exact: self.exact + base,
            window: self.window + base,
            words: self.words + base,
            viewed: (self.viewed.0 + base, self.viewed.1 + base),
            ..self
        }
    }
}

/// The state of a scan of one stream.
pub(super) struct Hunt {
    pub(super) search: Search,
    path: Path,
    cursor: Cursor,
    pub(super) work: Work,
    pub(super) reports: Reports,
    pub(super) scratch: Scratch,
    /// A part of a canary of the index was seen in the last window, written backwards.
    pub(super) reads_backwards: bool,
    /// Where views write, one for each depth of nesting.
    pub(super) decoded: Vec<Decoded>,
    /// Pieces of the layer being sieved that are to be read through views afterwards.
    pub(super) deferred: Vec<(Range<usize>, ViewSet)>,
}

impl Hunt {
    pub(super) fn new(search: Search) -> Self {
        Self {
            search,
            path: Path::best(),
            cursor: Cursor::default(),
            work: Work::default(),
            reports: Reports::default(),
            scratch: Scratch::default(),
            reads_backwards: false,
            decoded: Vec::new(),
            deferred: Vec::new(),
        }
    }

    pub(super) fn work(&self) -> Work {
        self.work
    }

    /// Goes to the start of another text; returns what the last one took.
    pub(super) fn restart(&mut self) -> Work {
        self.cursor = Cursor::default();
        self.reads_backwards = false;
        std::mem::take(&mut self.work)
    }

    /// How many bytes are kept at least.
    pub(super) fn keeps(&self) -> usize {
        self.ahead() + self.back()
    }

    fn ahead(&self) -> usize {
        match self.search.reach {
            Reach::Exact => exact::LONGEST + exact::NEIGHBOURHOOD,
            // A writing may begin at a window's end, and a view looks a little beyond a run of words.
            Reach::Everything => AHEAD + exact::LONGEST + exact::NEIGHBOURHOOD,
        }
    }

    fn back(&self) -> usize {
        match self.search.reach {
            Reach::Exact => exact::NEIGHBOURHOOD,
            // What stands directly before a window tells whether it begins with a whole word.
            Reach::Everything => BACK + exact::NEIGHBOURHOOD,
        }
    }

    /// Judges what can be judged of `text`, which starts at `base` of the stream (a multiple of
    /// [`BLOCK`]), and returns from where on it must be kept. `last`: nothing follows.
    pub(super) fn advance(
        &mut self,
        text: &[u8],
        base: u64,
        last: bool,
        found: &mut Vec<Sighting>,
    ) -> u64 {
        let mut cursor = self.cursor.relative_to(base);
        let layer = Layer::stream(text, base);
        match self.search.reach {
            Reach::Exact => self.sieve_exact(&layer, &mut cursor, last),
            Reach::Everything => self.sieve(&layer, &mut cursor, last),
        }
        self.cursor = cursor.absolute_from(base);
        if last {
            self.reports.settle_all();
        }
        self.reports.take(found);
        let keep = self.cursor.block.saturating_sub(self.back() as u64);
        keep / BLOCK as u64 * BLOCK as u64
    }

    /// How many blocks of a text can be sieved, from its start.
    fn sievable(&self, text: &[u8], last: bool) -> usize {
        if last {
            text.len().div_ceil(BLOCK)
        } else {
            text.len().saturating_sub(self.ahead()) / BLOCK
        }
    }

    fn sieve_exact(&mut self, layer: &Layer<'_>, cursor: &mut Cursor, last: bool) {
        let text = layer.text;
        let end = self.sievable(text, last);
        let (whole, _) = text.as_chunks::<BLOCK>();
        let mut block = cursor.block as usize / BLOCK;
        self.work.bytes += (end.saturating_sub(block) * BLOCK) as u64;
        while block < end {
            block += self.path.skip_prose(whole.get(block..).unwrap_or_default());
            if block >= end {
                break;
            }
            let writing = |index: Option<usize>| match index.and_then(|index| whole.get(index)) {
                Some(block) => self.path.writing(block),
                None => self.path.writing(&padded(text, index)),
            };
            let (before, after) = (writing(block.checked_sub(1)), writing(Some(block + 1)));
            let mut starts = exact_places(before, writing(Some(block)), after);
            while starts != 0 {
                let at = block * BLOCK + starts.trailing_zeros() as usize;
                starts &= starts - 1;
                if at as u64 >= cursor.exact {
                    self.reports.settle(layer.position(at));
                    self.try_exact(layer, at, cursor);
                }
            }
            block += 1;
        }
        cursor.block = (end.max(cursor.block as usize / BLOCK) * BLOCK) as u64;
    }

    /// Judges a whole layer, or as much of the stream as can be judged.
    pub(super) fn sieve(&mut self, layer: &Layer<'_>, cursor: &mut Cursor, last: bool) {
        let text = layer.text;
        let end = self.sievable(text, last);
        let parts = self.search.index.is_some();
        let mut room = [[0; BLOCK]; WIDTH];
        let mut block = cursor.block as usize / BLOCK;
        while block < end {
            let count = BATCH.min(end - block);
            let places = self
                .path
                .places(blocks_around(text, block, &mut room), parts);
            self.work.bytes += (count * BLOCK) as u64;
            for index in 0..count {
                let start = (block + index) * BLOCK;
                // No window reaches back further.
                let settled = layer.position(start).saturating_sub(BACK as u64);
                self.reports.settle(settled);
                let mut windows = places.windows.0[index + 1];
                while windows != 0 {
                    let at = start + windows.trailing_zeros() as usize;
                    windows &= windows - 1;
                    if at as u64 >= cursor.window && !window::is_idle(text, at) {
                        self.window_at(layer, at, cursor);
                    }
                }
                // Block by block, so that the order does not depend on where a batch begins.
                self.look_at_words(layer, start, index + 1, &places, cursor);
            }
            block += count;
        }
        cursor.block = (block * BLOCK) as u64;
    }

    /// Looks at the words of a block (the `index`th of a row) that may be ours. First all questions,
    /// then all answers: which word is ours cannot be foretold, and a wrong guess costs more than the
    /// question.
    #[inline]
    fn look_at_words(
        &mut self,
        layer: &Layer<'_>,
        start: usize,
        index: usize,
        places: &Places,
        cursor: &mut Cursor,
    ) {
        let mut starts = places.words.0[index];
        let mut names = places.names.0[index];
        if starts | names == 0 {
            return;
        }
        let listed = Listed::get();
        let letters =
            u128::from(places.letters.0[index + 1]) << 64 | u128::from(places.letters.0[index]);
        let mut calls = 0;
        while starts != 0 {
            let bit = starts.trailing_zeros();
            let length = (!(letters >> bit)).trailing_zeros();
            calls |= listed.may_hold(layer.text, start + bit as usize, length) << bit;
            // Every other one is enough to see four in a row, or eleven of which two are harmed.
            starts &= starts.wrapping_sub(1);
            starts &= starts.wrapping_sub(1);
        }
        while calls | names != 0 {
            let bit = (calls | names).trailing_zeros();
            let company = if names >> bit & 1 == 1 {
                words::NAME_PARTS
            } else {
                words::NEARBY
            };
            calls &= !(1 << bit);
            names &= !(1 << bit);
            let at = start + bit as usize;
            if at as u64 >= cursor.words {
                self.words_at(layer, at, company, cursor);
            }
        }
    }

    /// Tries the fixed-length writings at one place.
    pub(super) fn try_exact(&mut self, layer: &Layer<'_>, at: usize, cursor: &mut Cursor) {
        let mut owner = None;
        let writing = exact::read_at(layer.text, at, |writing| {
            owner = self.open(&writing.canary);
            owner.is_some()
        });
        cursor.exact = at as u64 + 1;
        if let (Some(writing), Some((key, identity))) = (writing, owner) {
            let range = at..at + writing.length;
            cursor.exact = range.end as u64;
            let find = Find {
                key,
                identity,
                form: writing.form,
            };
            self.report_verified(layer, range, find, 0);
        }
    }

    pub(super) fn open(&mut self, canary: &Canary) -> Option<(KeyId, Identity)> {
        self.work.openings += 1;
        self.search.ring.open(canary)
    }
}

/// Whose canary was found, in which form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Find {
    pub(super) key: KeyId,
    pub(super) identity: Identity,
    pub(super) form: Form,
}

/// The block that the end of a text fills in part, or none of it.
fn padded(text: &[u8], index: Option<usize>) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let rest = index
        .and_then(|index| text.get(index * BLOCK..))
        .unwrap_or_default();
    let length = rest.len().min(BLOCK);
    block[..length].copy_from_slice(&rest[..length]);
    block
}
