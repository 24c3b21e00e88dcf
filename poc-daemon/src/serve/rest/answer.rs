//! Answers and errors as HTTP responses.

use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use poc_config::RestConfig;
use poc_graph::error::{Code, Error};
use poc_memory::ops::{self, Access, OpDef, Route};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// An error response. Errors of HTTP itself have their own status; an error of an op has the status of
/// its code.
#[derive(Debug)]
pub(super) struct HttpError(Box<HttpErrorParts>);

#[derive(Debug)]
struct HttpErrorParts {
    status: StatusCode,
    header: Option<(HeaderName, HeaderValue)>,
    error: Error,
}

impl HttpError {
    fn new(status: StatusCode, code: Code, message: impl Into<String>, hint: &str) -> HttpError {
        HttpError(Box::new(HttpErrorParts {
            status,
            header: None,
            error: Error::new(code, message).hint(hint),
        }))
    }

    fn with_header(mut self, name: HeaderName, value: HeaderValue) -> HttpError {
        self.0.header = Some((name, value));
        self
    }

    /// The token is missing or wrong.
    pub(super) fn unauthorized(message: &str) -> HttpError {
        let hint = "send `Authorization: Bearer TOKEN`; the tokens are in the files `token`, `token-model` and `token-read` beside config.toml";
        let challenge = HeaderValue::from_static("Bearer realm=\"poc-memory\"");
        HttpError::new(StatusCode::UNAUTHORIZED, Code::Rejected, message, hint)
            .with_header(WWW_AUTHENTICATE, challenge)
    }

    /// The token, the host or the origin has no permission.
    pub(super) fn forbidden(message: impl Into<String>, hint: &str) -> HttpError {
        HttpError::new(StatusCode::FORBIDDEN, Code::Rejected, message, hint)
    }

    /// Nothing is served at this path.
    pub(super) fn no_route(path: &str, config: &RestConfig) -> HttpError {
        let message = format!("nothing is served at `{path}`");
        let hint = match config.enabled {
            true => "`/docs` lists all paths",
            false => "REST is off: set `enabled = true` under `[rest]` in config.toml to switch it on",
        };
        HttpError::new(StatusCode::NOT_FOUND, Code::NotFound, message, hint)
    }

    /// The op of this path is switched off.
    pub(super) fn disabled(op: &OpDef, config: &RestConfig) -> HttpError {
        let needs_delete = op.access == Access::Destroy && !config.delete;
        let hint = match (config.disabled.iter().any(|name| name == op.name), needs_delete) {
            (true, true) => {
                "remove it from `disabled` and set `delete = true` under `[rest]` in config.toml to switch it on"
            }
            (false, true) => "set `delete = true` under `[rest]` in config.toml to switch it on",
            _ => "remove it from `disabled` under `[rest]` in config.toml",
        };
        let message = format!("`{}` is switched off here", op.name);
        HttpError::new(StatusCode::NOT_FOUND, Code::NotFound, message, hint)
    }

    /// MCP over HTTP is switched off.
    pub(super) fn mcp_disabled() -> HttpError {
        let hint = "set `http = true` under `[mcp]` in config.toml to switch it on";
        HttpError::new(StatusCode::NOT_FOUND, Code::NotFound, "MCP over HTTP is switched off here", hint)
    }

    /// The session does not exist, or has ended.
    pub(super) fn no_session() -> HttpError {
        let hint = "start one with `initialize`";
        HttpError::new(StatusCode::NOT_FOUND, Code::NotFound, "there is no such session", hint)
    }

    /// The path exists, but not with this method.
    pub(super) fn wrong_method(method: &str, allowed: &str) -> HttpError {
        let message = format!("this path does not support `{method}`");
        let hint = format!("use {allowed}");
        let error = HttpError::new(StatusCode::METHOD_NOT_ALLOWED, Code::InvalidArgument, message, &hint);
        match HeaderValue::from_str(allowed) {
            Ok(allowed) => error.with_header(ALLOW, allowed),
            Err(_) => error,
        }
    }

    /// The body is not declared as JSON.
    pub(super) fn not_json() -> HttpError {
        let hint = "send `Content-Type: application/json`";
        HttpError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::InvalidArgument,
            "the body must be JSON",
            hint,
        )
    }

    /// The body is longer than allowed.
    pub(super) fn too_long(limit: usize) -> HttpError {
        let message = format!("the body is longer than the {limit} bytes that are allowed");
        let hint = "send less, or raise `max-body-bytes` under `[rest]` in config.toml";
        HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidArgument, message, hint)
    }

    /// A limit on concurrent objects, such as sessions, is reached.
    pub(super) fn too_many(message: String, hint: &str) -> HttpError {
        HttpError::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message, hint)
    }

    /// The note does not have the version that a header of the request requires.
    pub(super) fn precondition_failed(error: Error) -> HttpError {
        let tag = error.at.as_ref().and_then(|at| at.version).filter(|version| *version > 0);
        let refused = HttpError(Box::new(HttpErrorParts {
            status: StatusCode::PRECONDITION_FAILED,
            header: None,
            error,
        }));
        match tag.and_then(|version| HeaderValue::from_str(&entity_tag(version)).ok()) {
            Some(tag) => refused.with_header(ETAG, tag),
            None => refused,
        }
    }

    /// The body does not arrive in time.
    pub(super) fn too_slow() -> HttpError {
        let hint =
            "send it faster, or raise `header-timeout` and `request-timeout` under `[rest]` in config.toml";
        HttpError::new(
            StatusCode::REQUEST_TIMEOUT,
            Code::Unavailable,
            "the body did not arrive in time",
            hint,
        )
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.error.fmt(f)
    }
}

impl From<Error> for HttpError {
    fn from(error: Error) -> Self {
        let status = StatusCode::from_u16(error.code.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        HttpError(Box::new(HttpErrorParts { status, header: None, error }))
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let HttpErrorParts { status, header, error } = *self.0;
        let mut response = (status, json(&error)).into_response();
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// The response with the answer of an op. The version of a note is its `ETag`.
pub(super) fn of_op(op: &OpDef, route: &Route, answer: Value) -> Result<Response, Error> {
    let is_new = StatusCode::CREATED.as_u16() == route.status && (op.decode)(&answer)?.is_new();
    let version = op.version(&answer);
    let mut response = json(&ops::versioned(answer));
    if is_new {
        *response.status_mut() = StatusCode::CREATED;
    }
    if let Some(tag) = version.and_then(|version| HeaderValue::from_str(&entity_tag(version)).ok()) {
        response.headers_mut().insert(ETAG, tag);
    }
    Ok(response)
}

/// The entity tag of a note with a version (RFC 9110, section 8.8.3).
pub(super) fn entity_tag(version: u32) -> String {
    format!("\"{version}\"")
}

/// A response with a value as JSON.
pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(json) => text("application/json", json),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A response with a text of a media type.
pub(super) fn text(media_type: &'static str, text: String) -> Response {
    ([(CONTENT_TYPE, media_type)], text).into_response()
}

/// Adds headers that forbid browsers and proxies to guess the media type, and to cache the response unless it
/// says otherwise.
pub(super) fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;

    fn hint(error: &HttpError) -> &str {
        error.0.error.hint.as_deref().unwrap()
    }

    #[test]
    fn the_hint_for_an_unknown_path_names_the_documents_only_where_they_are_served() {
        let mut config = Config::defaults().unwrap().rest;
        let mut hint_if = |enabled: bool| {
            config.enabled = enabled;
            hint(&HttpError::no_route("/v1/nothing", &config)).to_owned()
        };
        assert_eq!(hint_if(true), "`/docs` lists all paths");
        let off = hint_if(false);
        assert!(off.contains("`enabled = true`") && !off.contains("/docs"), "{off}");
    }

    #[test]
    fn the_hint_for_an_op_names_the_settings_that_switch_it_off() {
        let defaults = Config::defaults().unwrap().rest;
        let check = |op: &str, delete: bool, is_named: bool, expected: [bool; 2]| {
            let disabled = if is_named { vec![op.to_owned()] } else { Vec::new() };
            let config = RestConfig { delete, disabled, ..defaults.clone() };
            let error = HttpError::disabled(ops::find(op).unwrap(), &config);
            let named = ["`delete = true`", "`disabled`"].map(|setting| hint(&error).contains(setting));
            assert_eq!(named, expected, "{op}: {error:?}");
        };
        check("delete", false, false, [true, false]);
        check("delete", true, true, [false, true]);
        check("delete", false, true, [true, true]);
        check("stats", false, true, [false, true]);
    }
}
