//! From what was written to what is valid.

mod alerts;
mod api;
mod budget;
mod connection;
mod drill;
mod endpoint;
mod evidence;
mod extras;
mod fleet;
mod incidents;
mod receiver;
mod recipe;
mod scenario;
mod service;
mod store;
mod url;
mod value;

pub(crate) use value::name;

use super::document::{At, Field};
use super::mistake::Mistakes;
use super::raw::{RawConfig, RawLog};
use super::types::{Config, Log, LogFormat};
use super::{Variables, secret};
use canary_gen::TenantNumber;
use std::path::{Path, PathBuf};
use tracing::Level;

/// Checks all of a raw configuration; `None` when something is wrong, after noting all of it.
pub(super) fn config(
    raw: &RawConfig,
    path: &Path,
    variables: Variables<'_>,
    mistakes: &mut Mistakes,
) -> Option<Config> {
    let mut check = Check {
        file: path,
        folder: path.parent().unwrap_or(Path::new("")),
        variables,
        mistakes,
    };
    let data_dir = check.data_dir(raw);
    let key_ring_file = check.key_ring_file(raw, data_dir.as_deref());
    let store = check.store(&raw.store.table());
    let retention = check.retention(&raw.retention.table());
    let fleet = check.fleet(&raw.fleet.table());
    let spool = check.spool(&raw.spool.table());
    let serve = check.serve(&raw.serve.table());
    let evidence = check.evidence(&raw.evidence.table());
    let incidents = check.incidents(&raw.incidents.table());
    let alerts = check.alerts(&raw.alerts.table());
    let receivers = check.receivers(raw);
    let drill = check.drill(&raw.drill.table());
    let log = check.log(&raw.log.table());
    let endpoints = check.endpoints(raw);
    let scenarios = check.scenarios(raw);
    let endpoints = endpoints?;
    let tenants: usize = endpoints
        .iter()
        .map(|endpoint| endpoint.tenants.len())
        .sum();
    if tenants as u64 > TenantNumber::MAX.get() + 1 {
        let place = raw.place.of_key("endpoints");
        check.mistakes.at(
            &place,
            format!("have {tenants} tenants together (a canary can name 4096)"),
        );
    }
    Some(Config {
        data_dir: data_dir?,
        key_ring_file: key_ring_file?,
        store: store?,
        retention: retention?,
        fleet: fleet?,
        spool: spool?,
        serve: serve?,
        evidence: evidence?,
        incidents: incidents?,
        alerts: alerts?,
        receivers: receivers?,
        drill: drill?,
        log: log?,
        endpoints,
        scenarios: scenarios?,
    })
}

/// What every check needs. Methods that return `None` have noted a mistake.
struct Check<'a> {
    file: &'a Path,
    folder: &'a Path,
    variables: Variables<'a>,
    mistakes: &'a mut Mistakes,
}

impl Check<'_> {
    fn data_dir(&mut self, raw: &RawConfig) -> Option<PathBuf> {
        match &raw.data_dir {
            Field::Given(at) => self.path(at),
            Field::Wrong => None,
            Field::Absent => {
                let base = self.state_home();
                if base.is_none() {
                    let place = raw.place.of_key("data_dir");
                    self.mistakes.at(
                        &place,
                        "is missing, and neither `XDG_STATE_HOME` nor `HOME` says where state belongs (write data_dir = \"/var/lib/prober\")",
                    );
                }
                base.map(|base| base.join("prober"))
            }
        }
    }

    /// Where the user's programs keep their state (XDG Base Directory Specification: relative
    /// paths are to be ignored).
    fn state_home(&self) -> Option<PathBuf> {
        let folder = |name| {
            (self.variables)(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))
    }

    fn key_ring_file(&mut self, raw: &RawConfig, data_dir: Option<&Path>) -> Option<PathBuf> {
        match &raw.key_ring_file {
            Field::Given(at) => self.path(at),
            Field::Wrong => None,
            Field::Absent => data_dir.map(|data_dir| data_dir.join("canary.keys")),
        }
    }

    fn path(&mut self, at: &At<String>) -> Option<PathBuf> {
        secret::resolve(&at.value, self.folder)
            .map_err(|problem| self.mistakes.at(&at.place, problem))
            .ok()
    }

    fn log(&mut self, raw: &RawLog) -> Option<Log> {
        let formats = [("human", LogFormat::Human), ("json", LogFormat::Json)];
        let levels = [
            ("error", Level::ERROR),
            ("warn", Level::WARN),
            ("info", Level::INFO),
            ("debug", Level::DEBUG),
            ("trace", Level::TRACE),
        ];
        let format = self.choice(&raw.format, LogFormat::Human, &formats);
        let level = self.choice(&raw.level, Level::INFO, &levels);
        Some(Log {
            format: format?,
            level: level?,
        })
    }
}
