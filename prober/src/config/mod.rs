//! Configuration: one TOML file, first a raw type, then a valid type.
//!
//! ```text
//! text ──document──▶ spanned tree ──raw──▶ what was written ──check──▶ Config
//!                                             ▲                 ▲
//!                              unknown keys, wrong types     ranges, references, secrets
//! ```
//!
//! Every station adds to one list of [`Mistake`]s and goes on, so that one run names all that is
//! wrong with a file. A [`Config`] in hand needs no further doubt: names are unique, references
//! resolve, numbers are in range, secrets are present. Every key is explained in `docs/config.md`.

mod check;
mod document;
mod free;
mod from_toml;
mod mistake;
mod raw;
mod secret;
mod suggest;
mod types;
mod units;

pub(crate) use check::name;
pub use mistake::{ConfigErrors, Mistake};
pub use types::{
    Alerts, Config, Database, Endpoint, Evidence, Fleet, Log, LogFormat, Scenario, Serve, Spool,
    Store, Tenant,
};
pub(crate) use units::parse_duration;

use mistake::Mistakes;
use std::ffi::OsString;
use std::path::Path;

/// Far more than any real configuration needs; a bound against reading something that is none.
const LARGEST_FILE: u64 = 4 << 20;

/// Looks up an environment variable; `None` when it is not set.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Reads and checks a configuration file, taking secrets from the environment of this process and
/// from the files it names. Relative paths in it are relative to its own folder.
///
/// # Errors
/// Everything that is wrong with the file, each with its place and its remedy.
pub fn load(path: &Path) -> Result<Config, ConfigErrors> {
    load_with(path, &|name| std::env::var_os(name))
}

/// [`load`] with an environment of the caller's.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: &Path, variables: Variables<'_>) -> Result<Config, ConfigErrors> {
    let mut mistakes = Mistakes::new(path);
    let config = read(path, &mut mistakes)
        .and_then(|text| document::parse(&text, &mut mistakes))
        .and_then(|raw| check::config(&raw, path, variables, &mut mistakes));
    mistakes.into_result(config)
}

fn read(path: &Path, mistakes: &mut Mistakes) -> Option<String> {
    let bytes = match secret::read_bounded(path, LARGEST_FILE) {
        Ok(bytes) => bytes,
        Err(error) => {
            mistakes.file(format!(
                "cannot be read: {error} (name an existing TOML file)"
            ));
            return None;
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
            mistakes.line(
                line,
                "the text is not UTF-8 (save the file as UTF-8)".to_owned(),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests;
