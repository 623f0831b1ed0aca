//! The spool: a folder where records wait while the database is away, each on the disk before it counts as kept.
//!
//! Records are bytes to it. They come out in the order in which they went in, and stay until they are removed. After
//! a crash the segment that was being read is read again from its beginning: whoever takes records out must bear one
//! twice.

mod file;
mod frame;
mod segments;
mod spooler;

pub use segments::{Damage, Room, Spool};
pub use spooler::{Spooler, State};

use std::io;
use std::path::PathBuf;

/// What is wrong with the spool. Never holds any of a record.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// A file or the folder cannot be read or written.
    #[error("{act} `{path}`")]
    File {
        /// What was being done.
        act: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No record is so long.
    #[error("a record of {0} bytes is too long for the spool")]
    TooLong(usize),
}
