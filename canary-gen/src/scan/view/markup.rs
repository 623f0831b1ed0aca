//! Markdown and HTML markup: tags, links, and emphasis or code marks inside of words. What only stands
//! between words or groups needs no view, because separators do not matter there; and spaces and line
//! breaks stay: what they part stays parted.

use super::{Replacement, Text};

/// Bytes of the longest tag that is removed.
const LONGEST_TAG: usize = 64;
/// Bytes of the longest text of a link, and of the longest target.
const LONGEST_LINK: usize = 256;

/// Whether markup may begin with this byte.
pub(super) fn may_begin(byte: u8) -> bool {
    matches!(byte, b'*' | b'~' | b'`' | b'<' | b'[' | b']')
}

/// What the markup at `at` leaves.
pub(super) fn markup(source: &[u8], at: usize) -> Option<Replacement> {
    let rest = &source[at..];
    match rest[0] {
        b'<' => tag(rest),
        b'[' => link(rest),
        b']' => link_target(rest),
        _ => marks(source, at),
    }
}

/// A run of marks with letters or digits on both sides.
fn marks(source: &[u8], at: usize) -> Option<Replacement> {
    let rest = &source[at..];
    let run = rest
        .iter()
        .take_while(|byte| matches!(byte, b'*' | b'~' | b'`'))
        .count();
    let is_symbol = |at: usize| source.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let inside = at.checked_sub(1).is_some_and(is_symbol) && is_symbol(at + run);
    inside.then(|| Replacement::nothing(run))
}

fn tag(rest: &[u8]) -> Option<Replacement> {
    let begins = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!');
    rest.get(1).filter(|byte| begins(byte))?;
    let end = rest
        .iter()
        .take(LONGEST_TAG)
        .position(|&byte| byte == b'>')?;
    Some(Replacement::nothing(end + 1))
}

/// `[text](target)` reads `text`. Only the bracket goes here, so that markup in the text goes, too.
fn link(rest: &[u8]) -> Option<Replacement> {
    let close = rest
        .iter()
        .take(LONGEST_LINK)
        .position(|&byte| byte == b']')?;
    link_target(&rest[close..])?;
    Some(Replacement::nothing(1))
}

fn link_target(rest: &[u8]) -> Option<Replacement> {
    rest.get(1).filter(|&&byte| byte == b'(')?;
    let end = rest
        .iter()
        .take(LONGEST_LINK)
        .position(|&byte| byte == b')')?;
    Some(Replacement {
        taken: end + 1,
        text: Text::Piece(0..0),
    })
}
