//! Inputs: their bytes, decompressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read from the disk at once.
const READ_BYTES: usize = 256 << 10;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A log to read.
#[derive(Clone, Debug)]
pub struct Input {
    name: String,
    path: Option<PathBuf>,
}

/// An open log.
pub(super) struct Opened {
    pub(super) reader: Box<dyn Read>,
    pub(super) compression: Option<&'static str>,
}

impl Input {
    /// The log at a path; `-` is standard input.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            name: path.display().to_string(),
            path: (path.as_os_str() != "-").then(|| path.to_owned()),
        }
    }

    /// Its name in the report.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its size on the disk, if it is a file.
    ///
    /// # Errors
    /// When it is a file that cannot be opened.
    pub fn size(&self) -> io::Result<Option<u64>> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let metadata = File::open(path)?.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a directory (name the files in it)",
            ));
        }
        Ok(metadata.is_file().then_some(metadata.len()))
    }

    /// Opens it, decompressing what begins like gzip or Zstandard. `read` counts the bytes that come from the disk.
    pub(super) fn open(&self, read: &Arc<AtomicU64>) -> io::Result<Opened> {
        let file: Box<dyn Read> = match &self.path {
            Some(path) => Box::new(File::open(path)?),
            None => Box::new(io::stdin()),
        };
        let counted = Counted {
            inner: file,
            read: Arc::clone(read),
        };
        let mut buffered = BufReader::with_capacity(READ_BYTES, counted);
        let head = loop {
            match buffered.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                head => break head?,
            }
        };
        Ok(if head.starts_with(GZIP) {
            Opened {
                reader: Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
                compression: Some("gzip"),
            }
        } else if head.starts_with(ZSTD) {
            Opened {
                reader: Box::new(zstd::Decoder::with_buffer(buffered)?),
                compression: Some("zstd"),
            }
        } else {
            Opened {
                reader: Box::new(buffered),
                compression: None,
            }
        })
    }
}

struct Counted {
    inner: Box<dyn Read>,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(bytes)?;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
