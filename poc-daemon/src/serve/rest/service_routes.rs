//! Serves the resources other than ops: health, metrics, and the OpenAPI document as JSON and as HTML.

use super::answer::{self, HttpError};
use super::metrics_format::MetricsFormat;
use super::service_resources::{DOCS, HEALTH, HTML, JSON, METRICS, OPENAPI};
use super::{RestContext, caller, docs, openapi};
use crate::serve::call;
use axum::Router;
use axum::extract::Request;
use axum::http::header::{CONTENT_SECURITY_POLICY, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use poc_graph::error::Error;
use poc_memory::ops::{Access, OpDef, Route};
use serde_json::json;
use std::future::ready;
use std::sync::Arc;

/// Adds the resources to a router.
pub(super) fn add(router: Router, rest: &Arc<RestContext>, served: &[(&OpDef, Route)]) -> Router {
    let document = openapi::document(served, &rest.state.memory.config.tenant_schema);
    let (html, json) = (docs::page(&document), document.to_string());
    router
        .route(HEALTH.path, health(rest))
        .route(METRICS.path, metrics(rest))
        .route(OPENAPI.path, get_only(move |_| ready(answer::text(JSON, json.clone()))))
        .route(DOCS.path, get_only(move |_| ready(restrict(answer::text(HTML, html.clone())))))
}

/// Lets the page use its own styles and nothing else: no script, nothing from other servers.
fn restrict(mut page: Response) -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    page.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    page
}

/// `GET /v1/healthz` is for process monitors. It needs no token and reveals nothing about the memory. A
/// read-only store is still served, and a restart would not change it, so the status is 200. With the query
/// `for=write`, the status of a read-only store is 503.
fn health(rest: &Arc<RestContext>) -> MethodRouter {
    let rest = rest.clone();
    get_only(move |request: Request| {
        let is_for_writes = match request.uri().query() {
            None | Some("") => false,
            Some("for=write") => true,
            Some(_) => {
                let error = Error::invalid("the query is not `for=write`").hint(
                    "leave the query out, or give `for=write` to fail while the store accepts no writes",
                );
                return ready(HttpError::from(error).into_response());
            }
        };
        let cause = rest.state.memory.store.read_only();
        let body = match &cause {
            None => json!({ "status": "ok" }),
            Some(cause) => json!({ "status": "read-only", "cause": cause.name() }),
        };
        let status = match cause {
            Some(_) if is_for_writes => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::OK,
        };
        ready((status, answer::json(&body)).into_response())
    })
}

/// `GET /metrics` needs a token that may read. `Accept` chooses the format.
fn metrics(rest: &Arc<RestContext>) -> MethodRouter {
    let rest = rest.clone();
    get_only(move |request: Request| {
        let rest = rest.clone();
        let (parts, _) = request.into_parts();
        async move { read_metrics(&rest, &parts).await.unwrap_or_else(IntoResponse::into_response) }
    })
}

async fn read_metrics(rest: &RestContext, head: &Parts) -> Result<Response, HttpError> {
    caller::authorize(rest, head, Access::Read)?;
    let state = rest.state.clone();
    let reading = call::pool(&rest.state, None)
        .run(move || state.metrics.text(&state.memory_now(), &state.catalog.load(), &state.models));
    let text =
        reading.await.map_err(|error| Error::internal(format!("the metrics cannot be read: {error}")))??;
    let format = MetricsFormat::of(&head.headers);
    let mut response = answer::text(format.media_type(), format.text(text));
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// A path that answers `GET` and no other method.
fn get_only<F, R>(answer: F) -> MethodRouter
where
    F: Fn(Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    MethodRouter::new()
        .on(MethodFilter::GET, answer)
        .fallback(async |request: Request| HttpError::wrong_method(request.method().as_str(), "GET"))
}
