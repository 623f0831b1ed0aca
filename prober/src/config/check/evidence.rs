//! What is kept of responses that prove something.

use super::Check;
use crate::config::document::{At, Field};
use crate::config::raw::RawEvidence;
use crate::config::secret;
use crate::config::types::Evidence;
use crate::errors;
use crate::evidence::{EvidenceKeys, key_file};
use secrecy::ExposeSecret;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

impl Check<'_> {
    pub(super) fn evidence(&mut self, raw: &RawEvidence) -> Option<Evidence> {
        let keys = self.evidence_keys(raw);
        let max_bytes = self.size(&raw.max_bytes, 1 << 20, 1 << 10..=16 << 20);
        // Up to what a timestamp can be taken back.
        let retention = self.duration(&raw.retention, 30 * DAY, DAY..=36_500 * DAY);
        Some(Evidence {
            keys: keys?,
            max_bytes: max_bytes? as usize,
            retention: retention?,
        })
    }

    fn evidence_keys(&mut self, raw: &RawEvidence) -> Option<Option<EvidenceKeys>> {
        match (&raw.key_env, &raw.key_file) {
            (Field::Absent, Field::Absent) => Some(None),
            (Field::Given(name), Field::Absent) => self.keys_in_variable(name).map(Some),
            (Field::Absent, Field::Given(name)) => self.keys_in_file(name).map(Some),
            (Field::Wrong, Field::Absent) | (Field::Absent, Field::Wrong) => None,
            _ => {
                let message = "`key_env` and `key_file` exclude each other (keep one)";
                self.mistakes.at(&raw.place, message);
                None
            }
        }
    }

    fn keys_in_variable(&mut self, name: &At<String>) -> Option<EvidenceKeys> {
        let text = secret::from_variable(name, self.variables, self.mistakes)?;
        key_file::parse(text.expose_secret())
            .map_err(|fault| {
                let message = format!("the environment variable named here: {fault}");
                self.mistakes.at(&name.place, message);
            })
            .ok()
    }

    fn keys_in_file(&mut self, name: &At<String>) -> Option<EvidenceKeys> {
        let path = self.path(name)?;
        // A name is shown only if there is such a file: it may be a key pasted into the wrong place.
        if !path.exists() {
            let message = "there is no file of the name given here (make one with `prober evidence keygen -o FILE`)";
            self.mistakes.at(&name.place, message);
            return None;
        }
        key_file::load(&path)
            .map_err(|error| self.mistakes.at(&name.place, errors::chain(&error)))
            .ok()
    }
}
