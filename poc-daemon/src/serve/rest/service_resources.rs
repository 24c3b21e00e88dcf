//! The table of what is served beside the ops.

/// A resource with a fixed path that is read with `GET`.
pub(super) struct Page {
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) media_type: &'static str,
    /// Whether it needs no token.
    pub(super) is_public: bool,
}

pub(super) const HEALTH: Page = Page {
    path: "/v1/healthz",
    summary: "Whether the daemon is alive",
    media_type: "application/json",
    is_public: true,
};

pub(super) const METRICS: Page = Page {
    path: "/metrics",
    summary: "Metrics for Prometheus",
    // The text format of Prometheus as OpenMetrics defines it.
    media_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
    is_public: false,
};

pub(super) const OPENAPI: Page =
    Page { path: "/openapi.json", summary: "This document", media_type: "application/json", is_public: true };

pub(super) const DOCS: Page = Page {
    path: "/docs",
    summary: "This document as a page",
    media_type: "text/html; charset=utf-8",
    is_public: true,
};

/// All of them.
pub(super) const PAGES: &[Page] = &[HEALTH, METRICS, OPENAPI, DOCS];
