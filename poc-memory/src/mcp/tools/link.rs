//! `memory_link`

use super::def::{DefaultTool, OpCalls, fields};
use crate::ops::{Access, ToolEffect};
use poc_graph::error::{Error, Result};
use poc_graph::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kinds of links that models make.
const KINDS: [&str; 2] = ["link", "contradicts"];

/// Link two notes that belong together, so that a search that finds one can also find the other; or record
/// that they contradict each other. An existing link is not changed unless you give another strength. Returns
/// whether the link was created, changed or removed.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryLink {
    /// Key or id of the note where the link starts
    from: String,
    /// Key or id of the note where it ends
    to: String,
    /// Why they belong together, in a few words
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// `link` (if omitted) or `contradicts`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Above 0 and at most 0.6, the default
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strength: Option<f64>,
    /// Remove the link instead; false if omitted
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    remove: bool,
}

impl DefaultTool for MemoryLink {
    const NAME: &'static str = "memory_link";
    const TITLE: &'static str = "Link notes";
    const OPS: &'static [&'static str] = &["link"];
    const ACCESS: Access = Access::Write;
    const EFFECT: ToolEffect = ToolEffect::Idempotent;

    fn run(self, ops: &OpCalls<'_>) -> Result<Value> {
        if let Some(kind) = self.kind.as_ref().filter(|kind| !KINDS.contains(&kind.as_str())) {
            let kinds = KINDS.map(|kind| format!("`{kind}`")).join(" or ");
            return Err(Error::invalid(format!("unknown kind `{kind}`"))
                .hint(format!("give {kinds}"))
                .field("kind"));
        }
        ops.call("link", fields(json::encode(&self)?))
    }
}
