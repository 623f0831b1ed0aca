//! Places where a whole canary could stand, and the verification of one.

use super::Sighting;
use crate::form::{Form, SHORTEST};
use crate::key::KeyRing;

/// The next place in `start..end` where at least [`SHORTEST`] bytes of letters, digits and dashes
/// follow each other; `None` when there is none.
///
/// Looks at the last byte of the window first: in prose most windows end the search after a byte or
/// two and move on by about twenty.
pub(super) fn next_candidate(text: &[u8], start: usize, end: usize) -> Option<usize> {
    let mut place = start;
    while place < end && place + SHORTEST <= text.len() {
        let window = &text[place..place + SHORTEST];
        match window.iter().rposition(|&byte| !WRITES[usize::from(byte)]) {
            Some(foreign) => place += foreign + 1,
            None => return Some(place),
        }
    }
    None
}

/// The canary that starts exactly at `start`, if there is one. Its offset is relative to `text`.
pub(super) fn read_at(ring: &KeyRing, text: &[u8], start: usize) -> Option<Sighting> {
    let rest = &text[start..];
    for form in Form::ALL {
        for shape in form.shapes() {
            let writing = rest.get(..shape.length);
            let Some(canary) = writing.and_then(|writing| shape.read(writing)) else {
                continue;
            };
            if let Some((key, identity)) = ring.open(&canary) {
                return Some(Sighting {
                    identity,
                    key,
                    form,
                    offset: start as u64,
                    length: shape.length,
                });
            }
        }
    }
    None
}

/// The bytes that occur in a writing of any form.
const WRITES: [bool; 256] = {
    let mut writes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        writes[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'-';
        byte += 1;
    }
    writes
};
