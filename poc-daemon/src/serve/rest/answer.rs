//! Answers and refusals as HTTP.

use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use poc_graph::error::{Code, Error};
use poc_memory::ops::{self, Access, OpDef, Route};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// A request that gets an error. What HTTP itself has a status for has that status; all else has
/// the one of its code.
#[derive(Debug)]
pub(super) struct Refusal(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    header: Option<(HeaderName, HeaderValue)>,
    error: Error,
}

impl Refusal {
    fn new(status: StatusCode, code: Code, message: impl Into<String>, hint: &str) -> Refusal {
        Refusal(Box::new(Parts { status, header: None, error: Error::new(code, message).hint(hint) }))
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Refusal {
        self.0.header = Some((name, value));
        self
    }

    /// No token, or one that is not ours.
    pub(super) fn unauthorized(message: &str) -> Refusal {
        let hint = "send `Authorization: Bearer TOKEN`; the tokens are in the files `token` and `token-read` beside config.toml";
        let challenge = HeaderValue::from_static("Bearer realm=\"poc-memory\"");
        Refusal::new(StatusCode::UNAUTHORIZED, Code::Rejected, message, hint)
            .with(WWW_AUTHENTICATE, challenge)
    }

    /// Not for this token, this host or this page.
    pub(super) fn forbidden(message: impl Into<String>, hint: &str) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, Code::Rejected, message, hint)
    }

    /// There is nothing at this path.
    pub(super) fn no_route(path: &str) -> Refusal {
        let message = format!("there is nothing at `{path}`");
        Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, message, "`/docs` lists what there is")
    }

    /// What would be done here is switched off.
    pub(super) fn switched_off(op: &OpDef) -> Refusal {
        let hint = match op.access {
            Access::Destroy => "`delete = true` under `[rest]` in config.toml switches it on",
            _ => "take it from `disabled` under `[rest]` in config.toml",
        };
        let message = format!("`{}` is switched off here", op.name);
        Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, message, hint)
    }

    /// There is no such session, or none any more.
    pub(super) fn no_session() -> Refusal {
        let hint = "begin one with `initialize`";
        Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, "there is no such session", hint)
    }

    /// Another method would do.
    pub(super) fn wrong_method(method: &str, allowed: &str) -> Refusal {
        let message = format!("`{method}` is not for this path");
        let hint = format!("use {allowed}");
        let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Code::InvalidArgument, message, &hint);
        match HeaderValue::from_str(allowed) {
            Ok(allowed) => refusal.with(ALLOW, allowed),
            Err(_) => refusal,
        }
    }

    /// A body that is not JSON.
    pub(super) fn not_json() -> Refusal {
        let hint = "send `Content-Type: application/json`";
        Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::InvalidArgument, "the body must be JSON", hint)
    }

    /// More body than is taken.
    pub(super) fn too_long(limit: usize) -> Refusal {
        let message = format!("the body is longer than the {limit} bytes that are allowed");
        let hint = "send less, or raise `max-body-bytes` under `[rest]` in config.toml";
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidArgument, message, hint)
    }

    /// No room for one more.
    pub(super) fn too_many(message: String, hint: &str) -> Refusal {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message, hint)
    }

    /// A body that does not come.
    pub(super) fn too_slow() -> Refusal {
        let hint = "send it faster, or raise `request-timeout` under `[rest]` in config.toml";
        Refusal::new(StatusCode::REQUEST_TIMEOUT, Code::Unavailable, "the body did not arrive in time", hint)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.error.fmt(f)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = StatusCode::from_u16(error.code.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Refusal(Box::new(Parts { status, header: None, error }))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Parts { status, header, error } = *self.0;
        let mut response = (status, json(&error)).into_response();
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// The answer of an op.
pub(super) fn of_op(op: &OpDef, route: &Route, answer: Value) -> Result<Response, Error> {
    Ok(match StatusCode::from_u16(route.status) {
        Ok(StatusCode::NO_CONTENT) => StatusCode::NO_CONTENT.into_response(),
        Ok(StatusCode::CREATED) if (op.is_new)(&answer)? => {
            (StatusCode::CREATED, json(&ops::versioned(answer))).into_response()
        }
        _ => json(&ops::versioned(answer)),
    })
}

/// A value as JSON.
pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(json) => text("application/json", json),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A text of a media type.
pub(super) fn text(media_type: &'static str, text: String) -> Response {
    ([(CONTENT_TYPE, media_type)], text).into_response()
}

/// What every answer says to browsers and proxies: take it as what it is said to be, and do not
/// keep it.
pub(super) fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
