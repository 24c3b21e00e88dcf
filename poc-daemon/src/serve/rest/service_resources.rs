//! The table of the resources that are served in addition to the ops.

pub(super) const JSON: &str = "application/json";
pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub(super) const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A resource with a fixed path that is read with `GET`.
pub(super) struct ServiceResource {
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    /// The media types it is available in.
    pub(super) media_types: &'static [&'static str],
    /// Whether it needs no token.
    pub(super) is_public: bool,
}

pub(super) const HEALTH: ServiceResource = ServiceResource {
    path: "/v1/healthz",
    summary: "Whether the daemon is alive; with `?for=write`, whether it accepts writes",
    media_types: &[JSON],
    is_public: true,
};

pub(super) const METRICS: ServiceResource = ServiceResource {
    path: "/metrics",
    summary: "Metrics for Prometheus",
    media_types: &[OPEN_METRICS, PROMETHEUS_TEXT],
    is_public: false,
};

pub(super) const OPENAPI: ServiceResource = ServiceResource {
    path: "/openapi.json",
    summary: "This document",
    media_types: &[JSON],
    is_public: true,
};

pub(super) const DOCS: ServiceResource = ServiceResource {
    path: "/docs",
    summary: "This document as a page",
    media_types: &[HTML],
    is_public: true,
};

/// All service resources, in the order of the OpenAPI document.
pub(super) const SERVICE_RESOURCES: &[ServiceResource] = &[HEALTH, METRICS, OPENAPI, DOCS];
