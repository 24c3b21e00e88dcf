//! One op at its route: token, request, answer.

use super::answer::{self, Refusal};
use super::query::Fields;
use super::token::Power;
use super::{Rest, body, request};
use crate::serve::call::{Asked, call};
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::Response;
use poc_graph::error::Error;
use poc_memory::ops::{Actor, Method, OpDef, Route};
use serde_json::Value;

/// The path's fields, or why they cannot be read.
pub(super) type PathFields = Result<RawPathParams, RawPathParamsRejection>;

/// An op that is served.
pub(super) struct Endpoint {
    op: &'static OpDef,
    pub(super) route: Route,
    fields: Fields,
}

impl Endpoint {
    /// An op at its route.
    pub(super) fn new(op: &'static OpDef, route: Route) -> Endpoint {
        Endpoint { op, route, fields: Fields::of(&(op.request_schema)().to_value()) }
    }

    /// Does what a request asks.
    pub(super) async fn answer(&self, rest: &Rest, path: PathFields, request: Request) -> Response {
        let (head, mut body) = request.into_parts();
        match self.try_answer(rest, path, &head, &mut body).await {
            Ok(response) => response,
            Err(refusal) => body::refuse(refusal, rest.config(), &head.headers, body).await,
        }
    }

    async fn try_answer(
        &self,
        rest: &Rest,
        path: PathFields,
        head: &Parts,
        body: &mut Body,
    ) -> Result<Response, Refusal> {
        let power = rest.tokens.check(&head.headers, self.op.access)?;
        let path = path.map_err(|_| Error::invalid("the path is not UTF-8"))?;
        let query = head.uri.query().unwrap_or_default();
        let args = if self.route.method == Method::Get {
            request::of_query(&self.fields, &path, query)?
        } else {
            let body = self.body(rest, &head.headers, body).await?;
            request::of_body(&self.fields, &path, query, &body)?
        };
        let answer = self.call(rest, power, args).await?;
        Ok(answer::of_op(self.op, &self.route, answer)?)
    }

    /// The body, which must be JSON. What is posted says so even when there is none: a page cannot
    /// have a browser send that without asking first.
    async fn body(&self, rest: &Rest, headers: &HeaderMap, body: &mut Body) -> Result<Vec<u8>, Refusal> {
        let config = rest.config();
        let is_json = says_json(headers);
        if self.route.method == Method::Post && !is_json {
            return Err(Refusal::not_json());
        }
        let bytes = body::read(body, config.max_body_bytes, config.request_timeout.std()).await?;
        if bytes.is_empty() || is_json { Ok(bytes) } else { Err(Refusal::not_json()) }
    }

    /// Runs the op. One that takes too long goes on without anybody who waits.
    async fn call(&self, rest: &Rest, power: Power, args: Value) -> Result<Value, Error> {
        let timeout = rest.config().request_timeout;
        let asked = Asked { surface: "rest", actor: Actor::Person, may_write: power == Power::All };
        let running = tokio::spawn(call(rest.shared.clone(), asked, self.op, args, |_| {}));
        match tokio::time::timeout(timeout.std(), running).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(Error::internal(format!("the op `{}` failed: {error}", self.op.name))),
            Err(_) => {
                Err(Error::unavailable(format!("`{}` is not done after {timeout}; it goes on", self.op.name))
                    .hint("raise `request-timeout` under `[rest]` in config.toml"))
            }
        }
    }
}

/// Whether a body is said to be JSON.
pub(super) fn says_json(headers: &HeaderMap) -> bool {
    let said = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    said.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
}
