//! The section `[page]`.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// The page in the browser.
    PageConfig {
        /// Whether `poc-memory page` may open it, at the address of `[rest]`.
        enabled: bool,
        /// How long a browser stays signed in.
        session_lifetime: Span,
    }
);
