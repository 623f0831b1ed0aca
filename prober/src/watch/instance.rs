//! Which prober this is: a name that outlives a restart, so that it takes up again at once what it had leased.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The file in the data directory.
const FILE: &str = "prober.name";

/// A name that no other running prober of this data directory has; given up when dropped.
#[derive(Debug)]
pub struct Instance {
    /// The name.
    pub name: String,
    /// Locked as long as it is open.
    _file: File,
}

/// Why there is no name.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Two of them would take each other's leases.
    #[error(
        "another prober runs with the data directory `{0}` (stop it, or set another `data_dir`)"
    )]
    InUse(PathBuf),
    /// The file cannot be written.
    #[error("keep this prober's name in `{path}`")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Instance {
    /// Finds the name of the prober in this data directory, or makes one of the host's name and chance.
    ///
    /// # Errors
    /// When another one runs there, or the directory cannot be written to.
    pub fn open(data_dir: &Path, chance: u64) -> Result<Self, InstanceError> {
        let path = data_dir.join(FILE);
        let failed = |source| InstanceError::File {
            path: path.clone(),
            source,
        };
        std::fs::create_dir_all(data_dir).map_err(failed)?;
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = file.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(InstanceError::InUse(data_dir.to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut name = String::new();
        file.read_to_string(&mut name).map_err(failed)?;
        let mut name = name.trim().to_owned();
        if name.is_empty() {
            name = format!("{}-{chance:016x}", host());
            file.rewind().map_err(failed)?;
            writeln!(file, "{name}").map_err(failed)?;
            file.sync_all().map_err(failed)?;
        }
        Ok(Self { name, _file: file })
    }
}

/// The host's name, for people; it need not be unique.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() {
        "prober".to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_name_outlives_a_restart_and_belongs_to_one_running_prober() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("state");
        let first = Instance::open(&data_dir, 7).unwrap();
        assert!(first.name.ends_with("-0000000000000007"), "{}", first.name);
        let second = Instance::open(&data_dir, 8).unwrap_err();
        assert!(matches!(second, InstanceError::InUse(_)), "{second}");
        let name = first.name.clone();
        drop(first);
        assert_eq!(Instance::open(&data_dir, 9).unwrap().name, name);
    }
}
