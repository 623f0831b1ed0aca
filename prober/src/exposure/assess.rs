//! One record held against an incident: pure.

use super::incident::{Fit, Incident};
use super::mapping::{Role, Roles};
use super::moment::{self, NoMoment, Span, Zone};
use super::problem::What;
use super::row::{Row, Wrong};
use std::borrow::Cow;

/// How paths of requests end whose model stands in their body.
const MODEL_IN_BODY: [&str; 8] = [
    "/chat/completions",
    "/completions",
    "/responses",
    "/messages",
    "/embeddings",
    "/generate",
    "/api/chat",
    "/ai/run",
];

/// What is asked of every record.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) incident: Incident,
    /// The provider of records that tell none.
    pub(super) provider: Option<String>,
}

/// What a record came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer<'l> {
    /// This model, at this provider, in this period.
    Exposed(Request<'l>),
    /// Perhaps: something is not told.
    Possible(Doubt, Request<'l>),
    /// Certainly not.
    Clear(Why),
}

/// What is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Doubt {
    /// The path does not name the model.
    Model,
    /// The model is a similar one.
    SimilarModel,
    /// Nothing tells whose hardware it was.
    Provider,
    /// Only a part of what is summed up lies in the period.
    Period,
}

impl Doubt {
    /// For machines.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model_not_told",
            Self::SimilarModel => "similar_model",
            Self::Provider => "provider_not_told",
            Self::Period => "partly_in_period",
        }
    }

    /// For people.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Model => {
                "the record does not name the model (it stands in the body of the request)"
            }
            Self::SimilarModel => {
                "the model has a similar name, and nothing says whether it was concerned"
            }
            Self::Provider => {
                "the record does not tell who answered (name the provider with --provider if all of a log is one's)"
            }
            Self::Period => "the record sums up a time that lies only partly in the period",
        }
    }
}

/// Why a record is certainly not of the incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It is from another time.
    Time,
    /// It is another model.
    Model,
    /// Somebody else answered.
    Provider,
}

/// What is kept of a request: lengths, times and ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request<'l> {
    pub(super) span: Span,
    pub(super) key: Option<Cow<'l, str>>,
    pub(super) application: Option<Cow<'l, str>>,
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) input_bytes: Option<u64>,
    /// How many requests the record sums up.
    pub(super) requests: u64,
    /// Whether it is a sum, so that no single lengths are known.
    pub(super) is_sum: bool,
    pub(super) status: Option<u64>,
}

/// How a log is read: which slots are what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    pub(super) roles: &'a Roles,
    pub(super) zone: Option<Zone>,
}

/// Answers the question for one record. `seen` is told the time of every record that has one, `note` what is wrong
/// with a record that can be answered nevertheless.
pub(super) fn assess<'l>(
    row: &Row<'l>,
    reading: Reading<'_>,
    question: &Question,
    seen: &mut dyn FnMut(Span),
    note: &mut dyn FnMut(What),
) -> Result<Answer<'l>, What> {
    let line = Line {
        row,
        roles: reading.roles,
    };
    let span = line.span(reading.zone)?;
    let incident = &question.incident;
    if let Some(span) = span {
        seen(span);
        if incident.time(span) == Fit::No {
            return Ok(Answer::Clear(Why::Time));
        }
    }
    let (model, provider) = line.model_and_provider(question)?;
    if model == Some(Model::Named(Fit::No)) {
        return Ok(Answer::Clear(Why::Model));
    }
    if provider == Fit::No {
        return Ok(Answer::Clear(Why::Provider));
    }
    let model = model.ok_or(What::Missing(Role::Model))?;
    let span = span.ok_or(What::Missing(Role::Time))?;
    let request = line.request(span, note)?;
    let doubt = match (model, provider, incident.time(span)) {
        (Model::InBody, ..) => Doubt::Model,
        (Model::Named(Fit::Perhaps), ..) => Doubt::SimilarModel,
        (_, Fit::Perhaps, _) => Doubt::Provider,
        (.., Fit::Perhaps) => Doubt::Period,
        _ => return Ok(Answer::Exposed(request)),
    };
    Ok(Answer::Possible(doubt, request))
}

/// What a record tells of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    Named(Fit),
    /// The path is one of those whose model stands in the body.
    InBody,
}

struct Line<'r, 'l> {
    row: &'r Row<'l>,
    roles: &'r Roles,
}

impl<'l> Line<'_, 'l> {
    /// The first of a role's fields that holds something.
    fn text(&self, role: Role) -> Result<Option<Cow<'l, str>>, What> {
        for &slot in self.roles.of(role) {
            if let Some(text) = self.row.text(slot).map_err(|Wrong| What::Wrong(role))? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn number(&self, role: Role) -> Result<Option<u64>, What> {
        for &slot in self.roles.of(role) {
            if let Some(number) = self.row.number(slot).map_err(|Wrong| What::Wrong(role))? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// When it was, with the end of what it sums up.
    fn span(&self, zone: Option<Zone>) -> Result<Option<Span>, What> {
        let read = |role: Role, text: &str| {
            moment::parse(text.as_bytes(), zone).map_err(|error| match error {
                NoMoment::NoZone => What::NoZone(role),
                NoMoment::Unknown => What::Wrong(role),
            })
        };
        let Some(text) = self.text(Role::Time)? else {
            return Ok(None);
        };
        let mut span = read(Role::Time, &text)?;
        if let Some(text) = self.text(Role::Until)? {
            let until = read(Role::Until, &text)?.from;
            if until < span.from {
                return Err(What::Wrong(Role::Until));
            }
            span.until = until;
        }
        Ok(Some(span))
    }

    fn model_and_provider(&self, question: &Question) -> Result<(Option<Model>, Fit), What> {
        let incident = &question.incident;
        // Whatever speaks of the provider: one that is its own decides, one that tells nothing is as good as none.
        let mut provider: Option<Fit> = None;
        let mut hear = |name: &str| match (provider, incident.provider(name)) {
            (_, Fit::Yes) => provider = Some(Fit::Yes),
            (None, Fit::No) => provider = Some(Fit::No),
            _ => {}
        };
        for &slot in self.roles.of(Role::Provider) {
            let name = self
                .row
                .text(slot)
                .map_err(|Wrong| What::Wrong(Role::Provider))?;
            if let Some(name) = name {
                hear(&name);
            }
        }
        let mut model: Option<Model> = None;
        let mut own_names = false;
        for &slot in self.roles.of(Role::Model) {
            let name = self
                .row
                .text(slot)
                .map_err(|Wrong| What::Wrong(Role::Model))?;
            let Some(name) = name else { continue };
            let fit = incident.model(&name);
            own_names |= incident.provider(&name) == Fit::Yes;
            model = match (model, fit) {
                (Some(Model::Named(Fit::Yes)), _) => model,
                (_, Fit::Yes) => Some(Model::Named(Fit::Yes)),
                (Some(Model::Named(Fit::Perhaps)), _) => model,
                (_, fit) => Some(Model::Named(fit)),
            };
        }
        if let Some(path) = self.text(Role::Path)? {
            let path = plain(&path);
            own_names |= incident.provider(&path) == Fit::Yes;
            if model.is_none() {
                model = Some(match incident.model(&path) {
                    Fit::No if MODEL_IN_BODY.iter().any(|end| path.ends_with(end)) => Model::InBody,
                    fit => Model::Named(fit),
                });
            }
        }
        if own_names {
            hear_own(&mut provider);
        }
        let provider = provider.or_else(|| {
            let name = question.provider.as_deref()?;
            Some(incident.provider(name)).filter(|fit| *fit != Fit::Perhaps)
        });
        Ok((model, provider.unwrap_or(Fit::Perhaps)))
    }

    fn request(&self, span: Span, note: &mut dyn FnMut(What)) -> Result<Request<'l>, What> {
        let requests = self.number(Role::Requests)?;
        let mut noted = |role: Role| {
            self.number(role).unwrap_or_else(|what| {
                note(what);
                None
            })
        };
        let input_tokens = noted(Role::InputTokens);
        let output_tokens = noted(Role::OutputTokens);
        let input_bytes = noted(Role::InputBytes);
        // Some logs tell the status in words.
        let status = self.number(Role::Status).unwrap_or_default();
        let mut named = |role: Role| {
            self.text(role).unwrap_or_else(|what| {
                note(what);
                None
            })
        };
        let (key, application) = (named(Role::Key), named(Role::Application));
        if input_tokens.is_none() && input_bytes.is_none() {
            note(What::Missing(Role::InputTokens));
        }
        Ok(Request {
            span,
            key,
            application,
            input_tokens,
            output_tokens,
            input_bytes,
            requests: requests.unwrap_or(1),
            is_sum: requests.is_some_and(|requests| requests != 1),
            status,
        })
    }
}

/// A name of a model, or a path, that only this provider has.
fn hear_own(provider: &mut Option<Fit>) {
    provider.get_or_insert(Fit::Yes);
}

/// A path without its query, and without the escapes that matter: `POST /a%40b?c HTTP/1.1` is `/a@b`.
fn plain(path: &str) -> Cow<'_, str> {
    let path = match path.split_once(' ') {
        Some((_, rest)) if rest.starts_with('/') => rest.split(' ').next().unwrap_or(rest),
        _ => path,
    };
    let path = path.split(['?', '#']).next().unwrap_or(path);
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    Cow::Owned(
        path.replace("%40", "@")
            .replace("%2F", "/")
            .replace("%2f", "/"),
    )
}

#[cfg(test)]
#[path = "assess_tests.rs"]
mod tests;
