//! A text under examination: the stream itself, or what a piece of it reads as through views.

use super::sighting::Views;
use super::view::Origin;
use std::ops::Range;

/// A text and where its bytes come from.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub(super) text: &'a [u8],
    pub(super) views: Views,
    source: Source<'a>,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    /// The stream, from this offset on.
    Stream(u64),
    /// What a view made of a piece of another layer that starts at `start`.
    View {
        of: &'a Layer<'a>,
        start: usize,
        origins: &'a [Origin],
    },
}

impl<'a> Layer<'a> {
    pub(super) fn stream(text: &'a [u8], base: u64) -> Self {
        Self {
            text,
            views: Views::default(),
            source: Source::Stream(base),
        }
    }

    pub(super) fn seen_through(
        views: Views,
        text: &'a [u8],
        origins: &'a [Origin],
        of: &'a Layer<'a>,
        start: usize,
    ) -> Self {
        Self {
            text,
            views,
            source: Source::View { of, start, origins },
        }
    }

    /// Where the stream bytes behind `range` (not empty) start and end. Views may read backwards.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<u64> {
        match self.source {
            Source::Stream(base) => base + range.start as u64..base + range.end as u64,
            Source::View { of, start, .. } => {
                let inner = self.origin_in_source(range);
                of.origin(start + inner.start..start + inner.end)
            }
        }
    }

    /// The position in the stream of this layer's byte `at`.
    pub(super) fn position(&self, at: usize) -> u64 {
        match self.source {
            Source::Stream(base) => base + at as u64,
            Source::View { of, start, .. } => of.position(start),
        }
    }

    /// Whether the view that made this layer changed anything in `range`; true for the stream.
    /// What it left alone has been searched already.
    pub(super) fn is_new(&self, range: Range<usize>) -> bool {
        match self.source {
            Source::Stream(_) => true,
            Source::View { of, start, .. } => {
                let inner = self.origin_in_source(range.clone());
                of.text[start + inner.start..start + inner.end] != self.text[range]
            }
        }
    }

    /// Whether anything in `range`, or directly beside it, is new.
    pub(super) fn is_new_around(&self, range: Range<usize>) -> bool {
        self.is_new(range.start.saturating_sub(1)..self.text.len().min(range.end + 1))
    }

    fn origin_in_source(&self, range: Range<usize>) -> Range<usize> {
        let Source::View { origins, .. } = self.source else {
            return range;
        };
        let (first, last) = (origins[range.start], origins[range.end - 1]);
        first.start.min(last.start) as usize..first.end.max(last.end) as usize
    }
}
