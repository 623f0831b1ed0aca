//! Where facts are recorded.

use super::{Check, url};
use crate::config::document::{At, Field};
use crate::config::mistake::Place;
use crate::config::raw::{RawRetention, RawStore};
use crate::config::secret;
use crate::config::types::{Database, Store};
use crate::store::Retention;
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;

/// Wins over whatever the file says.
const VARIABLE: &str = "DATABASE_URL";

/// Where the file says that the database's URL stands.
enum Source<'r> {
    Nowhere,
    Here(&'r At<String>),
    Variable(&'r At<String>),
    File(&'r At<String>),
}

impl Check<'_> {
    pub(super) fn store(&mut self, raw: &RawStore) -> Option<Store> {
        let max_connections = self.whole(&raw.max_connections, 8, 1..=100);
        let source = self.url_source(raw);
        let database = if self.is_set(VARIABLE) {
            let name = At {
                value: VARIABLE.to_owned(),
                place: Place::default(),
            };
            let url = secret::from_variable(&name, self.variables, self.mistakes);
            self.server(url?, &name.place)
        } else {
            self.written_database(source?)
        };
        Some(Store {
            database: database?,
            max_connections: max_connections? as u32,
        })
    }

    pub(super) fn retention(&mut self, raw: &RawRetention) -> Option<Retention> {
        let days = |days: u64| Duration::from_secs(days * 24 * 3_600);
        // Over a week: whoever planted what leaks must still be known. Up to what a timestamp can be taken back.
        let range = days(8)..=days(36_500);
        let probes = self.duration(&raw.probes, days(90), range.clone());
        let hours = self.duration(&raw.hourly_sums, days(400), range);
        let kept = |kept: Duration| time::Duration::seconds(kept.as_secs().cast_signed());
        Some(Retention {
            probes: kept(probes?),
            hours: kept(hours?),
        })
    }

    fn is_set(&self, variable: &str) -> bool {
        (self.variables)(variable).is_some_and(|value| !value.is_empty())
    }

    fn url_source<'r>(&mut self, raw: &'r RawStore) -> Option<Source<'r>> {
        let fields = [&raw.url, &raw.url_env, &raw.url_file];
        let written = fields.iter().filter(|field| !field.is_absent()).count();
        if written > 1 {
            let message = "`url`, `url_env` and `url_file` exclude each other (keep one)";
            self.mistakes.at(&raw.place, message);
            return None;
        }
        match fields {
            [Field::Given(url), _, _] => Some(Source::Here(url)),
            [_, Field::Given(name), _] => Some(Source::Variable(name)),
            [_, _, Field::Given(name)] => Some(Source::File(name)),
            _ => (written == 0).then_some(Source::Nowhere),
        }
    }

    fn written_database(&mut self, source: Source<'_>) -> Option<Database> {
        let (url, place) = match source {
            Source::Nowhere => return Some(Database::Embedded),
            Source::Here(at) => (Some(SecretString::from(at.value.as_str())), &at.place),
            Source::Variable(at) => {
                let url = secret::from_variable(at, self.variables, self.mistakes);
                (url, &at.place)
            }
            Source::File(at) => {
                let url = secret::from_file(at, self.folder, self.mistakes);
                (url, &at.place)
            }
        };
        let url = url?;
        if matches!(source, Source::Here(_))
            && url::has_password(url.expose_secret())
            && secret::is_open_to_others(self.file)
        {
            let message = "holds a password, and this file is open to others than its owner (use `url_env` or `url_file`, or run `chmod 600` on this file)";
            self.mistakes.at(place, message);
            return None;
        }
        self.server(url, place)
    }

    fn server(&mut self, url: SecretString, place: &Place) -> Option<Database> {
        if url::is_postgres(url.expose_secret()) {
            return Some(Database::Server { url });
        }
        let subject = if place.key.is_empty() {
            "the environment variable `DATABASE_URL` "
        } else {
            ""
        };
        let message =
            format!("{subject}is no URL of a database (write postgres://USER@HOST:PORT/NAME)");
        self.mistakes.at(place, message);
        None
    }
}
