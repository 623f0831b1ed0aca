//! The sieve: where in a text could anything stand? Sixty-four bytes at a time, fourteen times at once.

mod masks;
mod places;
mod row;

pub(super) use masks::{BLOCK, Blocks, Path};
pub(super) use places::{Places, exact_places};
pub(super) use row::WIDTH;

/// Blocks that are sieved at once: a row without its first and last block.
pub(super) const BATCH: usize = WIDTH - 2;

/// The blocks of a batch that begins with block `first` of a text, and their neighbours; `room` is used
/// where the text does not go that far: there is nothing before its start and behind its end.
pub(super) fn blocks_around<'a>(text: &'a [u8], first: usize, room: &'a mut Blocks) -> &'a Blocks {
    let whole = first
        .checked_sub(1)
        .and_then(|before| text.get(before * BLOCK..))
        .and_then(|rest| rest.as_chunks::<BLOCK>().0.first_chunk());
    if let Some(blocks) = whole {
        return blocks;
    }
    let room_bytes = room.as_flattened_mut();
    room_bytes.fill(0);
    let skip = if first == 0 { BLOCK } else { 0 };
    let rest = &text[(first * BLOCK + skip - BLOCK).min(text.len())..];
    let length = rest.len().min(room_bytes.len() - skip);
    room_bytes[skip..skip + length].copy_from_slice(&rest[..length]);
    room
}
