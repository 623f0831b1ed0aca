//! What is added to the requests of a tenant: headers, and fields of the body.

use super::api::{Ask, PROMPT};
use super::{Api, client};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

/// In a header or a field it stands for the number of the round: what should meet on one replica of an
/// endpoint is sent there with a key of the round.
const ROUND: &str = "{round}";

/// What is added to the requests of a tenant.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Headers, by name; `{round}` in a plain value stands for the number of the round.
    pub headers: Vec<(String, HeaderText)>,
    /// Fields of the body; tables are merged into the body's own, anything else takes its place.
    /// `{round}` in a text stands for the number of the round.
    pub fields: Map<String, Value>,
    /// Fields that the body would have and must not, such as `temperature`.
    pub omit: Vec<String>,
}

/// The value of a header.
#[derive(Clone, Debug)]
pub enum HeaderText {
    /// As the configuration says.
    Plain(String),
    /// From a variable or a private file. `Debug` does not show it.
    Secret(SecretString),
}

/// What a request calls itself, where several call themselves the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedId {
    /// The name, 16 hexadecimal digits.
    pub id: String,
    /// Fields of the body that carry it, beside the headers.
    pub fields: Vec<String>,
}

impl SharedId {
    /// Puts it into `x-request-id`, into `traceparent` (W3C Trace Context: the trace and the parent are both
    /// named by it) and into its fields.
    pub(super) fn add_to(&self, headers: &mut HeaderMap, body: &mut Value) {
        let id = &self.id;
        let named = [
            ("x-request-id", id.clone()),
            ("traceparent", format!("00-{id}{id}-{id}-01")),
        ];
        for (name, value) in named {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        if let Value::Object(body) = body {
            for field in &self.fields {
                body.insert(field.clone(), Value::from(id.as_str()));
            }
        }
    }
}

/// Why something cannot be added to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtrasError {
    /// The name of a header has characters that no header may have.
    #[error("is no name of a header (write letters, digits and `-`)")]
    HeaderName,
    /// The header is ours.
    #[error("is a header that the prober writes itself (leave it out)")]
    OwnHeader,
    /// The value cannot stand in a header.
    #[error("cannot stand in a header (write one line of printable ASCII)")]
    HeaderValue,
    /// A field stands where the prompt must stand.
    #[error("takes the place of the prompt (leave it out)")]
    NoPrompt,
}

/// Headers that frame a request or tell how its answer must be sent.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
];

impl Extras {
    /// These, and what `other` says beside or instead of them.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (name, value) in &other.headers {
            all.headers
                .retain(|(own, _)| !own.eq_ignore_ascii_case(name));
            all.headers.push((name.clone(), value.clone()));
        }
        merge(&mut all.fields, &other.fields);
        all.omit.extend(other.omit.iter().cloned());
        all
    }

    /// Whether the fields leave the prompt in a request of this API.
    ///
    /// # Errors
    /// [`ExtrasError::NoPrompt`] when they do not.
    pub fn check_body(&self, api: &Api) -> Result<(), ExtrasError> {
        let ask = Ask {
            model: "m",
            max_tokens: 1,
            stream: true,
        };
        let body = self.body(api, &ask, "1").to_string();
        let mark = Value::from(PROMPT).to_string();
        if body.matches(&mark).count() == 1 {
            Ok(())
        } else {
            Err(ExtrasError::NoPrompt)
        }
    }

    /// The body of a request.
    pub(super) fn body(&self, api: &Api, ask: &Ask<'_>, round: &str) -> Value {
        let mut body = api.dialect().body(ask);
        if let Value::Object(own) = &mut body {
            let mut fields = self.fields.clone();
            fields
                .values_mut()
                .for_each(|value| put_round(value, round));
            merge(own, &fields);
            for name in &self.omit {
                own.remove(name);
            }
        }
        body
    }

    /// Adds the headers to those of a request.
    pub(super) fn add_headers(&self, round: &str, headers: &mut HeaderMap) {
        for (name, text) in &self.headers {
            // Both were checked with the configuration.
            if let (Ok(name), Ok(value)) = (header_name(name), header_value(text, round)) {
                headers.insert(name, value);
            }
        }
    }
}

/// Checks a header.
///
/// # Errors
/// When its name or value is none, or the header is ours.
pub fn check_header(name: &str, text: &HeaderText) -> Result<(), ExtrasError> {
    header_name(name)?;
    header_value(text, "1").map(drop)
}

fn header_name(name: &str) -> Result<HeaderName, ExtrasError> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ExtrasError::HeaderName)?;
    if OWN_HEADERS.contains(&name.as_str()) {
        return Err(ExtrasError::OwnHeader);
    }
    Ok(name)
}

fn header_value(text: &HeaderText, round: &str) -> Result<HeaderValue, ExtrasError> {
    match text {
        HeaderText::Plain(text) => HeaderValue::from_str(&text.replace(ROUND, round)).ok(),
        HeaderText::Secret(secret) => client::sensitive(secret.expose_secret()),
    }
    .ok_or(ExtrasError::HeaderValue)
}

fn put_round(value: &mut Value, round: &str) {
    match value {
        Value::String(text) => *text = text.replace(ROUND, round),
        Value::Array(values) => values.iter_mut().for_each(|value| put_round(value, round)),
        Value::Object(values) => values
            .values_mut()
            .for_each(|value| put_round(value, round)),
        _ => {}
    }
}

fn merge(own: &mut Map<String, Value>, other: &Map<String, Value>) {
    for (name, value) in other {
        match (own.get_mut(name), value) {
            (Some(Value::Object(own)), Value::Object(value)) => merge(own, value),
            _ => drop(own.insert(name.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Extras {
        Extras {
            fields: value.as_object().unwrap().clone(),
            ..Extras::default()
        }
    }

    #[test]
    fn tables_are_merged_the_rest_is_replaced_and_what_is_omitted_is_gone() {
        let endpoint = fields(json!({"options": {"num_ctx": 8192}, "keep_alive": "5m"}));
        let tenant = Extras {
            omit: vec!["stream".to_owned()],
            ..fields(json!({"options": {"num_predict": 9}, "user": "acme-{round}"}))
        };
        let ask = Ask {
            model: "m",
            max_tokens: 64,
            stream: true,
        };
        let body = endpoint.and(&tenant).body(&Api::OllamaChat, &ask, "17");
        assert_eq!(
            body,
            json!({
                "model": "m",
                "messages": [{"role": "user", "content": PROMPT}],
                "options": {"num_ctx": 8192, "num_predict": 9, "temperature": 0},
                "keep_alive": "5m",
                "user": "acme-17",
            })
        );
    }

    #[test]
    fn fields_that_take_the_place_of_the_prompt_are_refused() {
        let taken = fields(json!({"messages": []}));
        assert_eq!(
            taken.check_body(&Api::OpenAiChat),
            Err(ExtrasError::NoPrompt)
        );
        assert_eq!(taken.check_body(&Api::OpenAiCompletions), Ok(()));
        let twice = fields(json!({"x": PROMPT}));
        assert_eq!(
            twice.check_body(&Api::OpenAiChat),
            Err(ExtrasError::NoPrompt)
        );
    }

    #[test]
    fn headers_have_the_round_in_them_and_a_tenants_one_wins() {
        let plain = |text: &str| HeaderText::Plain(text.to_owned());
        let with = |name: &str, text| Extras {
            headers: vec![(name.to_owned(), text)],
            ..Extras::default()
        };
        let secret = HeaderText::Secret(SecretString::from("hush {round}"));
        let all = with("X-Session-Affinity", plain("r-{round}"))
            .and(&with("x-team", plain("a")))
            .and(&with("X-Team", secret));
        let mut headers = HeaderMap::new();
        all.add_headers("17", &mut headers);
        assert_eq!(headers["x-session-affinity"], "r-17");
        assert_eq!(
            headers["x-team"], "hush {round}",
            "a secret is not looked into"
        );
        assert!(headers["x-team"].is_sensitive() && headers.len() == 2);
        assert!(!format!("{all:?}").contains("hush"));
    }

    #[test]
    fn a_shared_name_stands_in_the_headers_and_in_its_fields() {
        let shared = SharedId {
            id: "0123456789abcdef".to_owned(),
            fields: vec!["rid".to_owned()],
        };
        let (mut headers, mut body) = (HeaderMap::new(), json!({"model": "m"}));
        shared.add_to(&mut headers, &mut body);
        assert_eq!(headers["x-request-id"], "0123456789abcdef");
        assert_eq!(
            headers["traceparent"],
            "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
        );
        assert_eq!(body, json!({"model": "m", "rid": "0123456789abcdef"}));
    }

    #[test]
    fn headers_that_cannot_be_sent_are_refused() {
        let check = |name: &str, text: &str| check_header(name, &HeaderText::Plain(text.into()));
        assert_eq!(check("x-a", "b"), Ok(()));
        assert_eq!(check("x a", "b"), Err(ExtrasError::HeaderName));
        assert_eq!(check("Content-Length", "7"), Err(ExtrasError::OwnHeader));
        assert_eq!(check("x-a", "b\nc"), Err(ExtrasError::HeaderValue));
    }
}
