//! What is wrong with lines of a log: places and reasons, never what stands there.

use super::json::NotJson;
use super::mapping::Role;
use std::fmt;

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Its bytes are no UTF-8.
    NotUtf8,
    /// It is no JSON object.
    NotJson(NotJson),
    /// It is longer than any line may be.
    TooLong,
    /// A quotation mark is never closed.
    OpenQuote,
    /// It has another number of values than the line of names.
    OtherWidth,
    /// It is no line of an access log.
    NoAccessLog,
    /// A document has no records where the mapping says.
    NoRecords,
    /// A field that is needed is not there.
    Missing(Role),
    /// A field holds something else than it should.
    Wrong(Role),
    /// A time does not tell its zone.
    NoZone(Role),
}

impl What {
    /// Whether a record can be held against an incident nevertheless.
    #[must_use]
    pub fn is_note(self) -> bool {
        use Role::{Application, InputBytes, InputTokens, Key, OutputTokens, Status};
        matches!(
            self,
            Self::Missing(role) | Self::Wrong(role)
                if matches!(role, InputTokens | OutputTokens | InputBytes | Key | Application | Status)
        )
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("the line is not UTF-8"),
            Self::NotJson(why) => write!(f, "the line is no JSON object: {why}"),
            Self::TooLong => f.write_str("the line is longer than 16 MiB"),
            Self::OpenQuote => f.write_str("a quotation mark is not closed"),
            Self::OtherWidth => {
                f.write_str("the line has another number of values than the first line")
            }
            Self::NoAccessLog => f.write_str("the line is none of an access log"),
            Self::NoRecords => f.write_str("the document has no records where the mapping says"),
            Self::Missing(role) => write!(f, "{role}: no field tells it"),
            Self::Wrong(role) => write!(f, "{role}: the field does not hold one"),
            Self::NoZone(role) => write!(
                f,
                "{role}: the time does not tell its zone (say it with `time_zone` in a mapping)"
            ),
        }
    }
}

/// What is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Which of the logs.
    pub(super) log: usize,
    /// The line, from 1.
    pub(super) line: u64,
    /// What it is.
    pub(super) what: What,
}
