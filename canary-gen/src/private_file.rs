//! Files that hold secrets: readable by their owner only, read whole and within bounds.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// Why a private file was not read. Never holds any of it.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It could not be opened or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Others than its owner may read it.
    #[error("it is open to others (mode {mode:04o})")]
    TooOpen {
        /// Its permission bits.
        mode: u32,
    },
    /// It is larger than it may be.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
}

/// Reads the text of a private file of up to so many bytes.
///
/// # Errors
/// When it cannot be read, is open to group or others, or larger.
pub fn read(path: &Path, largest: u64) -> Result<Zeroizing<String>, ReadError> {
    let file = File::open(path)?;
    // Asked of the opened file, so that nobody can swap it in between.
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o7777;
    if metadata.is_file() && mode & 0o077 != 0 {
        return Err(ReadError::TooOpen { mode });
    }
    // Room for all of it at once: a growing buffer would leave unwiped copies behind.
    let room = metadata.len().min(largest) as usize + 1;
    let mut text = Zeroizing::new(String::with_capacity(room));
    file.take(largest + 1).read_to_string(&mut text)?;
    if text.len() as u64 > largest {
        return Err(ReadError::TooLarge(largest));
    }
    Ok(text)
}

/// Makes a new private file; an existing one is never opened.
///
/// # Errors
/// When there is one of the name, or it cannot be made.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}
