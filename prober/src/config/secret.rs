//! Secrets come from environment variables and from private files, never from the file itself.
//!
//! No message holds what was read. Neither does one hold a name that may be a secret pasted into
//! the wrong place: a variable's name is shown only if it is written the way such names are, a
//! file's only if there is such a file.

use super::Variables;
use super::document::At;
use super::mistake::Mistakes;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Far more than any credential needs.
const LARGEST_SECRET: u64 = 64 << 10;

/// The secret in the environment variable that a key names.
pub(super) fn from_variable(
    name: &At<String>,
    variables: Variables<'_>,
    mistakes: &mut Mistakes,
) -> Option<SecretString> {
    let shown = if is_conventional(&name.value) {
        format!("the environment variable `{}`", name.value)
    } else {
        // Unusual, but possible: `kimi_key`. Or somebody wrote the key itself.
        "the environment variable named here".to_owned()
    };
    let mut refuse = |problem: &str| {
        mistakes.at(&name.place, format!("{shown} {problem}"));
        None
    };
    if name.value.is_empty() || name.value.contains(['=', '\0']) {
        return refuse("cannot exist (write the name of a variable, not its value)");
    }
    match variables(&name.value).map(std::ffi::OsString::into_string) {
        None => refuse(
            "is not set (set it where the prober is started; write its name here, not its value)",
        ),
        Some(Err(_)) => refuse("is not UTF-8 (set it to one line of printable ASCII)"),
        Some(Ok(text)) => match accept(&Zeroizing::new(text)) {
            Ok(secret) => Some(secret),
            Err(problem) => refuse(problem),
        },
    }
}

/// The secret in the private file that a key names.
pub(super) fn from_file(
    name: &At<String>,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Option<SecretString> {
    let mut refuse = |problem: &str| {
        mistakes.at(&name.place, problem);
        None
    };
    let path = match resolve(&name.value, folder) {
        Ok(path) => path,
        Err(problem) => return refuse(problem),
    };
    let shown = format!("the file `{}`", name.value.escape_debug());
    let bytes = match read_private(&path) {
        Ok(bytes) => bytes,
        Err(SecretFileError::Missing) => {
            return refuse(
                "there is no file of the name given here (relative names start at the folder of this configuration; write a name, not the secret)",
            );
        }
        Err(error) => return refuse(&format!("{shown} {error}")),
    };
    let text =
        std::str::from_utf8(&bytes).map_err(|_| "is not UTF-8 (write one line of printable ASCII)");
    match text.and_then(accept) {
        Ok(secret) => Some(secret),
        Err(problem) => refuse(&format!("{shown} {problem}")),
    }
}

/// The whole text of the file that a key names: certificates, or, where it must be `private`, a key.
pub(super) fn pem_from_file(
    name: &At<String>,
    private: bool,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Option<SecretString> {
    let shown = format!("the file `{}`", name.value.escape_debug());
    let read = resolve(&name.value, folder)
        .map_err(str::to_owned)
        .and_then(|path| {
            if private {
                read_private(&path).map_err(|error| format!("{shown} {error}"))
            } else {
                let bytes = read_bounded(&path, LARGEST_SECRET);
                bytes
                    .map(Zeroizing::new)
                    .map_err(|error| format!("{shown} cannot be read: {error}"))
            }
        });
    let text = read.and_then(|bytes| match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(SecretString::from(text)),
        Err(_) => Err(format!("{shown} is no PEM")),
    });
    text.map_err(|problem| mistakes.at(&name.place, problem))
        .ok()
}

/// The path that a text of the configuration names.
pub(super) fn resolve(text: &str, folder: &Path) -> Result<PathBuf, &'static str> {
    if text.is_empty() {
        return Err("is empty (write a path)");
    }
    if text.starts_with('~') {
        return Err("begins with `~`, which is not replaced here (write the whole path)");
    }
    Ok(folder.join(text))
}

/// Reads a regular file of at most `largest` bytes.
pub(super) fn read_bounded(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        return Err(io::Error::other(format!("has more than {largest} bytes")));
    }
    Ok(bytes)
}

/// Whether anybody but its owner may do anything with a file; `false` if it cannot be told.
pub(super) fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.mode() & 0o077 != 0)
}

#[derive(Debug, thiserror::Error)]
enum SecretFileError {
    #[error("is not there")]
    Missing,
    #[error("cannot be read: {0} (it must be a readable file)")]
    Unreadable(io::Error),
    #[error("is no regular file (write the secret into a file)")]
    NotAFile,
    #[error("is open to others than its owner (run `chmod 600` on it)")]
    TooOpen,
    #[error("is too long for a secret (it must hold the secret only)")]
    TooLarge,
}

fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, SecretFileError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        // A pasted secret may also be too long for a name, or run through a file as if it were a folder.
        io::ErrorKind::NotFound
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::InvalidInput => SecretFileError::Missing,
        _ => SecretFileError::Unreadable(error),
    })?;
    // Asked of the opened file, so that nobody can swap it in between.
    let metadata = file.metadata().map_err(SecretFileError::Unreadable)?;
    if !metadata.is_file() {
        return Err(SecretFileError::NotAFile);
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(SecretFileError::TooOpen);
    }
    // Room for all of it at once: a growing buffer would leave unwiped copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LARGEST_SECRET as usize + 1));
    file.take(LARGEST_SECRET + 1)
        .read_to_end(&mut bytes)
        .map_err(SecretFileError::Unreadable)?;
    if bytes.len() as u64 > LARGEST_SECRET {
        return Err(SecretFileError::TooLarge);
    }
    Ok(bytes)
}

/// The secret in a text: what is left when white space around it is cut off.
fn accept(text: &str) -> Result<SecretString, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty (give it a value)");
    }
    // It becomes a header value, or a URL.
    if !text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Err("is not one line of printable ASCII (it must hold the secret only)");
    }
    Ok(SecretString::from(text))
}

/// Whether a name is written the way names of variables are: `ACME_KEY`.
fn is_conventional(name: &str) -> bool {
    name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}
