//! How several probers share the work.

use super::Check;
use crate::config::document::Field;
use crate::config::raw::{List, RawFleet};
use crate::config::types::Fleet;
use std::time::Duration;

impl Check<'_> {
    pub(super) fn fleet(&mut self, raw: &RawFleet) -> Option<Fleet> {
        let labels = self.labels(&raw.labels);
        // Shorter ones would be lost to a slow database; longer ones leave an endpoint unwatched for too long.
        let range = Duration::from_secs(5)..=Duration::from_secs(3_600);
        let lease = self.duration(&raw.lease, Duration::from_secs(300), range);
        let rounds_at_once = self.whole(&raw.rounds_at_once, 8, 1..=1_000);
        Some(Fleet {
            labels: labels?,
            lease: lease?,
            rounds_at_once: rounds_at_once? as usize,
        })
    }

    /// Labels, none if there is no list.
    pub(super) fn labels(&mut self, field: &Field<List<String>>) -> Option<Vec<String>> {
        let list = match field {
            Field::Absent => return Some(Vec::new()),
            Field::Wrong => return None,
            Field::Given(list) => list,
        };
        let given = || list.value.iter().filter_map(Field::given);
        self.unique(given(), "name each label once");
        let labels: Vec<Option<String>> = given().map(|at| self.name(at)).collect();
        if labels.len() < list.value.len() {
            return None;
        }
        labels.into_iter().collect()
    }
}
