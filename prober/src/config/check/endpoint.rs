//! What is probed.

use super::api::ApiName;
use super::{Check, url};
use crate::budget::Budget;
use crate::config::document::{At, Field};
use crate::config::mistake::Place;
use crate::config::raw::{List, RawConfig, RawDefaults, RawEndpoint, RawLimits, RawTenant};
use crate::config::secret;
use crate::config::types::{Endpoint, Tenant};
use crate::endpoint::{Api, Connection, Extras, Limits};
use crate::length::{FileTokenizer, Tokenizer};
use std::time::Duration;

const CONTEXT_TOKENS: std::ops::RangeInclusive<u64> = 256..=16_777_216;
const LONGEST_MODEL: usize = 200;
const DAY: Duration = Duration::from_secs(86_400);

/// What endpoints say that say nothing.
struct Defaults {
    /// The inner `None`: there is one, but it is wrong (a mistake was noted).
    api: Option<Option<ApiName>>,
    stream: bool,
    page_tokens: u64,
    limits: Limits,
    budget: Budget,
}

/// What the tenants of an endpoint have in common, where all of it is right.
struct Common<'a> {
    extras: &'a Extras,
    api: &'a Api,
    connection: &'a Connection,
}

impl Check<'_> {
    pub(super) fn endpoints(&mut self, raw: &RawConfig) -> Option<Vec<Endpoint>> {
        let defaults = self.defaults(&raw.defaults.table());
        let list = self.required(
            &raw.endpoints,
            &raw.place,
            "endpoints",
            "at least one [[endpoints]]",
        )?;
        if list.value.is_empty() {
            let message = "is empty (write at least one [[endpoints]])";
            self.mistakes.at(&list.place, message);
            return None;
        }
        let given = || list.value.iter().filter_map(Field::given);
        let names = given().filter_map(|endpoint| endpoint.value.name.given());
        self.unique(names, "give each endpoint a name of its own");
        let checked: Vec<Option<Endpoint>> = given()
            .map(|endpoint| self.endpoint(&endpoint.value, &defaults))
            .collect();
        if checked.len() < list.value.len() {
            return None;
        }
        checked.into_iter().collect()
    }

    fn defaults(&mut self, raw: &RawDefaults) -> Defaults {
        let limits = Limits::default();
        let budget = Budget {
            currency: "USD".to_owned(),
            ..Budget::default()
        };
        Defaults {
            api: match &raw.api {
                Field::Absent => None,
                Field::Wrong => Some(None),
                Field::Given(at) => Some(self.api_name(at)),
            },
            stream: raw.stream.given().is_none_or(|at| at.value),
            page_tokens: self.page_tokens(&raw.page_tokens, 64).unwrap_or(64),
            limits: self.limits(&raw.limits.table(), limits).unwrap_or(limits),
            budget: self.budget(&raw.budget.table(), &budget).unwrap_or(budget),
        }
    }

    fn endpoint(&mut self, raw: &RawEndpoint, defaults: &Defaults) -> Option<Endpoint> {
        let table = &raw.place;
        let name = self
            .required(
                &raw.name,
                table,
                "name",
                "a short name, such as \"glm-prod\"",
            )
            .and_then(|at| self.name(at));
        let labels = self.labels(&raw.labels);
        let api = match (&raw.api, &defaults.api) {
            (Field::Absent, Some(api)) => api.clone(),
            (field, _) => self
                .required(
                    field,
                    table,
                    "api",
                    "the wire format, such as \"openai-chat\"",
                )
                .and_then(|at| self.api_name(at)),
        };
        let api = self.api(api, &raw.template, table);
        let base_url = self
            .required(&raw.base_url, table, "base_url", "\"https://HOST/v1\"")
            .and_then(|at| self.base_url(at));
        let model = self
            .required(&raw.model, table, "model", "the model's name in requests")
            .and_then(|at| self.model(at));
        let context_tokens = self
            .required(
                &raw.context_tokens,
                table,
                "context_tokens",
                "the advertised limit, such as 131072",
            )
            .and_then(|_| self.whole(&raw.context_tokens, 0, CONTEXT_TOKENS));
        let page_tokens = self.page_tokens(&raw.page_tokens, defaults.page_tokens);
        let limits = self.limits(&raw.limits.table(), defaults.limits);
        let budget = self.budget(&raw.budget.table(), &defaults.budget);
        let tokenizer = self.tokenizer(&raw.tokenizer);
        let extras = self.extras(&raw.headers, &raw.fields);
        let omit = self.omit(&raw.omit);
        let extras = extras
            .zip(omit)
            .map(|(extras, omit)| Extras { omit, ..extras });
        let connection = self.connection(raw);
        let common = match (&extras, &api, &connection) {
            (Some(extras), Some(api), Some(connection)) => Some(Common {
                extras,
                api,
                connection,
            }),
            _ => None,
        };
        let tenants = self.tenants(&raw.tenants, table, common.as_ref());
        if let Some(budget) = &budget {
            self.refuse_money_without_prices(budget, &table.of_key("budget"));
        }
        Some(Endpoint {
            name: name?,
            labels: labels?,
            api: api?,
            base_url: base_url?,
            model: model?,
            context_tokens: context_tokens?,
            stream: raw.stream.given().map_or(defaults.stream, |at| at.value),
            page_tokens: page_tokens? as u32,
            tokenizer: tokenizer?,
            limits: limits?,
            budget: budget?,
            tenants: tenants?,
        })
    }

    fn base_url(&mut self, at: &At<String>) -> Option<String> {
        url::base(&at.value)
            .map_err(|problem| self.mistakes.at(&at.place, problem))
            .ok()
    }

    fn model(&mut self, at: &At<String>) -> Option<String> {
        let model = at.value.trim();
        if model.is_empty()
            || model.chars().count() > LONGEST_MODEL
            || model.contains(char::is_control)
        {
            let message = "is no name of a model (write 1 to 200 characters on one line)";
            self.mistakes.at(&at.place, message);
            return None;
        }
        Some(model.to_owned())
    }

    fn page_tokens(&mut self, field: &Field<i128>, default: u64) -> Option<u64> {
        self.whole(field, default, 1..=65_536)
    }

    fn tokenizer(&mut self, field: &Field<String>) -> Option<Tokenizer> {
        let at = match field {
            Field::Absent => return Some(Tokenizer::Auto),
            Field::Wrong => return None,
            Field::Given(at) => at,
        };
        let Some(file) = at.value.strip_prefix("file:") else {
            let ways = [
                ("auto", Tokenizer::Auto),
                ("usage", Tokenizer::Usage),
                ("endpoint", Tokenizer::Endpoint),
            ];
            return self.chosen(at, &ways);
        };
        let problem = match FileTokenizer::load(&self.folder.join(file)) {
            Ok(file) => return Some(Tokenizer::File(file)),
            Err(problem) => problem,
        };
        let message = format!("names no tokenizer file of Hugging Face's format ({problem})");
        self.mistakes.at(&at.place, message);
        None
    }

    fn limits(&mut self, raw: &RawLimits, default: Limits) -> Option<Limits> {
        let time = Duration::from_millis(1)..=DAY;
        let connect_timeout =
            self.duration(&raw.connect_timeout, default.connect_timeout, time.clone());
        let first_byte_timeout = self.duration(
            &raw.first_byte_timeout,
            default.first_byte_timeout,
            time.clone(),
        );
        let idle_timeout = self.duration(&raw.idle_timeout, default.idle_timeout, time.clone());
        let total_timeout = self.duration(&raw.total_timeout, default.total_timeout, time);
        let response_bytes = self.size(
            &raw.response_bytes,
            default.response_bytes,
            1 << 10..=1 << 30,
        );
        let header_bytes = self.size(&raw.header_bytes, default.header_bytes, 1 << 10..=1 << 20);
        let line_bytes = self.size(&raw.line_bytes, default.line_bytes, 1 << 10..=64 << 20);
        let json_bytes = self.size(&raw.json_bytes, default.json_bytes, 1 << 10..=64 << 20);
        let events = self.whole(&raw.events, default.events, 1..=100_000_000);
        Some(Limits {
            connect_timeout: connect_timeout?,
            first_byte_timeout: first_byte_timeout?,
            idle_timeout: idle_timeout?,
            total_timeout: total_timeout?,
            response_bytes: response_bytes?,
            header_bytes: header_bytes?,
            line_bytes: line_bytes?,
            json_bytes: json_bytes?,
            events: events?,
        })
    }

    fn tenants(
        &mut self,
        field: &Field<List<RawTenant>>,
        endpoint: &Place,
        common: Option<&Common<'_>>,
    ) -> Option<Vec<Tenant>> {
        let remedy = "at least two [[endpoints.tenants]]: a leak goes from one to another";
        let list = self.required(field, endpoint, "tenants", remedy)?;
        if list.value.len() < 2 {
            let message = format!("are {} (write {remedy})", list.value.len());
            self.mistakes.at(&list.place, message);
        }
        let given = || list.value.iter().filter_map(Field::given);
        let names = given().filter_map(|tenant| tenant.value.name.given());
        self.unique(names, "give each tenant of an endpoint a name of its own");
        let checked: Vec<Option<Tenant>> = given()
            .map(|tenant| self.tenant(&tenant.value, common))
            .collect();
        if checked.len() < list.value.len().max(2) {
            return None;
        }
        checked.into_iter().collect()
    }

    fn tenant(&mut self, raw: &RawTenant, common: Option<&Common<'_>>) -> Option<Tenant> {
        let name = self
            .required(
                &raw.name,
                &raw.place,
                "name",
                "a short name, such as \"acme\"",
            )
            .and_then(|at| self.name(at));
        let no_key = raw.no_key.given().is_some_and(|at| at.value);
        let wrong = [&raw.key_env, &raw.key_file]
            .iter()
            .any(|key| matches!(key, Field::Wrong))
            || matches!(raw.no_key, Field::Wrong);
        let credential = match (raw.key_env.given(), raw.key_file.given(), no_key) {
            _ if wrong => None,
            (Some(name), None, false) => {
                secret::from_variable(name, self.variables, self.mistakes).map(Some)
            }
            (None, Some(name), false) => {
                secret::from_file(name, self.folder, self.mistakes).map(Some)
            }
            (None, None, true) => Some(None),
            (None, None, false) => {
                let message = "has no key (write one of key_env = \"VARIABLE\", key_file = \"FILE\", no_key = true)";
                self.mistakes.at(&raw.place, message);
                None
            }
            _ => {
                let message = "`key_env`, `key_file` and `no_key` exclude each other (keep one)";
                self.mistakes.at(&raw.place, message);
                None
            }
        };
        let own = self.extras(&raw.headers, &raw.fields);
        let extras = own.zip(common).and_then(|(own, common)| {
            self.keeps_prompt(common.extras.and(&own), common.api, &raw.place)
        });
        let connection = self.tenant_connection(raw, common.map(|common| common.connection));
        Some(Tenant {
            connection: connection?,
            extras: extras?,
            name: name?,
            credential: credential?,
        })
    }
}
