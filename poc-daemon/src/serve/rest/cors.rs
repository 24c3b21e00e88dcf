//! Lets scripts of pages from `allowed-origins` read responses, which browsers otherwise withhold (section
//! "CORS protocol" of the Fetch standard). Such pages send a token; the session of the page is not available
//! to them.

use super::min_seq;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Method};
use poc_config::RestConfig;
use std::time::Duration;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Headers of MCP over HTTP.
const MCP_SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const MCP_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long a browser may remember the answer to a preflight request.
const MAX_AGE: Duration = Duration::from_secs(600);

/// The layer that answers preflight requests and adds the headers; `None` without allowed origins.
pub(super) fn layer(config: &RestConfig) -> Option<CorsLayer> {
    // Browsers send origins in lower case.
    let origins = config.allowed_origins.iter().map(|origin| origin.to_ascii_lowercase());
    let origins: Vec<HeaderValue> =
        origins.filter_map(|origin| HeaderValue::from_str(&origin).ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            IF_MATCH,
            IF_NONE_MATCH,
            min_seq::HEADER,
            MCP_SESSION,
            MCP_VERSION,
            LAST_EVENT,
        ])
        .expose_headers([ETAG, WWW_AUTHENTICATE, MCP_SESSION]);
    Some(layer.max_age(MAX_AGE))
}
