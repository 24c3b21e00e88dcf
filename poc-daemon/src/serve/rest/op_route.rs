//! Serves one op at its route: checks the token, reads the request and writes the answer.

use super::answer::{self, HttpError};
use super::caller::{self, Caller};
use super::query::{Fields, NOT_UTF_8};
use super::{RestContext, body, min_seq, note_path, precondition, request};
use crate::serve::call::{CallOrigin, call};
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hyper::body::Body as _;
use poc_graph::cancellation::{CancelOnDrop, CancellationToken};
use poc_graph::error::Error;
use poc_memory::ops::{Access, Method, OpDef, Route, tenancy};
use serde_json::Value;

/// The fields in the path, or why they cannot be decoded.
pub(super) type PathFields = Result<RawPathParams, RawPathParamsRejection>;

/// An op and the route at which it is served.
pub(super) struct OpRoute {
    op: &'static OpDef,
    pub(super) route: Route,
    fields: Fields,
    /// Whether it is switched off for programs, so that only a person on the page may call it.
    is_for_people: bool,
}

impl OpRoute {
    /// Serves an op at a route.
    pub(super) fn new(op: &'static OpDef, route: Route) -> OpRoute {
        let fields = Fields::of(&(op.request_schema)().to_value()).with_former_text(op.former_text);
        OpRoute { op, route, fields, is_for_people: false }
    }

    /// Restricts the route to a person on the page.
    pub(super) fn for_people(self) -> OpRoute {
        OpRoute { is_for_people: true, ..self }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, rest: &RestContext, path: PathFields, request: Request) -> Response {
        let (head, mut body) = request.into_parts();
        match self.try_answer(rest, path, &head, &mut body).await {
            Ok(response) => response,
            Err(error) => body::refuse(rest, error, &head.headers, body).await,
        }
    }

    async fn try_answer(
        &self,
        rest: &RestContext,
        path: PathFields,
        head: &Parts,
        body: &mut Body,
    ) -> Result<Response, HttpError> {
        if self.is_for_people && caller::session(rest, &head.headers).is_none() {
            return Err(HttpError::disabled(self.op, rest.config()));
        }
        let access = if self.is_for_people { Access::Person } else { self.op.access };
        let caller = caller::authorize(rest, head, access)?;
        let path = path.map_err(|_| Error::invalid("the path is not UTF-8").hint(NOT_UTF_8))?;
        let query = head.uri.query().unwrap_or_default();
        let mut args = if self.route.method == Method::Get {
            request::from_query(&self.fields, &path, query)?
        } else {
            let body = self.body(rest, &head.headers, body).await?;
            request::from_body(&self.fields, &path, query, &body)?
        };
        if let Value::Object(args) = &mut args {
            min_seq::add(&head.headers, args)?;
        }
        let takes_version = self.fields.has(precondition::FIELD);
        let is_conditional = match &mut args {
            // Caches add conditions to reads, which may be ignored, because a full response is always valid.
            Value::Object(args) if self.route.method != Method::Get => {
                let creates = self.route.status == StatusCode::CREATED.as_u16();
                precondition::add(&head.headers, takes_version, creates, args)?
            }
            _ => false,
        };
        if let (Some(tenant), Value::Object(args), true) =
            (&caller.tenant, &mut args, self.op.tenant_scope.accepts_tenant())
        {
            tenancy::bind(args, tenant)?;
        }
        caller.check_arguments(self.op, &args)?;
        let hint = note_path::route_hint(self.op, &args);
        match self.call(rest, caller, args).await {
            Ok(answer) => Ok(answer::of_op(self.op, &self.route, answer)?),
            Err(error) if is_conditional && error.at.as_ref().is_some_and(|at| at.version.is_some()) => {
                Err(HttpError::precondition_failed(error))
            }
            Err(error) => Err(note_path::with_hint(error, hint).into()),
        }
    }

    /// Reads the body, which must be JSON. A request without a body is the same as one with an empty object, and need
    /// not declare JSON: it has passed the origin guard, and has a token or that of its page.
    async fn body(
        &self,
        rest: &RestContext,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<Vec<u8>, HttpError> {
        let config = rest.config();
        let is_json = declares_json(headers);
        // A body that was announced is refused before it is read.
        if self.route.method == Method::Post && !is_json && !body.is_end_stream() {
            return Err(HttpError::not_json());
        }
        let (pause, timeout) = (config.header_timeout.std(), config.request_timeout.std());
        let bytes = body::read(body, config.max_body_bytes, pause, timeout, rest.state.stopped()).await?;
        if bytes.is_empty() || is_json { Ok(bytes) } else { Err(HttpError::not_json()) }
    }

    /// Runs the op. When the client disconnects or the time is over, the op stops, unless it outlives its caller.
    async fn call(&self, rest: &RestContext, caller: Caller, args: Value) -> Result<Value, Error> {
        let timeout = rest.config().request_timeout;
        let Caller { surface, actor, may_write, .. } = caller;
        let origin = CallOrigin { surface, actor, may_write };
        let waiting = CancelOnDrop(CancellationToken::default());
        let running = call(rest.state.clone(), origin, self.op, args, waiting.0.clone(), |_| {});
        // On its own task, because a call that is dropped while it waits for the pool would never start.
        let running = tokio::spawn(running);
        match tokio::time::timeout(timeout.std(), running).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(Error::internal(format!("the op `{}` failed: {error}", self.op.name))),
            Err(_) => Err(Error::unavailable(format!(
                "`{}` has not finished within {timeout}; it {}",
                self.op.name,
                if self.op.outlives_caller { "continues" } else { "is stopped" }
            ))
            .hint("raise `request-timeout` under `[rest]` in config.toml")),
        }
    }
}

/// Whether the headers declare a JSON body.
pub(super) fn declares_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
}
