//! Evidence keys as a file, or as the value of a variable: the first one seals, the others only open.
//!
//! ```text
//! # comment
//! evidence-key-v1:<64 hexadecimal digits>
//! ```

use super::EvidenceKeys;
use canary_gen::key::{RandomError, RootKey, random_root};
use canary_gen::key_file::{parse_digits, prefixed_line};
use canary_gen::private_file::{self, ReadError};
use secrecy::zeroize::Zeroizing;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const PREFIX: &str = "evidence-key-v1:";
/// Far more than any real ring needs; a bound against reading something that holds no keys.
const LARGEST_FILE: u64 = 1 << 20;

/// Why keys could not be read or made. Never holds key material.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file could not be opened or read.
    #[error("read evidence keys `{path}` (make some with `prober evidence keygen -o {path}`)")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than its owner may read the file.
    #[error("evidence keys `{path}` are open to others (mode {mode:04o}); run `chmod 600 {path}`")]
    TooOpen {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file is too large to hold keys.
    #[error("`{path}` is larger than 1 MiB and so holds no evidence keys")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Something in it is no key.
    #[error("evidence keys `{path}`: {fault}")]
    Keys {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: KeysFault,
    },
    /// `keygen` never overwrites.
    #[error("`{path}` exists already (add a new key to it with --add, or choose another name)")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be written.
    #[error("write evidence keys `{path}`")]
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

/// What is wrong with a text of keys. Places are counted in keys, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysFault {
    /// No key at all.
    #[error("there is no key (make one with `prober evidence keygen -o FILE`)")]
    Empty,
    /// Not our prefix.
    #[error("key {0} does not begin with `{PREFIX}`")]
    Prefix(usize),
    /// Not 64 hexadecimal digits.
    #[error("key {0} does not have 64 hexadecimal digits")]
    Digits(usize),
    /// The same key twice.
    #[error("key {0} stands there twice")]
    Twice(usize),
}

/// Reads a file of keys.
///
/// # Errors
/// When the file is missing, open to group or others, or holds no keys; the message says how to mend it.
pub fn load(path: &Path) -> Result<EvidenceKeys, KeyFileError> {
    parse(&read(path)?).map_err(|fault| KeyFileError::Keys {
        path: path.to_owned(),
        fault,
    })
}

/// The keys in a text, one behind the other, between white space. `#` begins a comment.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(text: &str) -> Result<EvidenceKeys, KeysFault> {
    let mut roots: Vec<RootKey> = Vec::new();
    let lines = text.lines().map(|line| line.split('#').next());
    for word in lines.flatten().flat_map(str::split_whitespace) {
        let place = roots.len() + 1;
        let root = parse_key(word, place)?;
        if roots.contains(&root) {
            return Err(KeysFault::Twice(place));
        }
        roots.push(root);
    }
    EvidenceKeys::from_roots(&roots).ok_or(KeysFault::Empty)
}

/// Makes a file of one new random key, readable by its owner only.
///
/// # Errors
/// When the file exists (it is never overwritten) or cannot be written.
pub fn generate(path: &Path) -> Result<EvidenceKeys, KeyFileError> {
    let mut text = Zeroizing::new(String::from(
        "# Evidence keys. Whoever holds one can read the responses behind findings: keep them secret.\n\
         # The first key seals; the keys below it only open.\n",
    ));
    text.push_str(&new_line()?);
    let written = private_file::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
    });
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists {
            path: path.to_owned(),
        },
        _ => write_error(path)(source),
    })?;
    load(path)
}

/// Puts a new random key in front of those that a file has; it seals from now on. The file is replaced in one
/// step: whoever reads it meanwhile finds either all of the old keys or all of the new.
///
/// # Errors
/// As [`load`], or when the file cannot be written.
pub fn add(path: &Path) -> Result<EvidenceKeys, KeyFileError> {
    let before = read(path)?;
    load(path)?;
    // Before the line of the first key, whatever comments say.
    let is_key = |line: &&str| {
        let words = line.split('#').next().unwrap_or_default();
        !words.trim().is_empty()
    };
    let first_key: usize = before
        .split_inclusive('\n')
        .take_while(|line| !is_key(line))
        .map(str::len)
        .sum();
    let mut text = Zeroizing::new(String::with_capacity(before.len() + 128));
    text.push_str(&before[..first_key]);
    text.push_str(&new_line()?);
    text.push_str(&before[first_key..]);
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = PathBuf::from(name);
    let written = private_file::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    written.map_err(write_error(&beside))?;
    load(path)
}

fn write_error(path: &Path) -> impl FnOnce(io::Error) -> KeyFileError {
    let path = path.to_owned();
    move |source| KeyFileError::Write { path, source }
}

fn read(path: &Path) -> Result<Zeroizing<String>, KeyFileError> {
    private_file::read(path, LARGEST_FILE).map_err(|error| {
        let path = path.to_owned();
        match error {
            ReadError::Io(source) => KeyFileError::Read { path, source },
            ReadError::TooOpen { mode } => KeyFileError::TooOpen { path, mode },
            ReadError::TooLarge(_) => KeyFileError::TooLarge { path },
        }
    })
}

fn new_line() -> Result<Zeroizing<String>, RandomError> {
    Ok(prefixed_line(PREFIX, &random_root()?))
}

fn parse_key(word: &str, place: usize) -> Result<RootKey, KeysFault> {
    let digits = word.strip_prefix(PREFIX).ok_or(KeysFault::Prefix(place))?;
    parse_digits(digits).map_err(|_| KeysFault::Digits(place))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_generated_file_is_private_reads_back_and_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evidence.keys");
        let made = generate(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(load(&path).unwrap().sealing(), made.sealing());
        let before = fs::read(&path).unwrap();
        assert!(matches!(generate(&path), Err(KeyFileError::Exists { .. })));
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn an_added_key_seals_and_those_of_before_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evidence.keys");
        let first = generate(&path).unwrap().sealing();
        let second = add(&path).unwrap().sealing();
        let third = add(&path).unwrap();
        assert!(first != second && second != third.sealing());
        assert!(third.get(first).is_some() && third.get(second).is_some());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert!(fs::read_to_string(&path).unwrap().starts_with("# Evidence"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_key_in_a_comment_stays_in_its_comment_when_one_is_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evidence.keys");
        let first = generate(&path).unwrap().sealing();
        let before = fs::read_to_string(&path).unwrap();
        let retired = format!("# retired: {PREFIX}{}\n", "ab".repeat(32));
        fs::write(&path, retired.clone() + &before).unwrap();
        let keys = add(&path).unwrap();
        assert!(keys.sealing() != first && keys.get(first).is_some());
        assert!(fs::read_to_string(&path).unwrap().starts_with(&retired));
    }

    #[test]
    fn a_file_open_to_others_or_missing_is_refused_with_the_way_to_mend_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evidence.keys");
        let missing = load(&path).unwrap_err().to_string();
        assert!(missing.contains("prober evidence keygen -o"), "{missing}");
        generate(&path).unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let message = load(&path).unwrap_err().to_string();
            assert!(message.contains("chmod 600"), "{message}");
            assert!(add(&path).is_err());
        }
    }

    #[test]
    fn what_is_no_key_is_named_by_its_place_and_never_shown() {
        let key = "ab".repeat(32);
        for (text, fault) in [
            (String::new(), KeysFault::Empty),
            ("# none\n".to_owned(), KeysFault::Empty),
            (format!("canary-key-v1:{key}"), KeysFault::Prefix(1)),
            (format!("{PREFIX}{}", &key[1..]), KeysFault::Digits(1)),
            (format!("{PREFIX}{}zz", &key[2..]), KeysFault::Digits(1)),
            (format!("{PREFIX}{}ä", &key[2..]), KeysFault::Digits(1)),
            (format!("{PREFIX}{key} {PREFIX}{key}"), KeysFault::Twice(2)),
        ] {
            let found = parse(&text).unwrap_err();
            assert_eq!(found, fault);
            assert!(!found.to_string().contains("abab"), "shows key material");
        }
    }
}
