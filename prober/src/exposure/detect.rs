//! What kind of log it is, by its beginning.

use super::access_log;
use super::json::{NotJson, Wanted};
use super::log::Log;
use super::mapping::{Layout, Mapping, Role};
use super::row::{Cell, Kind, Path};
use std::sync::Arc;

/// So many lines of the beginning are looked at.
const LINES: usize = 200;
/// What may separate the values of CSV whose mapping is not known yet.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// Which mapping is to be used.
#[derive(Clone, Debug)]
pub enum Choice {
    /// The first built-in one whose marks a log has.
    Auto(Vec<Arc<Mapping>>),
    /// This one.
    This(Arc<Mapping>),
}

/// Why a log cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unknown {
    /// Its beginning is no text.
    #[error("its beginning is no UTF-8 text (logs are read as UTF-8, plain, .gz or .zst)")]
    Binary,
    /// No mapping fits.
    #[error(
        "its format is not recognised (name it with --log-format, or its fields with --mapping)"
    )]
    Format,
    /// The mapping names no field of it.
    #[error("its first line names none of the fields that `{mapping}` has for `{role}` ({fields})")]
    Column {
        /// Which mapping.
        mapping: String,
        /// For what.
        role: Role,
        /// The fields it has.
        fields: String,
    },
}

/// Finds out how a log is to be read. `whole` says that the beginning is all there is.
pub(super) fn detect(head: &[u8], whole: bool, choice: &Choice) -> Result<Log, Unknown> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if let Err(error) = std::str::from_utf8(head) {
        // A character may be cut at the end. One bad line further on is that line's problem.
        let start = head
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(head.len());
        if error.valid_up_to() < start.min(head.len().saturating_sub(4)) {
            return Err(Unknown::Binary);
        }
    }
    let lines = whole_lines(head, whole);
    if lines.is_empty() {
        // There is nothing to read, whatever it is.
        return Ok(Log::new(last(choice)?, Layout::JsonLines, None));
    }
    by_layout(head, &lines, choice)
}

/// The most general mapping.
pub(super) fn last(choice: &Choice) -> Result<Arc<Mapping>, Unknown> {
    match choice {
        Choice::This(mapping) => Ok(Arc::clone(mapping)),
        Choice::Auto(mappings) => mappings.last().cloned().ok_or(Unknown::Format),
    }
}

fn whole_lines(head: &[u8], whole: bool) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').collect();
    if !whole && lines.len() > 1 {
        // The last one goes on behind the head.
        lines.pop();
    }
    lines.retain(|line| !line.trim_ascii().is_empty());
    lines.truncate(LINES);
    lines
}

fn by_layout(head: &[u8], lines: &[&[u8]], choice: &Choice) -> Result<Log, Unknown> {
    let layout = match choice {
        Choice::This(mapping) => mapping.layout,
        Choice::Auto(_) => None,
    };
    let start = head.trim_ascii_start().first().copied();
    let layout = layout.or(match start {
        Some(b'[') => Some(Layout::JsonDocuments),
        Some(b'{') => None,
        Some(_) if lines.iter().any(|line| access_log::is_line(line)) => Some(Layout::AccessLog),
        _ => Some(Layout::Csv),
    });
    match layout {
        Some(Layout::Csv) => csv(lines, choice),
        Some(Layout::AccessLog) => {
            let mapping = match choice {
                Choice::This(mapping) => mapping,
                Choice::Auto(mappings) => named(mappings, "access-log")?,
            };
            Ok(Log::new(Arc::clone(mapping), Layout::AccessLog, None))
        }
        Some(Layout::JsonDocuments) => Ok(Log::documents(choice.clone())),
        Some(Layout::JsonLines) => json(lines, choice),
        None => {
            if is_document(lines, choice) {
                Ok(Log::documents(choice.clone()))
            } else {
                json(lines, choice)
            }
        }
    }
}

fn named<'m>(mappings: &'m [Arc<Mapping>], name: &str) -> Result<&'m Arc<Mapping>, Unknown> {
    let found = mappings.iter().find(|mapping| mapping.name == name);
    found.ok_or(Unknown::Format)
}

/// Whether the first lines are those of a document: one that ends in the middle of a value and goes on in the next,
/// or that holds lists of records.
fn is_document(lines: &[&[u8]], choice: &Choice) -> bool {
    let Some(first) = lines.first() else {
        return false;
    };
    let mappings = match choice {
        Choice::Auto(mappings) => mappings.as_slice(),
        Choice::This(mapping) => std::slice::from_ref(mapping),
    };
    let lists: Vec<Path> = mappings
        .iter()
        .flat_map(|mapping| &mapping.records)
        .map(|name| vec![name.clone()])
        .collect();
    let mut cells = vec![Cell::default(); lists.len()];
    match Wanted::new(&lists).read(first, &mut cells) {
        Err(NotJson::Cut) => {
            let next = lines.get(1).map(|line| line.trim_ascii_start());
            first.trim_ascii_end().ends_with(b"[")
                || next.is_some_and(|next| !next.starts_with(b"{"))
        }
        Err(_) => false,
        Ok(()) => cells
            .iter()
            .any(|cell| cell.kind == Kind::Other && first.get(cell.start) == Some(&b'[')),
    }
}

fn json(lines: &[&[u8]], choice: &Choice) -> Result<Log, Unknown> {
    let mapping = match choice {
        Choice::This(mapping) => Some(mapping),
        Choice::Auto(mappings) => mappings
            .iter()
            .find(|mapping| lines.iter().any(|line| is_of(mapping, line))),
    };
    let mapping = mapping.ok_or(Unknown::Format)?;
    Ok(Log::new(Arc::clone(mapping), Layout::JsonLines, None))
}

/// Whether a line has the marks of a mapping; without any, a time, and a model or a path.
fn is_of(mapping: &Mapping, line: &[u8]) -> bool {
    let has = |paths: &[Path]| {
        let mut cells = vec![Cell::default(); paths.len()];
        let read = Wanted::new(paths).read(line, &mut cells);
        if read.is_ok() { cells } else { Vec::new() }
    };
    let is_there = |cell: &Cell| cell.kind != Kind::Absent;
    if !mapping.marks.is_empty() {
        let has_all = |group: &Vec<Path>| {
            let cells = has(group);
            !cells.is_empty() && cells.iter().all(is_there)
        };
        return mapping.marks.iter().any(has_all);
    }
    let (slots, roles) = mapping.roles();
    let cells = has(slots.paths());
    let tells = |role: Role| {
        roles
            .of(role)
            .iter()
            .any(|&slot| cells.get(slot).is_some_and(is_there))
    };
    tells(Role::Time) && (tells(Role::Model) || tells(Role::Path))
}

fn csv(lines: &[&[u8]], choice: &Choice) -> Result<Log, Unknown> {
    let first = lines.first().copied().unwrap_or_default();
    let log = |mapping: &Arc<Mapping>, delimiter: u8| {
        let names = super::csv::names(first, delimiter);
        Log::new(Arc::clone(mapping), Layout::Csv, Some((names, delimiter)))
    };
    match choice {
        Choice::This(mapping) => {
            let log = log(mapping, mapping.delimiter);
            for (role, other) in [(Role::Time, None), (Role::Model, Some(Role::Path))] {
                let has = |role: Role| log.has_column(role);
                if !has(role) && !other.is_some_and(has) {
                    return Err(Unknown::Column {
                        mapping: mapping.name.clone(),
                        role,
                        fields: mapping.named(role),
                    });
                }
            }
            Ok(log)
        }
        Choice::Auto(mappings) => {
            for mapping in mappings {
                for delimiter in DELIMITERS {
                    let names = super::csv::names(first, delimiter);
                    let has = |path: &Path| names.contains(&path.join("."));
                    let log = log(mapping, delimiter);
                    let fits = if mapping.marks.is_empty() {
                        log.has_column(Role::Time)
                            && (log.has_column(Role::Model) || log.has_column(Role::Path))
                    } else {
                        mapping.marks.iter().any(|group| group.iter().all(has))
                    };
                    if fits {
                        return Ok(log);
                    }
                }
            }
            Err(Unknown::Format)
        }
    }
}

/// The mapping of a record of a document.
pub(super) fn of_record(record: &[u8], choice: &Choice) -> Result<Arc<Mapping>, Unknown> {
    match choice {
        Choice::This(mapping) => Ok(Arc::clone(mapping)),
        Choice::Auto(mappings) => mappings
            .iter()
            .find(|mapping| is_of(mapping, record))
            .cloned()
            .ok_or(Unknown::Format),
    }
}
