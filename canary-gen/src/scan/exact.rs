//! The verification of one place where a whole canary of fixed length could stand.

use crate::canary::Canary;
use crate::form::{Form, Shape};

/// The length in bytes of the longest fixed-length writing.
pub(super) const LONGEST: usize = 49;
/// The length in bytes of the shortest.
pub(super) const SHORTEST: usize = 26;
/// A writing has its letters in one case, but for so many: a group may start with a capital.
/// Random base64 nearly never has.
const MOST_IN_OTHER_CASE: usize = 5;

/// Digits of the hashes that there are: SHA-1, SHA-224, -256, -384, -512. A canary is not looked for
/// in a run of just so many hexadecimal digits, where every hash would cost two verifications.
const HASHES: [usize; 5] = [40, 56, 64, 96, 128];
/// Bytes around a writing that may have a say in whether it is tried.
pub(super) const NEIGHBOURHOOD: usize = 128;

/// A writing found at a place, not verified.
pub(super) struct Writing {
    pub(super) canary: Canary,
    pub(super) form: Form,
    pub(super) length: usize,
}

/// Whether a byte occurs in a fixed-length writing.
pub(super) fn is_writing(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// The first writing at `text[start..]` whose canary `verify` accepts. At least [`SHORTEST`] letters,
/// digits or dashes must follow `start`.
#[inline]
pub(super) fn read_at(
    text: &[u8],
    start: usize,
    verify: impl FnMut(&Writing) -> bool,
) -> Option<Writing> {
    let rest: &[u8; SHORTEST] = text[start..].first_chunk()?;
    // Grouped writings are told apart by where their first dash stands; with a dash at none of these
    // places only the bare ones are left.
    let dash_at = |at: usize| rest[at] == b'-';
    if dash_at(4) || dash_at(5) || dash_at(8) {
        return try_shapes(text, start, verify, |shape| {
            shape.first_dash().is_some_and(dash_at)
        });
    }
    try_shapes(text, start, verify, |shape| {
        shape.first_dash().is_none()
            && shape.may_begin_with(rest[0])
            && shape.may_contain(rest[12])
            && shape.may_contain(rest[25])
            && is_bounded(text, start, shape.length)
    })
}

#[cold]
fn try_shapes(
    text: &[u8],
    start: usize,
    mut verify: impl FnMut(&Writing) -> bool,
    could_be: impl Fn(&Shape) -> bool,
) -> Option<Writing> {
    for shape in Shape::all().filter(|shape| could_be(shape)) {
        let Some(bytes) = text.get(start..start + shape.length) else {
            continue;
        };
        if !shape.has_its_dashes(bytes) || mixes_case(bytes) {
            continue;
        }
        let Some(canary) = shape.read(bytes) else {
            continue;
        };
        if is_cut_from_simpler(shape, text, start) {
            continue;
        }
        let writing = Writing {
            canary,
            form: shape.alphabet.form,
            length: shape.length,
        };
        if verify(&writing) {
            return Some(writing);
        }
    }
    None
}

/// Whether something else than letters or digits stands on one side of a piece of text at least.
fn is_bounded(text: &[u8], start: usize, length: usize) -> bool {
    !(goes_on_before(text, start) && goes_on_behind(text, start + length))
}

fn goes_on_before(text: &[u8], start: usize) -> bool {
    start
        .checked_sub(1)
        .is_some_and(|before| text[before].is_ascii_alphanumeric())
}

fn goes_on_behind(text: &[u8], end: usize) -> bool {
    text.get(end).is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether `range` is a fixed-length writing that [`read_at`] tries.
pub(super) fn was_tried(text: &[u8], range: std::ops::Range<usize>) -> bool {
    let bytes = &text[range.clone()];
    let mut shapes = Shape::all().filter(|shape| shape.length == bytes.len());
    shapes.any(|shape| {
        shape.read(bytes).is_some()
            && !mixes_case(bytes)
            && !is_cut_from_simpler(shape, text, range.start)
    })
}

/// Whether the first 24 of at least [`SHORTEST`] bytes hold too many letters of either case. (A fixed
/// number, without a way out of the loop: the compiler makes a handful of instructions of it.)
fn mixes_case(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<24>() else {
        return false;
    };
    let (mut upper, mut lower) = (0u8, 0u8);
    for byte in head {
        upper += u8::from(byte.is_ascii_uppercase());
        lower += u8::from(byte.is_ascii_lowercase());
    }
    usize::from(upper.min(lower)) > MOST_IN_OTHER_CASE
}

/// Whether the hexadecimal digits at `start..end` are a piece of a run that is as long as a hash.
fn is_hash(text: &[u8], start: usize, end: usize) -> bool {
    let is_symbol = |byte: &&u8| byte.is_ascii_alphanumeric();
    let before = &text[start.saturating_sub(NEIGHBOURHOOD)..start];
    let behind = &text[end..text.len().min(end + NEIGHBOURHOOD)];
    let head = before.iter().rev().take_while(is_symbol);
    let tail = behind.iter().take_while(is_symbol);
    let (head_length, tail_length) = (head.clone().count(), tail.clone().count());
    // With a dash beside it the run is a piece of something else.
    let is_dash = |byte: Option<&u8>| byte == Some(&b'-');
    let is_piece =
        is_dash(before.iter().rev().nth(head_length)) || is_dash(behind.get(tail_length));
    HASHES.contains(&(head_length + end - start + tail_length))
        && !is_piece
        && head.chain(tail).all(u8::is_ascii_hexdigit)
}

/// Whether a bare writing is a piece of a longer run, and all its symbols belong to a smaller
/// alphabet: 26 characters out of a hexadecimal number, 32 out of a decimal one. A canary looks so
/// with a chance below 2⁻²¹; without this rule every hash would cost several verifications.
fn is_cut_from_simpler(shape: &Shape, text: &[u8], start: usize) -> bool {
    let simpler = match shape.alphabet.form {
        Form::Code => 16,
        Form::Uuid => 10,
        Form::Digits | Form::Words | Form::Names => return false,
    };
    let end = start + shape.length;
    if shape.alphabet.form == Form::Uuid
        && shape.first_dash().is_none()
        && is_hash(text, start, end)
    {
        return true;
    }
    (goes_on_before(text, start) || goes_on_behind(text, end))
        && text[start..end]
            .iter()
            .filter(|&&byte| byte != b'-')
            .all(|&byte| shape.alphabet.values[usize::from(byte)] < simpler)
}
