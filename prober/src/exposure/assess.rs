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
    let model = line.model(incident)?;
    if model == Some(Model::Named(Fit::No)) {
        return Ok(Answer::Clear(Why::Model));
    }
    let provider = line.provider(question)?;
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

    /// What a role's fields hold, all of them.
    fn each(&self, role: Role, tell: &mut dyn FnMut(&str)) -> Result<(), What> {
        for &slot in self.roles.of(role) {
            if let Some(text) = self.row.text(slot).map_err(|Wrong| What::Wrong(role))? {
                tell(&text);
            }
        }
        Ok(())
    }

    /// What the record tells of the model: the best of its names, or else of its path.
    fn model(&self, incident: &Incident) -> Result<Option<Model>, What> {
        let mut best: Option<Fit> = None;
        self.each(Role::Model, &mut |name| {
            best = best.max(Some(incident.model(name)))
        })?;
        if let Some(fit) = best {
            return Ok(Some(Model::Named(fit)));
        }
        Ok(self.text(Role::Path)?.map(|path| {
            let path = plain(&path);
            match incident.model(&path) {
                Fit::No if MODEL_IN_BODY.iter().any(|end| path.ends_with(end)) => Model::InBody,
                fit => Model::Named(fit),
            }
        }))
    }

    /// Whether it was this provider. A name that nobody knows decides nothing: it may be a gateway's.
    fn provider(&self, question: &Question) -> Result<Fit, What> {
        let incident = &question.incident;
        let (mut is_own, mut is_other) = (false, false);
        self.each(Role::Provider, &mut |name| match incident.provider(name) {
            Fit::Yes => is_own = true,
            Fit::No => is_other = true,
            Fit::Perhaps => {}
        })?;
        if is_own || is_other {
            return Ok(if is_own { Fit::Yes } else { Fit::No });
        }
        // Its own names of models, and its own paths.
        self.each(Role::Model, &mut |name| {
            is_own |= incident.provider(name) == Fit::Yes
        })?;
        if let Some(path) = self.text(Role::Path)? {
            is_own |= incident.provider(&plain(&path)) == Fit::Yes;
        }
        if is_own {
            return Ok(Fit::Yes);
        }
        let named = question.provider.as_deref();
        Ok(named.map_or(Fit::Perhaps, |name| incident.provider(name)))
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
