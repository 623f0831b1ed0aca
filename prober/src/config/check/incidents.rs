//! When findings make an incident.

use super::Check;
use crate::config::raw::RawIncidents;
use crate::incident::Rules;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Up to what a timestamp can be taken back.
const LONGEST: Duration = Duration::from_secs(36_500 * 24 * 3_600);

impl Check<'_> {
    pub(super) fn incidents(&mut self, raw: &RawIncidents) -> Option<Rules> {
        let reopen_within = self.duration(&raw.reopen_within, 7 * DAY, Duration::ZERO..=LONGEST);
        // It is looked for once an hour.
        let clean_for = self.duration(&raw.clean_for, DAY, HOUR..=LONGEST);
        let exact = |length: Duration| {
            time::Duration::new(
                length.as_secs().cast_signed(),
                length.subsec_nanos().cast_signed(),
            )
        };
        Some(Rules {
            reopen_within: exact(reopen_within?),
            clean_for: exact(clean_for?),
        })
    }
}
