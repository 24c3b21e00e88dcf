//! `memory_feedback`

use super::def::{EverydayTool, OpCalls, op_answer};
use crate::ops::{Access, ToolEffect};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Report whether a note was useful. A useful note gains weight; a misleading one loses some, but never all.
/// Pipelines can sort and filter by weight; a search by text alone ignores it. Call it after you have used a note. Returns the weight before and after; a second
/// rating within a minute changes nothing but the count of uses.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryFeedback {
    /// Key or id of the note
    node: String,
    /// true if the note helped, false if it was misleading or wrong
    helped: bool,
}

impl EverydayTool for MemoryFeedback {
    const NAME: &'static str = "memory_feedback";
    const TITLE: &'static str = "Rate a note";
    const OPS: &'static [&'static str] = &["reinforce", "demote"];
    const ACCESS: Access = Access::Write;
    const EFFECT: ToolEffect = ToolEffect::Cumulative;

    fn run(self, ops: &OpCalls<'_>) -> Result<Value> {
        let mut request = Map::new();
        request.insert("node".into(), self.node.into());
        ops.call(if self.helped { "reinforce" } else { "demote" }, request)
    }

    fn answer_schema() -> Value {
        op_answer("reinforce")
    }
}
