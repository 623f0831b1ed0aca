//! Files of planted canaries.

use crate::cli::CliError;
use canary_gen::scan::Index;
use canary_gen::{Form, KeyRing};
use std::fs;
use std::path::PathBuf;

/// An index of the canaries in the files; `None` without files.
pub(super) fn load(files: &[PathBuf], ring: &KeyRing) -> Result<Option<Index>, CliError> {
    if files.is_empty() {
        return Ok(None);
    }
    let mut planted = Vec::new();
    for file in files {
        let path = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|source| CliError::Read {
            path: path.clone(),
            source,
        })?;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = Form::ALL.into_iter().find_map(|form| {
                let canary = form.parse(line)?;
                ring.open(&canary).map(|_| (form, canary))
            });
            planted.push(read.ok_or_else(|| CliError::NotPlanted {
                path: path.clone(),
                line: number + 1,
            })?);
        }
    }
    let mut index = Index::new(planted.len());
    for (form, canary) in planted {
        index.plant(form, &canary);
    }
    Ok(Some(index))
}
