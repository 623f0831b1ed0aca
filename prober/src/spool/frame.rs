//! How records stand in a file: each in a frame that shows whether all of it is there.
//!
//! ```text
//! frame = F5 's' 'p' 'l' · length (4 bytes) · CRC-32 of length and record (4 bytes) · record
//! ```
//!
//! Numbers are little-endian. A frame that is torn or damaged costs itself only: reading goes on at the next
//! whole one.

/// What a frame begins with: its first byte never stands in UTF-8, so that it stands in no record.
const MARK: [u8; 4] = [0xf5, b's', b'p', b'l'];
/// Bytes before the record.
const HEAD: usize = 12;
/// No record is longer: a length beyond is damage.
pub(super) const LONGEST: usize = 128 << 20;

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Where a whole record stands.
    Record { begin: usize, end: usize },
    /// Bytes that are no whole frame.
    Damage { begin: usize, end: usize },
}

/// A record in its frame; `None` if it is too long.
pub(super) fn framed(record: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(record.len())
        .ok()
        .filter(|_| record.len() <= LONGEST)?;
    let mut frame = Vec::with_capacity(HEAD + record.len());
    frame.extend_from_slice(&MARK);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&checksum(length, record).to_le_bytes());
    frame.extend_from_slice(record);
    Some(frame)
}

/// What a file holds, from its beginning to its end.
pub(super) fn pieces(file: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut at, mut damaged_from) = (0, 0);
    while at < file.len() {
        let Some(end) = frame_end(file, at) else {
            at += 1;
            continue;
        };
        if damaged_from < at {
            pieces.push(Piece::Damage {
                begin: damaged_from,
                end: at,
            });
        }
        pieces.push(Piece::Record {
            begin: at + HEAD,
            end,
        });
        (at, damaged_from) = (end, end);
    }
    if damaged_from < file.len() {
        pieces.push(Piece::Damage {
            begin: damaged_from,
            end: file.len(),
        });
    }
    pieces
}

/// Where the frame that begins at a place ends, if a whole one does.
fn frame_end(file: &[u8], at: usize) -> Option<usize> {
    let rest = file[at..].strip_prefix(&MARK)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    let record = rest.get(..length as usize)?;
    let is_whole = record.len() <= LONGEST && checksum(length, record) == u32::from_le_bytes(*sum);
    is_whole.then_some(at + HEAD + record.len())
}

fn checksum(length: u32, record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(record);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn records(file: &[u8]) -> Vec<&[u8]> {
        let pieces = pieces(file).into_iter();
        pieces
            .filter_map(|piece| match piece {
                Piece::Record { begin, end } => Some(&file[begin..end]),
                Piece::Damage { .. } => None,
            })
            .collect()
    }

    fn text() -> impl Strategy<Value = String> {
        ".{0,60}"
    }

    proptest! {
        #[test]
        fn a_file_cut_anywhere_keeps_every_record_before_the_cut(
            texts in prop::collection::vec(text(), 0..8),
            share in 0.0..1.0,
        ) {
            let frames: Vec<Vec<u8>> = texts.iter().map(|text| framed(text.as_bytes()).unwrap()).collect();
            let whole = frames.concat();
            let cut = (whole.len() as f64 * share) as usize;
            let mut end = 0;
            let is_before = |frame: &&Vec<u8>| { end += frame.len(); end <= cut };
            let kept = frames.iter().take_while(is_before).count();
            let expected: Vec<&[u8]> = texts[..kept].iter().map(|text| text.as_bytes()).collect();
            prop_assert_eq!(records(&whole[..cut]), expected);
        }

        #[test]
        fn a_changed_byte_costs_one_record_at_most(
            texts in prop::collection::vec(text(), 1..8),
            place in any::<prop::sample::Index>(),
            change in 1_u8..,
        ) {
            let frames: Vec<Vec<u8>> = texts.iter().map(|text| framed(text.as_bytes()).unwrap()).collect();
            let mut file = frames.concat();
            let at = place.index(file.len());
            file[at] ^= change;
            let (mut end, mut hit) = (0, 0);
            for (index, frame) in frames.iter().enumerate() {
                if (end..end + frame.len()).contains(&at) {
                    hit = index;
                }
                end += frame.len();
            }
            let mut expected: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
            expected.remove(hit);
            prop_assert_eq!(records(&file), expected);
        }

        #[test]
        fn pieces_cover_any_bytes_without_a_gap(file in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut at = 0;
            for piece in pieces(&file) {
                let (begin, end) = match piece {
                    Piece::Record { begin, end } => (begin - HEAD, end),
                    Piece::Damage { begin, end } => (begin, end),
                };
                prop_assert_eq!(begin, at);
                prop_assert!(end > begin);
                at = end;
            }
            prop_assert_eq!(at, file.len());
        }
    }
}
