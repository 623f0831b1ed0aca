//! Windows: pieces of a text that are worth examining, and what is done with one.

use super::census::Census;
use super::exact;
use super::hunt::{AHEAD, BACK, Cursor, Hunt};
use super::layer::Layer;
use super::view::{View, ViewSet};
use crate::form::Alphabet;
use std::ops::Range;

/// The fewest symbols of a part of a canary.
const FEWEST_IN_PART: usize = 10;
/// The fewest symbols of a canary that lost two.
pub(super) const FEWEST_IN_WHOLE: usize = 24;
/// The fewest letters of four words or two names.
const FEWEST_LETTERS: usize = 16;
/// Bytes of white space that a window reaches over: a line break with its indentation.
const LONGEST_GAP: usize = 8;
/// A run without white space longer than a window is examined in windows that overlap by so much:
/// an encoded writing of this length is whole in one of them.
const OVERLAP: usize = 2 << 10;
/// What a view reads is examined at once when it is no longer than so many bytes: sieving takes longer.
const SHORT: usize = 256;
/// Letters of a plain word that may be a group of a writing without digits in it.
const GROUP_LETTERS: Range<usize> = 1..9;

/// A run of bytes without white space.
struct Token {
    range: Range<usize>,
    digits: usize,
    upper: usize,
    lower: usize,
    /// Characters that may be escapes or disguises.
    escapes: usize,
    /// Characters that markup begins with.
    markup: usize,
}

/// What a byte adds to the counts of a token, 13 bits each: digits, capitals, small letters, escapes,
/// markup.
static COUNTS: [u64; 256] = {
    let mut counts = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        counts[byte] = match byte as u8 {
            b'0'..=b'9' => 1,
            b'A'..=b'Z' => 1 << 13,
            b'a'..=b'z' => 1 << 26,
            b'\\' | b'%' | b'&' | 0xc0.. => 1 << 39,
            b'*' | b'_' | b'~' | b'<' | b'`' => 1 << 52,
            _ => 0,
        };
        byte += 1;
    }
    counts
};

impl Token {
    /// The token around a byte that is no white space, cut at `limits`.
    fn around(text: &[u8], at: usize, limits: &Range<usize>) -> Self {
        let mut counts = 0;
        let (mut start, mut end) = (at, at);
        for &byte in text[limits.start..at].iter().rev() {
            if byte <= b' ' {
                break;
            }
            counts += COUNTS[usize::from(byte)];
            start -= 1;
        }
        for &byte in &text[at..limits.end] {
            if byte <= b' ' {
                break;
            }
            counts += COUNTS[usize::from(byte)];
            end += 1;
        }
        // A token has less than 2^13 bytes.
        let count = |place: u32| (counts >> (13 * place)) as usize & 0x1fff;
        let mut token = Self {
            range: start..end,
            digits: count(0),
            upper: count(1),
            lower: count(2),
            escapes: count(3),
            markup: count(4),
        };
        if token.escapes > 0 {
            token.escapes -= typographic(&text[start..end]);
        }
        token
    }

    fn after(text: &[u8], end: usize, limits: &Range<usize>) -> Option<Self> {
        let rest = &text[end..limits.end];
        let gap = rest.iter().position(|&byte| byte > b' ')?;
        (gap <= LONGEST_GAP).then(|| Self::around(text, end + gap, limits))
    }

    fn before(text: &[u8], start: usize, limits: &Range<usize>) -> Option<Self> {
        let rest = &text[limits.start..start];
        let last = rest.iter().rposition(|&byte| byte > b' ')?;
        (rest.len() - last <= LONGEST_GAP + 1)
            .then(|| Self::around(text, limits.start + last, limits))
    }

    fn symbols(&self) -> usize {
        self.digits + self.upper + self.lower
    }

    /// Not what a sentence is made of: it has digits, capitals inside, escapes, or much markup.
    fn is_odd(&self) -> bool {
        self.digits > 0 || self.upper > 1 || self.escapes > 0 || self.markup > 2
    }

    /// A short plain word, which may be a group of a writing that happens to have no digit.
    fn may_be_group(&self) -> bool {
        GROUP_LETTERS.contains(&self.symbols()) && self.range.len() <= self.symbols() + 2
    }
}

/// Curly quotes, dashes, dots, bullets (U+2010 to U+2027): no disguises, but all over typeset prose.
fn typographic(text: &[u8]) -> usize {
    text.windows(3)
        .filter(|bytes| matches!(bytes, [0xe2, 0x80, 0x90..=0xa7]))
        .count()
}

/// Whether a byte that may begin an escape plainly does not: a per cent sign after a number, a curly
/// quote.
#[inline]
pub(super) fn is_idle(text: &[u8], at: usize) -> bool {
    let next = |distance: usize| text.get(at + distance).copied().unwrap_or(b' ');
    match text[at] {
        b'%' => matches!(next(1), b' ' | b'\n' | b'.' | b',' | b';' | b')'),
        b'&' => matches!(next(1), b' ' | b'\n'),
        0xe2 => next(1) == 0x80 && matches!(next(2), 0x90..=0xa7),
        _ => false,
    }
}

/// A window as it grows around its first token.
struct Growth {
    range: Range<usize>,
    /// Where its last odd token ends: what lies behind may also belong to the next window.
    odd_end: usize,
    symbols: usize,
    escapes: usize,
}

impl Growth {
    fn around(text: &[u8], at: usize, limits: &Range<usize>) -> Self {
        let token = Token::around(text, at, limits);
        let mut growth = Self {
            odd_end: token.range.end,
            symbols: token.symbols(),
            escapes: token.escapes,
            range: token.range,
        };
        growth.forwards(text, limits);
        growth.backwards(text, limits);
        growth
    }

    /// Takes in the odd tokens that follow, plain groups between them, and one at the end.
    fn forwards(&mut self, text: &[u8], limits: &Range<usize>) {
        while let Some(next) = Token::after(text, self.range.end, limits) {
            if next.is_odd() {
                self.odd_end = next.range.end;
            } else if !next.may_be_group() || self.odd_end < self.range.end {
                return;
            }
            self.take(&next);
        }
    }

    fn backwards(&mut self, text: &[u8], limits: &Range<usize>) {
        let mut plain = false;
        while let Some(previous) = Token::before(text, self.range.start, limits) {
            if !previous.is_odd() {
                if plain || !previous.may_be_group() {
                    return;
                }
                plain = true;
            } else {
                plain = false;
            }
            self.take(&previous);
        }
    }

    fn take(&mut self, token: &Token) {
        self.symbols += token.symbols();
        self.escapes += token.escapes;
        self.range = self.range.start.min(token.range.start)..self.range.end.max(token.range.end);
    }
}

impl Hunt {
    /// Examines the window around a place that the sieve pointed at, if there is enough in it.
    pub(super) fn window_at(&mut self, layer: &Layer<'_>, at: usize, cursor: &mut Cursor) {
        let text = layer.text;
        let start = (cursor.window as usize).max(at.saturating_sub(BACK));
        let limits = start..text.len().min(at + AHEAD);
        let growth = Growth::around(text, at, &limits);
        let window = growth.range;
        let is_cut = window.end == at + AHEAD;
        cursor.window = if is_cut {
            window.end - OVERLAP
        } else {
            growth.odd_end
        } as u64;
        let fewest = self.fewest_symbols();
        let enough = growth.symbols >= fewest || growth.escapes > 1;
        if enough && window.len() >= fewest && layer.is_new(window.clone()) {
            self.examine(layer, window, cursor);
        }
    }

    /// The fewest letters and digits that are worth a look.
    fn fewest_symbols(&self) -> usize {
        match self.search.index {
            Some(_) => FEWEST_IN_PART,
            None => FEWEST_IN_WHOLE,
        }
    }

    fn examine(&mut self, layer: &Layer<'_>, window: Range<usize>, cursor: &mut Cursor) -> Census {
        let census = Census::of(&layer.text[window.clone()]);
        self.work.bytes += window.len() as u64;
        self.reads_backwards = false;
        if census.symbols() >= exact::SHORTEST {
            self.search_exact(layer, &window, cursor);
        }
        if census.symbols() >= self.fewest_symbols() {
            self.search_spelled(layer, window.clone(), &census, &Alphabet::all());
        }
        // Backwards a whole canary is looked for anyway, a part where the index knows it.
        let backwards = self.reads_backwards || census.symbols() >= FEWEST_IN_WHOLE;
        let views = if backwards {
            ViewSet::ALL
        } else {
            ViewSet::ALL.without(View::Reversed)
        };
        cursor.viewed = (window.start as u64, window.end as u64);
        if cursor.defers_views {
            self.deferred.push((window, views));
        } else {
            self.look_through(layer, &window, &census, views);
        }
        census
    }

    /// Examines all of a short text that was read through a view.
    fn examine_all(&mut self, layer: &Layer<'_>) {
        let text = layer.text;
        let mut cursor = Cursor::default();
        let census = self.examine(layer, 0..text.len(), &mut cursor);
        if census.letters() >= FEWEST_LETTERS {
            self.search_for_words(layer, &mut cursor);
        }
    }

    /// Tries every place of a window where a whole fixed-length writing could begin.
    fn search_exact(&mut self, layer: &Layer<'_>, window: &Range<usize>, cursor: &mut Cursor) {
        let text = layer.text;
        let mut at = window.start.max(cursor.exact as usize);
        let mut run_end = at;
        while at < window.end {
            if run_end <= at {
                let rest = &text[at..];
                let length = rest.iter().position(|&byte| !exact::is_writing(byte));
                run_end = at + length.unwrap_or(rest.len());
            }
            if run_end - at < exact::SHORTEST {
                at = run_end + 1;
                continue;
            }
            self.try_exact(layer, at, cursor);
            at = cursor.exact as usize;
        }
    }

    /// Reads a piece of a layer through views, at once or when all of the layer was sieved.
    pub(super) fn read_through(
        &mut self,
        layer: &Layer<'_>,
        piece: Range<usize>,
        views: ViewSet,
        cursor: &Cursor,
    ) {
        if cursor.defers_views {
            self.deferred.push((piece, views));
        } else {
            let census = Census::of(&layer.text[piece.clone()]);
            self.look_through(layer, &piece, &census, views);
        }
    }

    /// Reads a piece of a layer through each view that makes something of it, and searches what it reads.
    fn look_through(
        &mut self,
        layer: &Layer<'_>,
        piece: &Range<usize>,
        census: &Census,
        views: ViewSet,
    ) {
        let source = &layer.text[piece.clone()];
        for view in views.iter() {
            // A text reversed twice is itself.
            if view == View::Reversed && layer.views.iter().last() == Some(view) {
                continue;
            }
            let Some(views) = layer.views.and(view) else {
                return;
            };
            if !census.may_read(view) {
                continue;
            }
            let mut scratch = self.decoded.pop().unwrap_or_default();
            view.read(source, &mut scratch, &mut |decoded| {
                let (text, origins) = (&decoded.text, &decoded.origins);
                let inner = Layer::seen_through(views, text, origins, layer, piece.start);
                if text.len() <= SHORT {
                    self.examine_all(&inner);
                } else {
                    self.sieve_all(&inner);
                }
            });
            self.decoded.push(scratch);
        }
    }

    /// Sieves a text that was read through a view. Its windows and runs of words overlap; each byte of
    /// it is read through each view once, else views of views would multiply.
    fn sieve_all(&mut self, layer: &Layer<'_>) {
        let outer = std::mem::take(&mut self.deferred);
        let mut cursor = Cursor {
            defers_views: true,
            ..Cursor::default()
        };
        self.sieve(layer, &mut cursor, true);
        let mut pieces = std::mem::replace(&mut self.deferred, outer);
        if layer.views.is_deepest() {
            return;
        }
        pieces.sort_by_key(|(piece, _)| piece.start);
        let mut pieces = pieces.into_iter();
        let mut next = pieces.next();
        while let Some((mut piece, mut views)) = next {
            next = pieces.next();
            while let Some((other, others)) =
                next.as_ref().filter(|(other, _)| other.start < piece.end)
            {
                piece.end = piece.end.max(other.end);
                views = views.and(*others);
                next = pieces.next();
            }
            let census = Census::of(&layer.text[piece.clone()]);
            self.look_through(layer, &piece, &census, views);
        }
    }
}
