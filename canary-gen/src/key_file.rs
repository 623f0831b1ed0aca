//! The key ring as a file: one key a line, the first one mints, the others only read.
//!
//! ```text
//! # comment
//! canary-key-v1:<64 hexadecimal digits>
//! ```

use crate::key::{KeyRing, RandomError, RootKey, random_root};
use crate::private_file::{self, ReadError};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const LINE_PREFIX: &str = "canary-key-v1:";
/// Far more than any real ring needs; a bound against reading something that is not a key file.
const LARGEST_FILE: u64 = 1 << 20;

/// Why a key ring could not be read or made. Never holds key material.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file could not be opened or read.
    #[error("read key ring `{path}` (make one with `canary-gen keygen -o {path}`)")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than its owner may read the file.
    #[error("key ring `{path}` is open to others (mode {mode:04o}); run `chmod 600 {path}`")]
    TooOpen {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A line is not a key.
    #[error("key ring `{path}`, line {line}: {fault}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// No line holds a key.
    #[error("key ring `{path}` holds no key (make one with `canary-gen keygen -o FILE`)")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is too large to be a key ring.
    #[error("`{path}` is larger than 1 MiB and so is no key ring")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// `keygen` never overwrites.
    #[error(
        "`{path}` exists already (a key ring is never overwritten: choose another name, or add a line to it)"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The new file could not be written.
    #[error("write key ring `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// What is wrong with a line of a key ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// Not our prefix.
    #[error("a key line starts with `canary-key-v1:`")]
    Prefix,
    /// Not 64 digits.
    #[error("a key has 64 hexadecimal digits")]
    Length,
    /// Not hexadecimal.
    #[error("a key is written in hexadecimal digits only")]
    Digit,
    /// The same key twice.
    #[error("this key stands in the file twice")]
    Twice,
}

/// Reads a key ring.
///
/// # Errors
/// When the file is missing, open to group or others, or not a key ring; the message says how to mend it.
pub fn load(path: &Path) -> Result<KeyRing, KeyFileError> {
    let text = private_file::read(path, LARGEST_FILE).map_err(|error| {
        let path = path.to_owned();
        match error {
            ReadError::Io(source) => KeyFileError::Read { path, source },
            ReadError::TooOpen { mode } => KeyFileError::TooOpen { path, mode },
            ReadError::TooLarge(_) => KeyFileError::TooLarge { path },
        }
    })?;
    let roots = parse(&text).map_err(|(line, fault)| KeyFileError::Line {
        path: path.to_owned(),
        line,
        fault,
    })?;
    KeyRing::from_roots(&roots).ok_or_else(|| KeyFileError::Empty {
        path: path.to_owned(),
    })
}

/// Makes a key ring of one new random key, readable by its owner only.
///
/// # Errors
/// When the file exists (it is never overwritten) or cannot be written.
pub fn generate(path: &Path) -> Result<KeyRing, KeyFileError> {
    let root = random_root()?;
    let mut text = Zeroizing::new(String::from(
        "# Canary key ring. Whoever holds it can forge and read canaries: keep it secret.\n\
         # The first key mints; the keys below it only read. To rotate, put a new line on top.\n",
    ));
    text.push_str(&line(&root));
    let write_error = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists {
            path: path.to_owned(),
        },
        _ => KeyFileError::Write {
            path: path.to_owned(),
            source,
        },
    };
    let mut file = private_file::create(path).map_err(write_error)?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(write_error)?;
    Ok(KeyRing::from_root(&root))
}

/// The line that holds a key in a key ring.
#[must_use]
pub fn line(root: &RootKey) -> Zeroizing<String> {
    prefixed_line(LINE_PREFIX, root)
}

/// The line that holds a key in a file of keys with such a prefix.
#[must_use]
pub fn prefixed_line(prefix: &str, root: &RootKey) -> Zeroizing<String> {
    let mut line = Zeroizing::new(String::with_capacity(prefix.len() + 65));
    line.push_str(prefix);
    for byte in root.iter() {
        // Writing into a String cannot fail.
        let _ = write!(line, "{byte:02x}");
    }
    line.push('\n');
    line
}

/// The root keys in the text of a key ring, in order.
///
/// # Errors
/// The first bad line, counted from 1, and what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<RootKey>, (usize, LineFault)> {
    let mut roots: Vec<RootKey> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let root = parse_line(line).map_err(|fault| (index + 1, fault))?;
        if roots.contains(&root) {
            return Err((index + 1, LineFault::Twice));
        }
        roots.push(root);
    }
    Ok(roots)
}

fn parse_line(line: &str) -> Result<RootKey, LineFault> {
    let digits = line.strip_prefix(LINE_PREFIX).ok_or(LineFault::Prefix)?;
    parse_digits(digits)
}

/// The root key that 64 hexadecimal digits write.
///
/// # Errors
/// When there are more or fewer, or something else among them.
pub fn parse_digits(digits: &str) -> Result<RootKey, LineFault> {
    if digits.len() != 64 {
        return Err(LineFault::Length);
    }
    let mut root = Zeroizing::new([0; 32]);
    for (byte, pair) in root.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16).ok_or(LineFault::Digit)?;
        let low = char::from(pair[1]).to_digit(16).ok_or(LineFault::Digit)?;
        *byte = (high * 16 + low) as u8;
    }
    Ok(root)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn file_with(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (dir, path)
    }

    #[test]
    fn a_generated_ring_is_private_reads_back_and_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let made = generate(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(load(&path).unwrap().minting().id(), made.minting().id());
        let before = fs::read(&path).unwrap();
        assert!(matches!(generate(&path), Err(KeyFileError::Exists { .. })));
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_ring_open_to_others_is_refused_with_the_way_to_mend_it() {
        for mode in [0o640, 0o604, 0o620, 0o666] {
            let (_dir, path) = file_with("", mode);
            let message = load(&path).unwrap_err().to_string();
            assert!(message.contains(&format!("mode {mode:04o}")), "{message}");
            assert!(message.contains("chmod 600"), "{message}");
        }
    }

    #[test]
    fn each_bad_line_is_named_with_its_fault_and_never_shown() {
        let key = "ab".repeat(32);
        for (line, fault) in [
            (format!("canary-key-v2:{key}"), LineFault::Prefix),
            (format!("canary-key-v1:{}", &key[1..]), LineFault::Length),
            (format!("canary-key-v1:{}zz", &key[2..]), LineFault::Digit),
            (
                format!("canary-key-v1:{key}\ncanary-key-v1:{key}"),
                LineFault::Twice,
            ),
        ] {
            let (_dir, path) = file_with(&format!("# ring\n\n{line}\n"), 0o600);
            let error = load(&path).unwrap_err();
            assert!(!error.to_string().contains(&key[2..]), "shows key material");
            assert!(
                matches!(error, KeyFileError::Line { fault: found, .. } if found == fault),
                "{error}"
            );
        }
    }

    #[test]
    fn an_empty_a_missing_and_a_binary_file_are_refused() {
        let (_dir, path) = file_with("# nothing\n", 0o600);
        assert!(matches!(load(&path), Err(KeyFileError::Empty { .. })));
        assert!(matches!(
            load(&path.with_extension("no")),
            Err(KeyFileError::Read { .. })
        ));
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(load(&path), Err(KeyFileError::Read { .. })));
    }
}
