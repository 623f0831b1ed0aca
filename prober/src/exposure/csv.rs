//! Records of CSV, as `csv-core` reads them, with the lines they begin in.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// Who is told of a record: its line, the bytes with its values, and where in them each begins and ends.
type Each<'e> = &'e mut dyn FnMut(u64, &[u8], &[(usize, usize)]);

/// The names in a first line.
pub(super) fn names(line: &[u8], delimiter: u8) -> Vec<String> {
    let mut names = Vec::new();
    records(line, 1, delimiter, &mut |_, bytes, places| {
        let of = |&(start, end): &(usize, usize)| {
            String::from_utf8_lossy(&bytes[start..end]).into_owned()
        };
        names = places.iter().map(of).collect();
    });
    names
}

/// Tells each record.
pub(super) fn records(bytes: &[u8], first_line: u64, delimiter: u8, each: Each<'_>) {
    // Most logs quote nothing, and reading them then takes a quarter of the time.
    match memchr::memchr(b'"', bytes) {
        None => plain(bytes, first_line, delimiter, each),
        Some(_) => quoted(bytes, first_line, delimiter, each),
    }
}

fn quoted(bytes: &[u8], first_line: u64, delimiter: u8, each: Each<'_>) {
    let mut reader: Reader = ReaderBuilder::new().delimiter(delimiter).build();
    let mut values = vec![0; 4_096];
    let mut ends = vec![0; 64];
    let mut places = Vec::with_capacity(64);
    let mut rest = bytes;
    let mut line = first_line;
    loop {
        // Empty lines are none, but count.
        while let [first @ (b'\n' | b'\r'), tail @ ..] = rest {
            line += u64::from(*first == b'\n');
            rest = tail;
        }
        let begins = line;
        let (mut length, mut fields) = (0, 0);
        loop {
            let (result, read, written, ended) =
                reader.read_record(rest, &mut values[length..], &mut ends[fields..]);
            line += memchr::memchr_iter(b'\n', &rest[..read]).count() as u64;
            rest = &rest[read..];
            length += written;
            fields += ended;
            match result {
                // Told again with nothing to read, it ends the last record.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => values.resize(values.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => ends.resize(ends.len() * 2, 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return,
            }
        }
        places.clear();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        places.extend(starts.zip(ends[..fields].iter().copied()));
        each(begins, &values[..length], &places);
    }
}

/// Where nothing is quoted, a record is a line, and its values stand in it as they are.
fn plain(bytes: &[u8], first_line: u64, delimiter: u8, each: Each<'_>) {
    let mut places = Vec::with_capacity(64);
    let mut tell = |number: u64, line: &[u8]| {
        if line.is_empty() {
            return;
        }
        places.clear();
        let mut start = 0;
        for end in memchr::memchr_iter(delimiter, line).chain([line.len()]) {
            places.push((start, end));
            start = end + 1;
        }
        each(number, line, &places);
    };
    for (number, line) in (first_line..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A carriage return ends a record wherever it stands.
        match memchr::memchr(b'\r', line) {
            None => tell(number, line),
            Some(_) => line
                .split(|&byte| byte == b'\r')
                .for_each(|line| tell(number, line)),
        }
    }
}

/// Where the last whole record ends: behind a line break outside of quotation marks. Goes on where it stopped, as the
/// bytes grow.
#[derive(Debug, Default)]
pub(super) struct Ends {
    looked_at: usize,
    is_quoted: bool,
    last: usize,
}

impl Ends {
    pub(super) fn last(&mut self, bytes: &[u8]) -> usize {
        let new = &bytes[self.looked_at..];
        if !self.is_quoted && memchr::memchr(b'"', new).is_none() {
            if let Some(newline) = memchr::memrchr(b'\n', new) {
                self.last = self.looked_at + newline + 1;
            }
        } else {
            for at in memchr::memchr2_iter(b'"', b'\n', new) {
                match new[at] {
                    b'"' => self.is_quoted = !self.is_quoted,
                    _ if !self.is_quoted => self.last = self.looked_at + at + 1,
                    _ => {}
                }
            }
        }
        self.looked_at = bytes.len();
        self.last
    }

    /// Whether the bytes end within quotation marks.
    pub(super) fn is_quoted(&self) -> bool {
        self.is_quoted
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Records = Vec<(u64, Vec<String>)>;

    fn read_by(text: &str, records: fn(&[u8], u64, u8, Each<'_>)) -> Records {
        let mut all = Vec::new();
        records(text.as_bytes(), 1, b',', &mut |line, bytes, places| {
            let of = |&(start, end): &(usize, usize)| {
                String::from_utf8_lossy(&bytes[start..end]).into_owned()
            };
            all.push((line, places.iter().map(of).collect()));
        });
        all
    }

    fn read(text: &str) -> Records {
        read_by(text, records)
    }

    #[test]
    fn records_are_told_with_the_lines_they_begin_in() {
        let text = "a,b\r\n\n\"1\n2\",\"x\"\"y\"\n3,\n";
        let of = |line, values: [&str; 2]| (line, values.map(str::to_owned).to_vec());
        assert_eq!(
            read(text),
            [of(1, ["a", "b"]), of(3, ["1\n2", "x\"y"]), of(5, ["3", ""])]
        );
        assert_eq!(names(b"time;\"the model\"", b';'), ["time", "the model"]);
        let wide = "x,".repeat(100) + &"y".repeat(9_000);
        assert_eq!(read(&wide)[0].1.len(), 101);
    }

    proptest! {
        #[test]
        fn pieces_cut_at_ends_hold_the_same_records(rows in prop::collection::vec(prop::collection::vec("[a,\"\n]{0,4}", 2), 1..6), at: prop::sample::Index) {
            let quoted = |value: &String| format!("\"{}\"", value.replace('"', "\"\""));
            let text: String = rows.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n").collect();
            let at = at.index(text.len() + 1);
            let mut ends = Ends::default();
            let first = ends.last(&text.as_bytes()[..at]);
            prop_assert!(first <= at);
            prop_assert_eq!(ends.last(text.as_bytes()), text.len());
            let mut parts = read(&text[..first]);
            parts.extend(read(&text[first..]));
            let values: Vec<Vec<String>> = parts.into_iter().map(|(_, values)| values).collect();
            prop_assert_eq!(values, rows);
        }

        #[test]
        fn what_quotes_nothing_is_read_the_same_in_both_ways(text in "[a,;\r\n]{0,40}") {
            prop_assert_eq!(read_by(&text, plain), read_by(&text, quoted));
        }

        #[test]
        fn nothing_makes_it_panic(text: Vec<u8>, delimiter in prop::sample::select(vec![b',', b';', b'\t'])) {
            records(&text, 1, delimiter, &mut |_, _, _| {});
        }
    }
}
