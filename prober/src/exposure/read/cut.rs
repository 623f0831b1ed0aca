//! Cutting a log into blocks of whole lines, or whole records of CSV.

use crate::exposure::csv::Ends;
use crate::exposure::mapping::Layout;
use crate::exposure::problem::What;
use std::io::{self, Read};

/// Bytes of a block, about.
pub(super) const BLOCK: usize = 1 << 20;
/// Bytes of the longest line that is read. A longer one is told as a problem and passed over.
const LONGEST_LINE: usize = 16 << 20;
/// Bytes of the beginning that tells what kind of log it is; more if the first line is longer.
const HEAD: usize = 256 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the beginning of a log; tells whether that is all of it, and the error that ended it.
pub(super) fn head(reader: &mut dyn Read, head: &mut Vec<u8>) -> (bool, Option<io::Error>) {
    while head.len() < HEAD || (!head.contains(&b'\n') && head.len() < LONGEST_LINE) {
        let before = head.len();
        let more = HEAD.max(before);
        let error = reader.take(more as u64).read_to_end(head).err();
        if head.len() - before < more {
            return (true, error);
        }
    }
    (false, None)
}

/// Whole lines of a log.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    /// Bytes before the first line: a byte order mark.
    skipped: usize,
    /// The number of the first line.
    pub(super) first_line: u64,
    /// Lines that were not read at all.
    pub(super) faults: Vec<(u64, What)>,
    /// What ended the log too early; these lines came before it.
    pub(super) error: Option<io::Error>,
}

impl Block {
    /// The bytes of the lines.
    pub(super) fn lines(&self) -> &[u8] {
        &self.bytes[self.skipped..]
    }
}

/// Cuts a log.
pub(super) struct Cutter<R> {
    reader: R,
    is_csv: bool,
    /// What was read and belongs to the next block.
    rest: Vec<u8>,
    /// The number of the first line of the rest.
    line: u64,
    is_first: bool,
    ended: bool,
    longest_line: usize,
}

impl<R: Read> Cutter<R> {
    pub(super) fn new(reader: R, layout: Layout) -> Self {
        Self {
            reader,
            is_csv: layout == Layout::Csv,
            rest: Vec::new(),
            line: 1,
            is_first: true,
            ended: false,
            longest_line: LONGEST_LINE,
        }
    }

    /// The next block, in a buffer that may be used again; `None` at the end.
    pub(super) fn next(&mut self, mut bytes: Vec<u8>) -> Option<Block> {
        if self.ended && self.rest.is_empty() {
            return None;
        }
        bytes.clear();
        bytes.append(&mut self.rest);
        let mut block = Block {
            first_line: self.line,
            ..Block::default()
        };
        let mut ends = Ends::default();
        loop {
            let before = bytes.len();
            let error = self.fill(&mut bytes, BLOCK);
            self.ended = bytes.len() - before < BLOCK;
            if self.is_first && bytes.starts_with(BYTE_ORDER_MARK) {
                block.skipped = BYTE_ORDER_MARK.len();
            }
            self.is_first = false;
            let mut cut = if self.is_csv {
                ends.last(&bytes)
            } else {
                memchr::memrchr(b'\n', &bytes[before..]).map_or(0, |newline| before + newline + 1)
            };
            if self.ended {
                if self.is_csv && ends.is_quoted() {
                    // What follows an open quotation mark is of no record.
                    let line = self.line + newlines(&bytes[..cut]);
                    block.faults.push((line, What::OpenQuote));
                    bytes.truncate(cut);
                }
                cut = bytes.len();
                block.error = error;
            } else if cut == 0 && bytes.len() > self.longest_line {
                block.faults.push((self.line, What::TooLong));
                self.line += self.pass_over(&mut bytes, &mut block.error);
                block.first_line = self.line;
                block.bytes = bytes;
                return Some(block);
            } else if cut == 0 {
                continue;
            }
            self.rest.extend_from_slice(&bytes[cut..]);
            bytes.truncate(cut);
            self.line += newlines(&bytes);
            block.bytes = bytes;
            return Some(block);
        }
    }

    /// Drops the bytes and what follows up to the next line break; returns how many lines that were.
    fn pass_over(&mut self, bytes: &mut Vec<u8>, broken: &mut Option<io::Error>) -> u64 {
        let mut lines = 0;
        loop {
            // In CSV too: the record is lost, but the next line may begin a good one.
            if let Some(newline) = memchr::memchr(b'\n', bytes) {
                lines += 1;
                self.rest.extend_from_slice(&bytes[newline + 1..]);
                bytes.clear();
                return lines;
            }
            bytes.clear();
            if self.ended {
                return lines;
            }
            *broken = self.fill(bytes, BLOCK);
            self.ended = bytes.len() < BLOCK;
        }
    }

    /// Appends the next bytes, less only at the end. What came before an error is kept.
    fn fill(&mut self, bytes: &mut Vec<u8>, length: usize) -> Option<io::Error> {
        (&mut self.reader)
            .take(length as u64)
            .read_to_end(bytes)
            .err()
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    type Lines = Vec<(u64, Vec<u8>)>;

    /// All lines with their numbers, and what was not read.
    fn cut(text: &[u8], layout: Layout, longest_line: usize) -> (Lines, Vec<(u64, What)>) {
        let mut cutter = Cutter::new(text, layout);
        cutter.longest_line = longest_line;
        let (mut lines, mut faults) = (Vec::new(), Vec::new());
        while let Some(block) = cutter.next(Vec::new()) {
            assert!(block.error.is_none());
            let numbered = (block.first_line..).zip(block.lines().split(|&byte| byte == b'\n'));
            lines.extend(
                numbered
                    .filter(|(_, line)| !line.is_empty())
                    .map(|(number, line)| (number, line.to_vec())),
            );
            faults.extend(block.faults);
        }
        (lines, faults)
    }

    #[test]
    fn all_lines_come_whole_and_with_their_numbers_whatever_their_length() {
        let mut text = BYTE_ORDER_MARK.to_vec();
        let mut expected = Vec::new();
        for number in 1..400_u64 {
            let line = vec![b'a' + (number % 26) as u8; (number as usize * 7_919) % 40_000 + 1];
            text.extend_from_slice(&line);
            text.push(b'\n');
            expected.push((number, line));
        }
        text.pop();
        let (lines, faults) = cut(&text, Layout::JsonLines, LONGEST_LINE);
        assert_eq!(lines.len(), expected.len());
        assert!(lines == expected && faults.is_empty());
    }

    #[test]
    fn a_line_that_is_too_long_is_told_and_the_next_ones_are_read() {
        let long = vec![b'x'; 5 * BLOCK];
        let text = [b"one\n".as_slice(), &long, b"\nthree\nfour"].concat();
        let (lines, faults) = cut(&text, Layout::JsonLines, 2 * BLOCK);
        assert_eq!(
            lines,
            [
                (1, b"one".to_vec()),
                (3, b"three".to_vec()),
                (4, b"four".to_vec())
            ]
        );
        assert_eq!(faults, [(2, What::TooLong)]);
        let text = [b"one\n".as_slice(), &long].concat();
        assert_eq!(
            cut(&text, Layout::JsonLines, 2 * BLOCK).1,
            [(2, What::TooLong)]
        );
    }

    #[test]
    fn a_record_of_csv_is_not_cut_at_a_line_break_within_it() {
        let record = format!("\"{}\n{}\",x\n", "a".repeat(BLOCK), "b".repeat(BLOCK));
        let text = [b"1,2\n", record.as_bytes(), b"3,4\n\"open,\n5"].concat();
        let mut cutter = Cutter::new(text.as_slice(), Layout::Csv);
        let mut blocks = Vec::new();
        while let Some(block) = cutter.next(Vec::new()) {
            blocks.push(block);
        }
        let starts: Vec<u64> = blocks.iter().map(|block| block.first_line).collect();
        assert_eq!(starts, [1, 2]);
        assert_eq!(blocks[1].lines().len(), record.len() + 4);
        assert_eq!(blocks[1].faults, [(5, What::OpenQuote)]);
    }
}
