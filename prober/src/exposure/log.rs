//! A log of a known kind, and what one block of it comes to.

use super::access_log;
use super::assess::{Question, Reading, assess};
use super::csv;
use super::detect::Choice;
use super::json::Wanted;
use super::mapping::{Layout, Mapping, Role, Roles};
use super::problem::What;
use super::row::{Cell, Row, Slots};
use super::tally::Tally;
use std::sync::Arc;

/// How a log is read.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) mapping: Option<Arc<Mapping>>,
    pub(super) layout: Layout,
    /// Of documents, whose mapping is known when they are read.
    pub(super) choice: Option<Choice>,
    pub(super) delimiter: u8,
    slots: Slots,
    roles: Roles,
    wanted: Wanted,
    /// The slots of each column, where the lines have columns.
    columns: Vec<Vec<usize>>,
}

/// What a block came to.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) tally: Tally,
    /// Lines and what is wrong with them, in their order.
    pub(super) problems: Vec<(u64, What)>,
    pub(super) bytes: u64,
    /// Which mapping it was, if that was found out only now.
    pub(super) mapping: Option<String>,
}

impl Part {
    /// A line or record that could not be held against the incident.
    pub(super) fn fail(&mut self, line: u64, what: What) {
        self.tally.unreadable += 1;
        self.problems.push((line, what));
    }
}

impl Log {
    /// A log of lines; one of CSV has the names of its columns, and their delimiter.
    pub(super) fn new(
        mapping: Arc<Mapping>,
        layout: Layout,
        columns: Option<(Vec<String>, u8)>,
    ) -> Self {
        let (slots, roles) = mapping.roles();
        let wanted = Wanted::new(slots.paths());
        let (names, delimiter) = match (columns, layout) {
            (Some(columns), _) => columns,
            (None, Layout::AccessLog) => (access_log::COLUMNS.map(str::to_owned).to_vec(), b' '),
            (None, _) => (Vec::new(), b','),
        };
        let of = |name: &String| {
            let paths = slots.paths().iter().enumerate();
            paths
                .filter(|(_, path)| path.join(".") == name.trim())
                .map(|(slot, _)| slot)
                .collect()
        };
        let columns = names.iter().map(of).collect();
        Self {
            mapping: Some(mapping),
            layout,
            choice: None,
            delimiter,
            slots,
            roles,
            wanted,
            columns,
        }
    }

    /// A log of JSON documents.
    pub(super) fn documents(choice: Choice) -> Self {
        Self {
            mapping: None,
            layout: Layout::JsonDocuments,
            choice: Some(choice),
            delimiter: b',',
            slots: Slots::default(),
            roles: Roles::default(),
            wanted: Wanted::new(&[]),
            columns: Vec::new(),
        }
    }

    /// Whether a column is for this role.
    pub(super) fn has_column(&self, role: Role) -> bool {
        let slots = self.roles.of(role);
        self.columns
            .iter()
            .flatten()
            .any(|slot| slots.contains(slot))
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Reads whole lines, the first of which has this number.
    pub(super) fn read(&self, bytes: &[u8], first_line: u64, question: &Question) -> Part {
        let mut part = Part {
            bytes: bytes.len() as u64,
            ..Part::default()
        };
        let mut cells = vec![Cell::default(); self.slots.paths().len()];
        match self.layout {
            Layout::Csv => {
                // The first record of all holds the names of the others.
                let mut is_names = first_line == 1;
                let each = &mut |line: u64, bytes: &[u8], places: &[(usize, usize)]| {
                    if std::mem::take(&mut is_names) {
                        return;
                    }
                    if places.len() != self.columns.len() {
                        return part.fail(line, What::OtherWidth);
                    }
                    cells.fill(Cell::default());
                    for (&(start, end), slots) in places.iter().zip(&self.columns) {
                        for &slot in slots {
                            cells[slot] = Cell::text(start, end);
                        }
                    }
                    self.answer(line, bytes, &cells, question, &mut part);
                };
                csv::records(bytes, first_line, self.delimiter, each);
            }
            Layout::JsonLines | Layout::AccessLog | Layout::JsonDocuments => {
                // All at once is quicker than line by line, and nearly always enough.
                let is_utf8 = std::str::from_utf8(bytes).is_ok();
                let mut rest = bytes;
                let mut number = first_line;
                while !rest.is_empty() {
                    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    let line = &rest[..end];
                    rest = rest.get(end + 1..).unwrap_or_default();
                    self.line(line, number, is_utf8, &mut cells, question, &mut part);
                    number += 1;
                }
            }
        }
        part
    }

    fn line(
        &self,
        line: &[u8],
        number: u64,
        is_utf8: bool,
        cells: &mut [Cell],
        question: &Question,
        part: &mut Part,
    ) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if !is_utf8 && std::str::from_utf8(line).is_err() {
            return part.fail(number, What::NotUtf8);
        }
        let read = if self.layout == Layout::AccessLog {
            cells.fill(Cell::default());
            let each = &mut |column: usize, start: usize, end: usize| {
                for &slot in self.columns.get(column).into_iter().flatten() {
                    cells[slot] = Cell::text(start, end);
                }
            };
            access_log::read(line, each).ok_or(What::NoAccessLog)
        } else {
            self.wanted.read(line, cells).map_err(What::NotJson)
        };
        match read {
            Ok(()) => self.answer(number, line, cells, question, part),
            Err(what) => part.fail(number, what),
        }
    }

    /// Holds one record against the incident.
    pub(super) fn answer(
        &self,
        line: u64,
        bytes: &[u8],
        cells: &[Cell],
        question: &Question,
        part: &mut Part,
    ) {
        let row = Row { bytes, cells };
        let reading = Reading {
            roles: &self.roles,
            zone: self.mapping.as_ref().and_then(|mapping| mapping.zone),
        };
        let Part {
            tally, problems, ..
        } = &mut *part;
        let answer = assess(
            &row,
            reading,
            question,
            &mut |span| tally.see(span),
            &mut |what| problems.push((line, what)),
        );
        match answer {
            Ok(answer) => part.tally.take(&answer, &question.incident),
            Err(what) => part.fail(line, what),
        }
    }
}
