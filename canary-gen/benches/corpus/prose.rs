//! Prose: words as often as Zipf's law has them, in sentences and paragraphs.

use super::encoded;
use super::source::Source;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// About two thousand English words, the most frequent first.
const LIST: &str = include_str!("words.txt");

static WORDS: LazyLock<Words> = LazyLock::new(Words::load);

/// Words, each as often in `by_chance` as it shall be drawn.
struct Words {
    by_chance: Vec<&'static str>,
}

impl Words {
    /// By Zipf's law as Mandelbrot amended it: the frequency falls as 1 / (rank + 2.7), here in
    /// tenths, in whole numbers only, so that every machine draws the same words.
    fn load() -> Self {
        let words: Vec<&'static str> = LIST.lines().collect();
        let share = |rank: usize| 1_000_000 / (10 * rank + 37);
        let total: usize = (0..words.len()).map(share).sum();
        let mut by_chance = Vec::with_capacity(1 << WORD_BITS);
        for (rank, &word) in words.iter().enumerate() {
            let times = (share(rank) << WORD_BITS) / total;
            by_chance.extend(std::iter::repeat_n(word, times.max(1)));
        }
        // What rounding left over goes to the most frequent ones.
        let mut next = 0;
        while by_chance.len() < 1 << WORD_BITS {
            by_chance.push(words[next]);
            next += 1;
        }
        Self { by_chance }
    }
}

const WORD_BITS: u32 = 16;

const PEOPLE: [&str; 16] = [
    "Anna",
    "James Carter",
    "Zoë Müller",
    "José García",
    "Łukasz Żak",
    "Søren Østergård",
    "François Lefèvre",
    "Nguyễn Văn An",
    "Maria",
    "Priya Raman",
    "Jean-Luc",
    "渡辺 健",
    "Анна Иванова",
    "O’Neill",
    "Lee",
    "Olga Petrova",
];
const ACRONYMS: [&str; 20] = [
    "API", "HTTP", "JSON", "NASA", "GDPR", "SQL", "CPU", "GPU", "SLA", "KPI", "USA", "EU", "HTML",
    "XML", "SDK", "TLS", "AES-256", "ISO 9001", "UTF-8", "RFC 2119",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Appends a word.
pub(super) fn word(source: &mut Source, text: &mut String) {
    text.push_str(any_word(source));
}

/// A word.
pub(super) fn any_word(source: &mut Source) -> &'static str {
    WORDS.by_chance[source.bits(WORD_BITS) as usize]
}

/// Appends so many words with spaces between them.
pub(super) fn words(source: &mut Source, text: &mut String, count: u32) {
    for index in 0..count {
        if index > 0 {
            text.push(' ');
        }
        word(source, text);
    }
}

/// Appends a word with a capital.
pub(super) fn capitalised(source: &mut Source, text: &mut String) {
    let (first, rest) = any_word(source).split_at(1);
    text.push(char::from(first.as_bytes()[0].to_ascii_uppercase()));
    text.push_str(rest);
}

/// Appends a sentence with its full stop.
pub(super) fn sentence(source: &mut Source, text: &mut String) {
    capitalised(source, text);
    let length = source.between(5, 22);
    for _ in 0..length {
        match source.bits(7) {
            0..5 => text.push_str(", "),
            5 => text.push_str(" – "),
            6 => text.push('—'),
            7 => text.push_str("; "),
            _ => text.push(' '),
        }
        match source.bits(8) {
            0 => quoted(source, text),
            1 | 2 => {
                word(source, text);
                text.push_str("'s");
            }
            3..5 => text.push_str(source.pick(&PEOPLE)),
            5..9 => text.push_str(source.pick(&ACRONYMS)),
            9..14 => number(source, text),
            14 => date(source, text),
            15 | 16 => capitalised(source, text),
            _ => word(source, text),
        }
    }
    text.push_str(source.pick(&[".", ".", ".", ".", ".", ".", "?", "!", ":"]));
}

/// Appends a paragraph and an empty line.
pub(super) fn paragraph(source: &mut Source, text: &mut String) {
    sentence(source, text);
    for _ in 0..source.between(1, 6) {
        text.push(' ');
        sentence(source, text);
    }
    text.push_str("\n\n");
}

/// Appends a number as people write them.
pub(super) fn number(source: &mut Source, text: &mut String) {
    let value = source.bits(16);
    // Writing into a `String` cannot fail.
    let _ = match source.bits(3) {
        0 => write!(text, "{}.{:02}", value % 1000, value % 97),
        1 => write!(text, "${},{:03}", value % 90 + 1, value % 1000),
        2 => write!(text, "{}%", value % 101),
        3 => write!(
            text,
            "{},{:03},{:03}",
            value % 9 + 1,
            value % 1000,
            value % 991
        ),
        4 => write!(text, "{}", 1950 + value % 80),
        _ => write!(text, "{}", value % 200),
    };
}

/// Appends a date.
pub(super) fn date(source: &mut Source, text: &mut String) {
    let (year, month, day) = (
        source.between(1990, 2030),
        source.below(12),
        source.between(1, 28),
    );
    let _ = match source.bits(2) {
        0 => write!(text, "{} {day}, {year}", MONTHS[month as usize]),
        1 => write!(text, "{day} {} {year}", MONTHS[month as usize]),
        2 => write!(text, "{year}-{:02}-{day:02}", month + 1),
        _ => write!(
            text,
            "{year}-{:02}-{day:02}T{:02}:{:02}:00Z",
            month + 1,
            source.below(24),
            source.below(60)
        ),
    };
}

/// Appends an address of the web.
pub(super) fn url(source: &mut Source, text: &mut String) {
    text.push_str("https://");
    text.push_str(source.pick(&["www.", "docs.", "", "api."]));
    word(source, text);
    text.push_str(source.pick(&[".example/", ".example/en/", ".test/v1/"]));
    for _ in 0..source.between(1, 3) {
        word(source, text);
        text.push_str(source.pick(&["/", "_", ".", "%20"]));
    }
    if source.one_in(3) {
        text.push_str("?id=");
        encoded::hex(source, text, 8);
    }
}

fn quoted(source: &mut Source, text: &mut String) {
    let (open, close) = source.pick(&[("\"", "\""), ("“", "”"), ("‘", "’"), ("'", "'")]);
    text.push_str(open);
    let count = source.between(1, 5);
    words(source, text, count);
    text.push_str(close);
}
