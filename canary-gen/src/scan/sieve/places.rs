//! Where in a batch of blocks something could stand. Every rule looks at the text alone, so that the
//! same places come out however a stream is cut into chunks.

use super::masks::{Masks, Writing};
use super::row::{Lanes, Row};

/// The smallest run of symbols of `code`, `uuid` or `digits` that counts as a part.
const PART: u32 = 10;
/// The smallest part of `digits`.
const PART_OF_DIGITS: u32 = 15;
/// A run of letters, digits and dashes that could be a whole canary, some of its characters lost.
const DENSE: u32 = 22;
/// The smallest run of base64 characters that is worth decoding.
const BASE64: u32 = 16;
/// Bytes of a canary: what calls for a look together stands within so many.
const NEAR: u32 = 40;
/// Bytes from one piece of markup to the next in a writing that is broken up into its characters.
const BROKEN: u32 = 12;
/// Bytes of four words of four letters and what follows each.
const FOUR_WORDS: u32 = 20;

/// Places of a batch where something could stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// A window around here is worth examining.
    pub(crate) windows: Row,
    /// A word begins here that may stand among words of the list.
    pub(crate) words: Row,
    /// A capitalised word of five letters begins here, and another one follows: a name in two parts.
    pub(crate) names: Row,
    /// The letters, to tell how long the words are.
    pub(crate) letters: Row,
}

/// [`Masks`] in the lanes that they are computed in.
struct Rows<L> {
    letter: L,
    upper: L,
    digit: L,
    dash: L,
    escape: L,
    base64: L,
    markup: L,
    unused: L,
}

impl Places {
    #[inline(always)]
    pub(super) fn of<L: Lanes>(masks: &Masks, parts: bool) -> Self {
        let rows = Rows {
            letter: L::load(&masks.letter),
            upper: L::load(&masks.upper),
            digit: L::load(&masks.digit),
            dash: L::load(&masks.dash),
            escape: L::load(&masks.escape),
            base64: L::load(&masks.base64),
            markup: L::load(&masks.markup),
            unused: L::load(&masks.unused),
        };
        let mut windows = rows.escape | dense(&rows) | mixed_base64(&rows) | broken_up(&rows);
        if rows.digit.any() {
            windows = windows | digit_groups(&rows) | letters_beside_digits(&rows);
        }
        windows = windows | pairs(&rows);
        if parts {
            windows = windows | parts_of_canaries(&rows);
        }
        Self {
            windows: windows.store(),
            words: listed_words(&rows).store(),
            names: names(&rows).store(),
            letters: masks.letter,
        }
    }
}

#[inline(always)]
fn dense<L: Lanes>(rows: &Rows<L>) -> L {
    (rows.letter | rows.digit | rows.dash).run(DENSE)
}

/// Characters of `code` (and so of `uuid` and `digits`), and single dashes between them.
#[inline(always)]
fn code_like<L: Lanes>(rows: &Rows<L>) -> L {
    let symbols = (rows.letter | rows.digit) & !rows.unused;
    symbols | rows.dash & !(rows.dash.ahead(1) | rows.dash.behind(1))
}

/// Runs of code-like characters that could be a part. Digits alone (a date) could be part of `digits`
/// only, and of that from fifteen on.
#[inline(always)]
fn parts_of_canaries<L: Lanes>(rows: &Rows<L>) -> L {
    let run = code_like(rows).run(PART);
    let figures = (rows.digit | rows.dash).run(PART_OF_DIGITS);
    run & (rows.letter.within(PART) | figures)
}

/// Beginnings of base64-like runs with a capital behind a small letter or a digit in them.
#[inline(always)]
fn mixed_base64<L: Lanes>(rows: &Rows<L>) -> L {
    let symbols = rows.letter | rows.digit;
    let inner_capital = rows.upper & (symbols & !rows.upper).behind(1);
    if !inner_capital.any() {
        return inner_capital;
    }
    let class = symbols | rows.base64 | rows.dash;
    class.run(BASE64) & inner_capital.within(BASE64)
}

/// Letters and digits with markup between them, again and again.
#[inline(always)]
fn broken_up<L: Lanes>(rows: &Rows<L>) -> L {
    let marks = rows.markup & (rows.letter | rows.digit).behind(1);
    let two = marks & marks.ahead(1).within(BROKEN);
    marks & two.ahead(1).within(BROKEN)
}

/// Three groups of four digits in a row, one byte between them.
#[inline(always)]
fn digit_groups<L: Lanes>(rows: &Rows<L>) -> L {
    let groups = rows.digit.run(4);
    groups & groups.ahead(5) & groups.ahead(10)
}

/// Eight groups of two characters in a row, one byte between them: bytes in hexadecimal.
#[inline(always)]
fn pairs<L: Lanes>(rows: &Rows<L>) -> L {
    let symbols = rows.letter | rows.digit;
    let pair = symbols & symbols.ahead(1) & !(symbols.behind(1) | symbols.ahead(2));
    let two = pair & pair.ahead(3);
    let four = two & two.ahead(6);
    four & four.ahead(12)
}

/// Letters that stand beside digits, where two more such places follow soon. A `code` has nine on
/// average within its groups, and fewer than three with a chance below 2⁻⁹.
#[inline(always)]
fn letters_beside_digits<L: Lanes>(rows: &Rows<L>) -> L {
    let joints = rows.digit & rows.letter.behind(1) | rows.letter & rows.digit.behind(1);
    let two = joints & joints.ahead(1).within(NEAR);
    joints & two.ahead(1).within(NEAR)
}

/// Two capitalised words of five letters, up to three bytes between them.
#[inline(always)]
fn names<L: Lanes>(rows: &Rows<L>) -> L {
    let part = rows.upper & !rows.letter.behind(1) & rows.letter.run(5) & !rows.letter.ahead(5);
    part & (part.ahead(6) | part.ahead(7) | part.ahead(8))
}

/// Words of four to eight letters with no shorter or longer ones near: four of the list in a row take
/// up [`FOUR_WORDS`] bytes in which no other word begins.
#[inline(always)]
fn listed_words<L: Lanes>(rows: &Rows<L>) -> L {
    let begins = rows.letter & !rows.letter.behind(1);
    let four = rows.letter.run(4);
    let nine = four & four.ahead(4) & rows.letter.ahead(8);
    let listed = begins & four & !nine;
    let others = begins & !listed;
    listed & (!others).run(FOUR_WORDS).since(FOUR_WORDS)
}

/// Places of a block where a whole fixed-length writing could begin. `before`: the block before it,
/// `after`: the one behind it.
///
/// A writing with dashes may have anything around it. One without has something else than a letter or
/// digit on one side at least: else every hash and every base64 blob would be tried at all its places.
pub(crate) fn exact_places(before: Writing, block: Writing, after: Writing) -> u64 {
    let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
    let symbols = wide(after.alphanumeric, block.alphanumeric);
    let dashes = wide(after.dash, block.dash);
    let all = run(symbols | dashes, 26);
    if all as u64 == 0 {
        return 0;
    }
    let grouped = all & symbols & (dashes >> 4 | dashes >> 5 | dashes >> 8);
    let begins = !(symbols << 1 | u128::from(before.alphanumeric >> 63));
    let bare = |length: u32, run: u128| run & (begins | !(symbols >> length));
    let code = run(symbols, 26);
    let uuid = code & code >> 6;
    let digits = uuid & uuid >> 8;
    (grouped | bare(26, code) | bare(32, uuid) | bare(40, digits)) as u64
}

fn run(bits: u128, length: u32) -> u128 {
    let mut all = bits;
    let mut covered = 1;
    while covered < length {
        let step = covered.min(length - covered);
        all &= all >> step;
        covered += step;
    }
    all
}
