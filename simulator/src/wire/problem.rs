//! What can be wrong with a request. How it is said is the shape's affair.

use crate::engine::Refusal;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The body is not the JSON that is expected; the place only, as a message may quote the body.
    Json { line: usize, column: usize },
    /// A conversation without a message.
    NoMessages,
    /// A text to tokenise is none.
    NoText,
    /// The key is missing or wrong.
    Unauthorised,
    /// There is nothing at this path.
    NoSuchPath { method: String, path: String },
    /// There is no such model.
    ModelUnknown(String),
    /// The engine refuses, or failed.
    Refused(Refusal),
}

impl Problem {
    pub(super) fn json(error: &serde_json::Error) -> Self {
        Self::Json {
            line: error.line(),
            column: error.column(),
        }
    }

    pub(super) fn model_unknown(model: &str) -> Self {
        Self::ModelUnknown(model.chars().take(80).collect())
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl IntoResponse for Problem {
    /// A response that carries the problem; [`super::rendered`] says it in the endpoint's shape.
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
