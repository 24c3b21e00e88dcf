//! The section `[page]`.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// The web page of the daemon.
    PageConfig {
        /// Whether `poc-memory page` may open the page, at the address of `[rest]`.
        enabled: bool,
        /// How long a browser remains signed in.
        session_lifetime: Span,
    }
);
