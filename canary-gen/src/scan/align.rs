//! How a canary that we know lies in a text that may be damaged.

/// Where a known writing was found in a text, and how many edits apart they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    pub(super) damages: u8,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Clone, Copy)]
struct Cell {
    damages: u16,
    start: u16,
}

/// The piece of `text` that is closest to `known` in substitutions, deletions, insertions and swaps of
/// neighbours (each counts one), when it is at most `most` away, and `most` is at most two. Of equally
/// close ones the first whose length is nearest. `text` is at most a few hundred symbols.
pub(super) fn align(known: &[u16], text: &[u16], most: u8) -> Option<Alignment> {
    // Row by row over the known symbols; a column is a place in the text. `start` is where the piece
    // that a cell belongs to began. The last three rows are kept: a swap may be pulled apart by one
    // other damage.
    let columns = text.len() + 1;
    let first: Vec<Cell> = (0..columns)
        .map(|at| Cell {
            damages: 0,
            start: at as u16,
        })
        .collect();
    let mut rows = [first.clone(), first.clone(), first.clone(), first];
    for (index, &symbol) in known.iter().enumerate() {
        rows.rotate_right(1);
        let [row, last, second_last, third_last] = &mut rows;
        row[0] = Cell {
            damages: index as u16 + 1,
            start: 0,
        };
        for at in 1..columns {
            let mut best = plus(last[at - 1], u16::from(text[at - 1] != symbol));
            let mut or = |cell: Cell, damages: u16| {
                let other = plus(cell, damages);
                if other.damages < best.damages {
                    best = other;
                }
            };
            or(last[at], 1);
            or(row[at - 1], 1);
            let is = |known_back: usize, text_back: usize| {
                index >= known_back
                    && at > text_back
                    && known[index - known_back] == text[at - 1 - text_back]
            };
            // Two neighbours swapped; and with a symbol added or lost between them.
            if is(0, 1) && is(1, 0) {
                or(second_last[at - 2], 1);
            }
            if is(0, 2) && is(1, 0) {
                or(second_last[at - 3], 2);
            }
            if is(0, 1) && is(2, 0) {
                or(third_last[at - 2], 2);
            }
            row[at] = best;
        }
    }
    let (end, cell) = rows[0].iter().enumerate().min_by_key(|(end, cell)| {
        let length = end - usize::from(cell.start);
        (cell.damages, length.abs_diff(known.len()))
    })?;
    (cell.damages <= u16::from(most)).then_some(Alignment {
        damages: cell.damages as u8,
        start: usize::from(cell.start),
        end,
    })
}

fn plus(cell: Cell, damages: u16) -> Cell {
    Cell {
        damages: cell.damages + damages,
        ..cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(text: &str) -> Vec<u16> {
        text.bytes().map(u16::from).collect()
    }

    fn aligned(known: &str, text: &str) -> Option<(u8, usize, usize)> {
        align(&symbols(known), &symbols(text), 2)
            .map(|found| (found.damages, found.start, found.end))
    }

    #[test]
    fn each_kind_of_damage_counts_one_and_the_rest_of_the_text_nothing() {
        assert_eq!(aligned("abcdefgh", "xxabcdefghyy"), Some((0, 2, 10)));
        assert_eq!(aligned("abcdefgh", "xxabcXefghyy"), Some((1, 2, 10)));
        assert_eq!(aligned("abcdefgh", "xxabcefghyy"), Some((1, 2, 9)));
        assert_eq!(aligned("abcdefgh", "xxabcdXefghyy"), Some((1, 2, 11)));
        assert_eq!(aligned("abcdefgh", "xxabdcefghyy"), Some((1, 2, 10)));
        assert_eq!(aligned("abcdefgh", "xxabdcefhgyy"), Some((2, 2, 10)));
        assert_eq!(aligned("abcdefgh", "xxabdXcefghyy"), Some((2, 2, 11)));
        assert_eq!(aligned("abcdefgh", "xxabedfghyy"), Some((2, 2, 9)));
        assert_eq!(aligned("abcdefgh", "xxabXXXfghyy"), None);
    }

    #[test]
    fn an_empty_text_is_far_from_everything() {
        assert_eq!(aligned("abcdefgh", ""), None);
    }
}
