//! Errors in SGLang's shape: fields at the top level, no `error` object.

use crate::engine::Refusal;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An error as the client sees it.
pub(super) struct ApiError {
    status: StatusCode,
    kind: &'static str,
    message: String,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            status,
            kind,
            message,
        }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequestError", message)
    }

    pub(super) fn bad_json(error: &serde_json::Error) -> Self {
        // Place only: serde's message may quote the body.
        let (line, column) = (error.line(), error.column());
        Self::bad_request(format!(
            "the body is not the expected JSON (line {line}, column {column})"
        ))
    }

    pub(super) fn unauthorised() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "AuthenticationError",
            "Unauthorized",
        )
    }

    pub(super) fn no_such_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFoundError", "Not Found")
    }

    pub(super) fn model_unknown(model: &str) -> Self {
        let shown: String = model.chars().take(80).collect();
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFoundError",
            format!("The model `{shown}` does not exist."),
        )
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::PromptOverWindow { prompt, window } => Self::bad_request(format!(
                "The input ({prompt} tokens) is longer than the model's context length ({window} tokens)."
            )),
            Refusal::TotalOverWindow {
                prompt,
                answer,
                window,
            } => Self::bad_request(format!(
                "Requested token count exceeds the model's maximum context length of {window} tokens. You requested a \
                 total of {} tokens: {prompt} tokens from the input messages and {answer} tokens for the completion. \
                 Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
                prompt + answer
            )),
            Refusal::OverCapacity { prompt, capacity } => Self::bad_request(format!(
                "Input length ({prompt} tokens) exceeds the maximum allowed length ({capacity} tokens). Use a shorter \
                 input or enable --allow-auto-truncate."
            )),
            Refusal::Internal => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalServerError",
                "the engine failed to serve the request",
            ),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self {
            status,
            kind,
            message,
        } = self;
        let code = status.as_u16();
        let body = json!({ "object": "error", "message": message, "type": kind, "param": null, "code": code });
        (status, Json(body)).into_response()
    }
}
