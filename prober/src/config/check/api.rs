//! The wire format of an endpoint.

use super::Check;
use crate::config::document::{At, Field};
use crate::config::mistake::Place;
use crate::config::raw::RawTemplate;
use crate::endpoint::{Api, Paths, Template, TemplateError};
use serde_json::Value;
use std::sync::Arc;

/// A wire format as `api` names it.
#[derive(Clone)]
pub(super) enum ApiName {
    Known(Api),
    Template,
}

impl Check<'_> {
    pub(super) fn api_name(&mut self, at: &At<String>) -> Option<ApiName> {
        let known = Api::ALL.map(|api| (api.as_str(), ApiName::Known(api.clone())));
        let mut names = known.to_vec();
        names.push((Api::TEMPLATE, ApiName::Template));
        self.chosen(at, &names)
    }

    /// The wire format, described where its name says so.
    pub(super) fn api(
        &mut self,
        name: Option<ApiName>,
        template: &Field<RawTemplate>,
        endpoint: &Place,
    ) -> Option<Api> {
        match (name?, template) {
            (ApiName::Known(api), Field::Absent) => Some(api),
            (ApiName::Known(_), Field::Given(at)) => {
                let message = "means something with api = \"template\" only (leave it out)";
                self.mistakes.at(&at.place, message);
                None
            }
            (ApiName::Template, Field::Given(at)) => self.template(&at.value),
            (ApiName::Template, Field::Absent) => {
                let message =
                    "is missing (write a table [endpoints.template] with body and answer)";
                self.mistakes.at(&endpoint.of_key("template"), message);
                None
            }
            (_, Field::Wrong) => None,
        }
    }

    fn template(&mut self, raw: &RawTemplate) -> Option<Api> {
        let table = &raw.place;
        let path = self.required(
            &raw.path,
            table,
            "path",
            "what is joined to base_url, such as \"predict\"",
        );
        let body = self.required(
            &raw.body,
            table,
            "body",
            "the request's body with \"{prompt}\" in it",
        );
        let answer = self.required(
            &raw.answer,
            table,
            "answer",
            "the paths of the model's words",
        );
        let (path, body, answer) = (path?, body?, answer?);
        let words: Option<Vec<String>> = answer
            .value
            .iter()
            .map(|word| word.given().map(|at| at.value.clone()))
            .collect();
        let optional = |field: &Field<String>| field.given().map(|at| at.value.clone());
        let paths = Paths {
            answer: words?,
            finish: optional(&raw.finish),
            prompt_tokens: optional(&raw.prompt_tokens),
            cached_tokens: optional(&raw.cached_tokens),
            completion_tokens: optional(&raw.completion_tokens),
        };
        let entries = body.value.entries.iter();
        let entries = entries.map(|(name, at)| (name.clone(), at.value.clone()));
        let filled = Value::Object(entries.collect());
        let in_documents = raw.documents.given().is_some_and(|at| at.value);
        let header = optional(&raw.credential_header);
        if !body.value.is_whole {
            return None;
        }
        match Template::new(path.value.clone(), filled, paths, header, in_documents) {
            Ok(template) => Some(Api::Template(Arc::new(template))),
            Err(error) => {
                let place = match error {
                    TemplateError::Prompt => &body.place,
                    TemplateError::NoAnswer => &answer.place,
                    TemplateError::Path | TemplateError::Header => table,
                };
                let what = match error {
                    TemplateError::Path => "one of its paths ",
                    TemplateError::Header => "`credential_header` ",
                    TemplateError::Prompt | TemplateError::NoAnswer => "",
                };
                self.mistakes.at(place, format!("{what}{error}"));
                None
            }
        }
    }
}
