//! `template`: a wire format that the configuration describes, for everything that has none of its own
//! here: the body of a request with placeholders, and the paths of what is known of an answer.

use super::{Ask, CredentialHeader, Dialect, Fact, Framing, PROMPT, Told, join};
use serde_json::Value;

/// A described wire format.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    path: String,
    body: Value,
    paths: Paths,
    credential_header: Option<String>,
    in_documents: bool,
    /// The names that stand in the paths: no text of a response, so they may be shown.
    names: Vec<String>,
}

/// Where in an answer something stands: keys joined by dots, `[]` for every element of a list, such as
/// `outputs[].text`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// The model's own words; at least one.
    pub answer: Vec<String>,
    /// Why it stopped, or that it did (`true`).
    pub finish: Option<String>,
    /// Length of the prompt in tokens.
    pub prompt_tokens: Option<String>,
    /// Of the prompt, what came from a cache.
    pub cached_tokens: Option<String>,
    /// Length of the answer in tokens.
    pub completion_tokens: Option<String>,
}

/// Why a description is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The prompt stands nowhere, or twice.
    #[error(
        "must have \"{{prompt}}\" in it once (as the text of a field, alone or among other text)"
    )]
    Prompt,
    /// Nothing says what the model's words are.
    #[error("must name at least one path, such as \"outputs[].text\"")]
    NoAnswer,
    /// A path is none.
    #[error("is no path (write keys joined by dots, `[]` for every element of a list)")]
    Path,
    /// The header's name is none.
    #[error("is no name of a header (write letters, digits and `-`)")]
    Header,
}

impl Template {
    /// A described wire format. `path`: what is joined to the base URL, `{model}` in it stands for the
    /// model. `body`: in its texts `{prompt}` stands for the prompt, `{model}` for the model; a text that
    /// is just `{max_tokens}` or `{stream}` stands for that number or truth. `in_documents`: a stream is
    /// one JSON document after the other instead of an event stream.
    ///
    /// # Errors
    /// When the prompt does not stand in the body once, or a path or the header's name is none.
    pub fn new(
        path: String,
        body: Value,
        paths: Paths,
        credential_header: Option<String>,
        in_documents: bool,
    ) -> Result<Self, TemplateError> {
        if paths.answer.is_empty() {
            return Err(TemplateError::NoAnswer);
        }
        let mut names = Vec::new();
        for path in paths.all() {
            for name in path.split('.') {
                let name = name.trim_end_matches("[]");
                let is_plain =
                    |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
                if name.is_empty() || !name.bytes().all(is_plain) {
                    return Err(TemplateError::Path);
                }
                names.push(name.to_owned());
            }
        }
        let is_name =
            |name: &String| reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_ok();
        if !credential_header.iter().all(is_name) {
            return Err(TemplateError::Header);
        }
        let template = Self {
            path,
            body,
            paths,
            credential_header,
            in_documents,
            names,
        };
        let ask = Ask {
            model: "m",
            max_tokens: 1,
            stream: true,
        };
        let prompts = template.body(&ask).to_string();
        let mark = Value::from(PROMPT).to_string();
        if prompts.matches(mark.trim_matches('"')).count() == 1 {
            Ok(template)
        } else {
            Err(TemplateError::Prompt)
        }
    }
}

impl Paths {
    fn all(&self) -> impl Iterator<Item = &String> {
        let rest = [
            &self.finish,
            &self.prompt_tokens,
            &self.cached_tokens,
            &self.completion_tokens,
        ];
        self.answer.iter().chain(rest.into_iter().flatten())
    }
}

impl Dialect for Template {
    fn url(&self, base_url: &str, ask: &Ask<'_>) -> String {
        let path = self.path.replace("{model}", ask.model);
        join(base_url, path.trim_start_matches('/'))
    }

    fn body(&self, ask: &Ask<'_>) -> Value {
        let mut body = self.body.clone();
        fill(&mut body, ask);
        body
    }

    fn credential(&self) -> CredentialHeader<'_> {
        match &self.credential_header {
            Some(name) => CredentialHeader::Named(name),
            None => CredentialHeader::Bearer,
        }
    }

    fn framing(&self) -> Framing {
        if self.in_documents {
            Framing::Documents
        } else {
            Framing::Events
        }
    }

    fn is_answer(&self, path: &str) -> bool {
        self.paths.answer.iter().any(|answer| is_at(answer, path))
    }

    fn fact(&self, path: &str, value: Told<'_>) -> Option<Fact> {
        let is =
            |wanted: &Option<String>| wanted.as_ref().is_some_and(|wanted| is_at(wanted, path));
        Some(match value {
            Told::Text(_) if self.is_answer(path) => Fact::Choice,
            Told::Text(reason) if is(&self.paths.finish) && !reason.is_empty() => {
                Fact::FinishReason
            }
            Told::True if is(&self.paths.finish) => Fact::End,
            Told::Number(tokens) if is(&self.paths.prompt_tokens) => Fact::PromptTokens(tokens),
            Told::Number(tokens) if is(&self.paths.cached_tokens) => Fact::CachedTokens(tokens),
            Told::Number(tokens) if is(&self.paths.completion_tokens) => {
                Fact::CompletionTokens(tokens)
            }
            _ => return None,
        })
    }

    fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn tells_its_end(&self) -> bool {
        self.paths.finish.is_some()
    }
}

fn fill(value: &mut Value, ask: &Ask<'_>) {
    match value {
        Value::String(text) if text == "{max_tokens}" => *value = Value::from(ask.max_tokens),
        Value::String(text) if text == "{stream}" => *value = Value::from(ask.stream),
        // The prompt last: a model's name is not looked into.
        Value::String(text) => {
            let filled: Vec<String> = text
                .split("{prompt}")
                .map(|part| part.replace("{model}", ask.model))
                .collect();
            *text = filled.join(PROMPT);
        }
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, ask)),
        Value::Object(values) => values.values_mut().for_each(|value| fill(value, ask)),
        _ => {}
    }
}

/// Whether `path`, whose elements are numbered, is one that `wanted` means.
fn is_at(wanted: &str, path: &str) -> bool {
    let (mut wanted, mut path) = (wanted, path);
    loop {
        let (Some((head, tail)), Some((own, rest))) =
            (wanted.split_once("[]"), path.split_once('['))
        else {
            return wanted == path;
        };
        let Some((_, rest)) = rest.split_once(']') else {
            return false;
        };
        if head != own {
            return false;
        }
        (wanted, path) = (tail, rest);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(answer: &str) -> Paths {
        Paths {
            answer: vec![answer.to_owned()],
            ..Paths::default()
        }
    }

    fn template(body: Value, paths: Paths) -> Result<Template, TemplateError> {
        Template::new("predict/{model}".to_owned(), body, paths, None, false)
    }

    #[test]
    fn placeholders_are_filled_with_what_they_stand_for() {
        let body = json!({
            "in": ["<s>{prompt}</s>"], "m": "{model}", "n": "{max_tokens}", "s": "{stream}", "k": 1
        });
        let template = template(body, paths("out")).unwrap();
        let ask = Ask {
            model: "{prompt}",
            max_tokens: 64,
            stream: true,
        };
        let filled = json!({
            "in": [format!("<s>{PROMPT}</s>")], "m": "{prompt}", "n": 64, "s": true, "k": 1
        });
        assert_eq!(template.body(&ask), filled);
        assert_eq!(template.url("http://h/", &ask), "http://h/predict/{prompt}");
    }

    #[test]
    fn a_description_that_cannot_work_is_refused() {
        let good = || json!({"in": "{prompt}"});
        assert_eq!(template(json!({}), paths("a")), Err(TemplateError::Prompt));
        let twice = json!({"a": "{prompt}{prompt}"});
        assert_eq!(template(twice, paths("a")), Err(TemplateError::Prompt));
        assert_eq!(
            template(good(), Paths::default()),
            Err(TemplateError::NoAnswer)
        );
        for path in ["", "a..b", "a b", "a[0]"] {
            assert_eq!(
                template(good(), paths(path)),
                Err(TemplateError::Path),
                "{path}"
            );
        }
        assert!(template(good(), paths("a.b[].c-d")).is_ok());
    }

    #[test]
    fn elements_of_lists_are_at_their_path_whatever_their_number() {
        for (wanted, path, is) in [
            ("a", "a", true),
            ("a.b", "a", false),
            ("a[].b", "a[7].b", true),
            ("a[].b", "a[].b", true),
            ("a[].b", "a[7].c", false),
            ("a[][]", "a[1][2]", true),
            ("a[]", "a", false),
            ("a", "a[1]", false),
        ] {
            assert_eq!(is_at(wanted, path), is, "{wanted} {path}");
        }
    }
}
