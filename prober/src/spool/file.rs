//! Files of the spool: private, and on the disk when a function says so.

use super::SpoolError;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

pub(super) fn failed(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    move |source| SpoolError::File {
        act,
        path: path.to_owned(),
        source,
    }
}

pub(super) fn make_folder(path: &Path) -> Result<(), SpoolError> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(path);
    made.map_err(failed("make the folder of the spool", path))
}

/// A new file that can be appended to.
pub(super) fn create(path: &Path) -> io::Result<File> {
    File::options()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// A file of these bytes, whole or not at all, in place of any of the name.
pub(super) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let _ = fs::remove_file(&draft);
    let mut file = create(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_folder_of(path)
}

/// A file of zeros that takes up room on the disk.
pub(super) fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let zeros = [0; 1 << 16];
    let mut file = create(path)?;
    let mut left = bytes;
    while left > 0 {
        let length = left.min(zeros.len() as u64);
        file.write_all(&zeros[..length as usize])?;
        left -= length;
    }
    file.sync_all()
}

/// Names of files are on the disk, too.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
