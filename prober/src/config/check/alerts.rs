//! What belongs to all receivers of alerts.

use super::{Check, url};
use crate::config::document::Field;
use crate::config::raw::RawAlerts;
use crate::config::types::Alerts;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

impl Check<'_> {
    pub(super) fn alerts(&mut self, raw: &RawAlerts) -> Option<Alerts> {
        let status_page = match &raw.status_page {
            Field::Absent => Some(None),
            Field::Wrong => None,
            Field::Given(at) => url::base(&at.value)
                .map_err(|problem| self.mistakes.at(&at.place, problem))
                .ok()
                .map(Some),
        };
        let retention = self.duration(&raw.retention, 90 * DAY, DAY..=36_500 * DAY);
        Some(Alerts {
            status_page: status_page?,
            retention: retention?,
        })
    }
}
