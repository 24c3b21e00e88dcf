//! The table of the resources that are served beside the ops.

/// A resource with a fixed path that is read with `GET`.
pub(super) struct ServiceResource {
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) media_type: &'static str,
    /// Whether it needs no token.
    pub(super) is_public: bool,
}

pub(super) const HEALTH: ServiceResource = ServiceResource {
    path: "/v1/healthz",
    summary: "Whether the daemon is alive; with `?for=write`, whether it takes writes",
    media_type: "application/json",
    is_public: true,
};

pub(super) const METRICS: ServiceResource = ServiceResource {
    path: "/metrics",
    summary: "Metrics for Prometheus",
    // The text format of Prometheus as OpenMetrics defines it.
    media_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
    is_public: false,
};

pub(super) const OPENAPI: ServiceResource = ServiceResource {
    path: "/openapi.json",
    summary: "This document",
    media_type: "application/json",
    is_public: true,
};

pub(super) const DOCS: ServiceResource = ServiceResource {
    path: "/docs",
    summary: "This document as a page",
    media_type: "text/html; charset=utf-8",
    is_public: true,
};

/// All of them, as the OpenAPI document lists them.
pub(super) const SERVICE_RESOURCES: &[ServiceResource] = &[HEALTH, METRICS, OPENAPI, DOCS];
