//! What is served beside the ops: whether it lives, what it counts, and what there is.

use super::answer::{self, Refusal};
use super::{Rest, docs, openapi};
use axum::Router;
use axum::extract::Request;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use poc_graph::error::Error;
use poc_memory::ops::{Access, OpDef, Route};
use serde_json::json;
use std::future::ready;
use std::sync::Arc;

/// Path, what it is, media type, and whether it needs no token.
pub(super) const PAGES: &[(&str, &str, &str, bool)] = &[
    (HEALTH, "Whether the daemon lives", "application/json", true),
    (METRICS, "What it counts, for Prometheus", OPEN_METRICS, false),
    (OPENAPI, "This document", "application/json", true),
    (DOCS, "This document as a page", HTML, true),
];

const HEALTH: &str = "/v1/healthz";
const METRICS: &str = "/metrics";
const OPENAPI: &str = "/openapi.json";
const DOCS: &str = "/docs";

/// The media type of Prometheus' text, as OpenMetrics has it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Adds them to what is served.
pub(super) fn add(router: Router, rest: &Arc<Rest>, served: &[(&OpDef, Route)]) -> Router {
    let document = openapi::document(served, &rest.shared.memory.config.tenant_schema);
    let (page, json) = (docs::page(&document), document.to_string());
    router
        .route(HEALTH, health())
        .route(METRICS, metrics(rest))
        .route(OPENAPI, alone(move |_| ready(answer::text("application/json", json.clone()))))
        .route(DOCS, alone(move |_| ready(styled(answer::text(HTML, page.clone())))))
}

/// A page with styles of its own and nothing else: no script, nothing from elsewhere.
fn styled(mut page: Response) -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    page.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    page
}

/// `GET /v1/healthz`: for whoever watches the process, so without a token and without a word about
/// the memory.
fn health() -> MethodRouter {
    alone(async |_| answer::json(&json!({ "status": "ok" })))
}

/// `GET /metrics`, for a token that may read.
fn metrics(rest: &Arc<Rest>) -> MethodRouter {
    let rest = rest.clone();
    alone(move |request: Request| {
        let rest = rest.clone();
        let (parts, _) = request.into_parts();
        async move { measured(&rest, &parts.headers).await.unwrap_or_else(IntoResponse::into_response) }
    })
}

async fn measured(rest: &Rest, headers: &HeaderMap) -> Result<Response, Refusal> {
    rest.tokens.check(headers, Access::Read)?;
    let shared = rest.shared.clone();
    let text = tokio::task::spawn_blocking(move || shared.metrics.text(&shared)).await;
    let text = text.map_err(|error| Error::internal(format!("the metrics cannot be told: {error}")))??;
    Ok(answer::text(OPEN_METRICS, text))
}

/// A path with `GET` and nothing else.
fn alone<F, R>(answer: F) -> MethodRouter
where
    F: Fn(Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    MethodRouter::new()
        .on(MethodFilter::GET, answer)
        .fallback(async |request: Request| Refusal::wrong_method(request.method().as_str(), "GET"))
}
