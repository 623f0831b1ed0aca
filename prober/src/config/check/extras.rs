//! What is added to requests.

use super::Check;
use crate::config::document::{At, Field};
use crate::config::free::{Entries, TextSource};
use crate::config::mistake::Place;
use crate::config::raw::{List, RawSecret};
use crate::config::secret;
use crate::endpoint::{Api, Extras, HeaderText, check_header};
use secrecy::SecretString;
use serde_json::{Map, Value};

impl Check<'_> {
    /// Headers and fields, as an endpoint or a tenant has them.
    pub(super) fn extras(
        &mut self,
        headers: &Field<Entries<TextSource>>,
        fields: &Field<Entries<Value>>,
    ) -> Option<Extras> {
        let headers = self.headers(headers);
        let fields = match fields {
            Field::Absent => Some(Map::new()),
            Field::Wrong => None,
            Field::Given(at) => {
                let entries = at.value.entries.iter();
                let fields = entries.map(|(name, at)| (name.clone(), at.value.clone()));
                at.value.is_whole.then(|| fields.collect())
            }
        };
        Some(Extras {
            headers: headers?,
            fields: fields?,
            omit: Vec::new(),
        })
    }

    /// Names of fields that are left out.
    pub(super) fn omit(&mut self, field: &Field<List<String>>) -> Option<Vec<String>> {
        match field {
            Field::Absent => Some(Vec::new()),
            Field::Wrong => None,
            Field::Given(at) => {
                let names = at
                    .value
                    .iter()
                    .map(|name| name.given().map(|at| at.value.clone()));
                names.collect()
            }
        }
    }

    /// Whether requests with these additions still hold the prompt.
    pub(super) fn keeps_prompt(
        &mut self,
        extras: Extras,
        api: &Api,
        place: &Place,
    ) -> Option<Extras> {
        match extras.check_body(api) {
            Ok(()) => Some(extras),
            Err(error) => {
                let message = format!("one of `fields` or `omit` {error}");
                self.mistakes.at(place, message);
                None
            }
        }
    }

    pub(super) fn headers(
        &mut self,
        field: &Field<Entries<TextSource>>,
    ) -> Option<Vec<(String, HeaderText)>> {
        let at = match field {
            Field::Absent => return Some(Vec::new()),
            Field::Wrong => return None,
            Field::Given(at) => at,
        };
        let checked: Vec<Option<(String, HeaderText)>> = at
            .value
            .entries
            .iter()
            .map(|(name, source)| self.header(name, source))
            .collect();
        let checked: Option<Vec<_>> = checked.into_iter().collect();
        checked.filter(|_| at.value.is_whole)
    }

    fn header(&mut self, name: &str, source: &At<TextSource>) -> Option<(String, HeaderText)> {
        let text = match &source.value {
            TextSource::Plain(text) => HeaderText::Plain(text.clone()),
            TextSource::Secret(secret) => HeaderText::Secret(self.secret(secret)?),
        };
        match check_header(name, &text) {
            Ok(()) => Some((name.to_owned(), text)),
            Err(error) => {
                self.mistakes.at(&source.place, error.to_string());
                None
            }
        }
    }

    pub(super) fn secret(&mut self, raw: &RawSecret) -> Option<SecretString> {
        match (&raw.env, &raw.file) {
            (Field::Given(name), Field::Absent) => {
                secret::from_variable(name, self.variables, self.mistakes)
            }
            (Field::Absent, Field::Given(name)) => {
                secret::from_file(name, self.folder, self.mistakes)
            }
            (Field::Wrong, _) | (_, Field::Wrong) => None,
            _ => {
                let message =
                    "has not one source (write either env = \"VARIABLE\" or file = \"FILE\")";
                self.mistakes.at(&raw.place, message);
                None
            }
        }
    }
}
