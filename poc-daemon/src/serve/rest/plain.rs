//! What is served beside the ops: whether it lives, and what it counts.

use super::Rest;
use super::answer::{self, Refusal};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use poc_memory::error::Error;
use poc_memory::ops::Access;
use serde_json::json;
use std::sync::Arc;

/// The media type of Prometheus' text, as OpenMetrics has it.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `GET /v1/healthz`: for whoever watches the process, so without a token and without a word about
/// the memory.
pub(super) fn health() -> MethodRouter {
    alone(async |_| answer::json(&json!({ "status": "ok" })))
}

/// `GET /metrics`, for a token that may read.
pub(super) fn metrics(rest: &Arc<Rest>) -> MethodRouter {
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
    Ok(answer::text(METRICS, text))
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
