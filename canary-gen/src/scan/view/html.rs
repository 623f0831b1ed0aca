//! HTML character references (HTML Living Standard, section "Character references"): all numeric ones,
//! and the named ones for ASCII punctuation, spaces and what cannot be seen.

use super::Replacement;

/// Digits of the longest number that is a character, and a few leading zeros.
const MOST_DIGITS: usize = 12;

/// Names that may stand between the symbols of a canary, sorted.
const NAMED: &[(&str, char)] = &[
    ("Hat", '^'),
    ("NewLine", '\n'),
    ("NoBreak", '\u{2060}'),
    ("Tab", '\t'),
    ("ZeroWidthSpace", '\u{200b}'),
    ("amp", '&'),
    ("apos", '\''),
    ("ast", '*'),
    ("bsol", '\\'),
    ("bull", '\u{2022}'),
    ("colon", ':'),
    ("comma", ','),
    ("commat", '@'),
    ("dash", '\u{2010}'),
    ("dollar", '$'),
    ("emsp", '\u{2003}'),
    ("ensp", '\u{2002}'),
    ("equals", '='),
    ("excl", '!'),
    ("grave", '`'),
    ("gt", '>'),
    ("hairsp", '\u{200a}'),
    ("hyphen", '\u{2010}'),
    ("lbrack", '['),
    ("lcub", '{'),
    ("lowbar", '_'),
    ("lpar", '('),
    ("lrm", '\u{200e}'),
    ("lsqb", '['),
    ("lt", '<'),
    ("mdash", '\u{2014}'),
    ("minus", '\u{2212}'),
    ("nbsp", '\u{a0}'),
    ("ndash", '\u{2013}'),
    ("num", '#'),
    ("numsp", '\u{2007}'),
    ("percnt", '%'),
    ("period", '.'),
    ("plus", '+'),
    ("puncsp", '\u{2008}'),
    ("quest", '?'),
    ("quot", '"'),
    ("rbrack", ']'),
    ("rcub", '}'),
    ("rlm", '\u{200f}'),
    ("rpar", ')'),
    ("rsqb", ']'),
    ("semi", ';'),
    ("shy", '\u{ad}'),
    ("sol", '/'),
    ("thinsp", '\u{2009}'),
    ("vert", '|'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
];

/// What the reference at the start of `rest` reads as; numeric ones also without their semicolon.
pub(super) fn reference(rest: &[u8]) -> Option<Replacement> {
    match rest.get(1)? {
        b'#' => match rest.get(2)? {
            b'x' | b'X' => numeric(rest, 3, 16),
            _ => numeric(rest, 2, 10),
        },
        _ => named(rest),
    }
}

fn numeric(rest: &[u8], start: usize, radix: u32) -> Option<Replacement> {
    let mut number = 0u32;
    let mut end = start;
    while let Some(value) = rest
        .get(end)
        .and_then(|&byte| char::from(byte).to_digit(radix))
    {
        if end - start == MOST_DIGITS {
            return None;
        }
        number = number.checked_mul(radix)?.checked_add(value)?;
        end += 1;
    }
    let character = char::from_u32(number).filter(|_| end > start && number > 0)?;
    let semicolon = usize::from(rest.get(end) == Some(&b';'));
    Some(Replacement::character(character, end + semicolon))
}

fn named(rest: &[u8]) -> Option<Replacement> {
    let longest = "ZeroWidthSpace".len();
    let end = rest
        .iter()
        .take(longest + 2)
        .position(|&byte| byte == b';')?;
    let name = std::str::from_utf8(&rest[1..end]).ok()?;
    let found = NAMED.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(Replacement::character(NAMED[found].1, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(NAMED.is_sorted_by_key(|(name, _)| *name));
    }
}
