//! Lists of words, numbers and names.

use super::prose;
use super::source::Source;

/// The list of the form `words`: a row of them is what looks most like a canary in that form.
const WORDS_OF_THE_FORM: &str = include_str!("../../src/form/words.txt");
/// The letters of the form `names` (`docs/canary-format.md`).
const CONSONANTS: &[u8; 16] = b"bcdfhklmnprstvwy";
const VOWELS: &[u8; 4] = b"aiou";

static WORDS: std::sync::LazyLock<Vec<&'static str>> =
    std::sync::LazyLock::new(|| WORDS_OF_THE_FORM.lines().collect());

/// A block of words: a dictionary's, one a line, or the form's, in rows and in lines.
pub(super) fn words(source: &mut Source, text: &mut String) {
    let (of_the_form, separator) = match source.bits(2) {
        0 => (false, "\n"),
        1 => (true, "\n"),
        2 => (true, " "),
        _ => (true, ", "),
    };
    for _ in 0..64 {
        if of_the_form {
            text.push_str(source.pick(&WORDS));
        } else {
            prose::word(source, text);
        }
        text.push_str(separator);
    }
    text.push('\n');
}

/// A block of numbers: a table, card numbers, groups of four, long fractions.
pub(super) fn numbers(source: &mut Source, text: &mut String) {
    match source.bits(2) {
        0 => {
            for _ in 0..8 {
                for _ in 0..8 {
                    prose::number(source, text);
                    text.push('\t');
                }
                text.push('\n');
            }
        }
        1 => groups_of_four(source, text, 4, ' '),
        2 => groups_of_four(source, text, 10, '-'),
        _ => {
            text.push_str("0.");
            source.append(text, b"0123456789", 200);
        }
    }
    text.push('\n');
}

fn groups_of_four(source: &mut Source, text: &mut String, groups: usize, separator: char) {
    for _ in 0..groups {
        source.append(text, b"0123456789", 4);
        text.push(separator);
    }
}

/// A line of names, grouped as canaries are or in a row.
pub(super) fn names(source: &mut Source, text: &mut String) {
    for _ in 0..source.pick(&[4, 4, 4, 20]) {
        name(source, text);
        text.push(' ');
        name(source, text);
        text.push_str(source.pick(&[", ", ", ", ", ", "; ", " and "]));
    }
    text.push('\n');
}

fn name(source: &mut Source, text: &mut String) {
    let first = source.pick(CONSONANTS).to_ascii_uppercase();
    text.push(char::from(first));
    for alphabet in [VOWELS.as_slice(), CONSONANTS, VOWELS, CONSONANTS] {
        source.append(text, alphabet, 1);
    }
}
