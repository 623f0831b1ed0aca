//! Inputs: which files there are, and their bytes, decompressed.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read at once.
pub(super) const READ_BYTES: usize = 1 << 20;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Something to read.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// Its name in the output.
    pub(super) name: String,
    path: Option<PathBuf>,
    /// Its size on disk; unknown for standard input.
    pub(super) bytes: Option<u64>,
}

/// What stands in the way of an input.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) name: String,
    pub(super) source: io::Error,
}

/// The inputs behind the arguments, in their order, directories walked in the order of names.
pub(super) fn inputs(arguments: &[PathBuf]) -> (Vec<Input>, Vec<Unreadable>) {
    let (mut inputs, mut unreadable) = (Vec::new(), Vec::new());
    if arguments.is_empty() {
        inputs.push(standard_input());
    }
    for argument in arguments {
        if argument.as_os_str() == "-" {
            inputs.push(standard_input());
        } else {
            walk(argument, true, &mut inputs, &mut unreadable);
        }
    }
    (inputs, unreadable)
}

fn standard_input() -> Input {
    Input {
        name: "-".to_owned(),
        path: None,
        bytes: None,
    }
}

fn walk(path: &Path, named: bool, inputs: &mut Vec<Input>, unreadable: &mut Vec<Unreadable>) {
    let name = path.display().to_string();
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(source) => return unreadable.push(Unreadable { name, source }),
    };
    let is_link = !named && fs::symlink_metadata(path).is_ok_and(|own| own.is_symlink());
    if metadata.is_dir() {
        if is_link {
            return;
        }
        match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => {
                let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
                paths.sort();
                for path in paths {
                    walk(&path, false, inputs, unreadable);
                }
            }
            Err(source) => unreadable.push(Unreadable { name, source }),
        }
    } else if named || metadata.is_file() {
        inputs.push(Input {
            name,
            bytes: metadata.is_file().then_some(metadata.len()),
            path: Some(path.to_owned()),
        });
    }
}

impl Input {
    /// Opens the input, decompressing what begins like gzip or Zstandard. `read` counts the bytes that
    /// come from the disk.
    pub(super) fn open(&self, read: &Arc<AtomicU64>) -> io::Result<Box<dyn Read>> {
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
        if head.starts_with(GZIP) {
            return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(buffered)));
        }
        if head.starts_with(ZSTD) {
            return Ok(Box::new(zstd::Decoder::with_buffer(buffered)?));
        }
        Ok(Box::new(buffered))
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

/// Reads into all of `bytes`, less only at the end. What came before an error is returned with it.
pub(super) fn fill(reader: &mut dyn Read, bytes: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut length = 0;
    while length < bytes.len() {
        match reader.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (length, Some(error)),
        }
    }
    (length, None)
}

/// Appends the next `length` bytes, less only at the end. What came before an error is kept.
pub(super) fn append(
    reader: &mut dyn Read,
    length: usize,
    bytes: &mut Vec<u8>,
) -> Option<io::Error> {
    bytes.reserve(length);
    reader.take(length as u64).read_to_end(bytes).err()
}
