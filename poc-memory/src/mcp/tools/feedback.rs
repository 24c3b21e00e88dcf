//! `memory_feedback`

use super::def::{DefaultTool, OpCalls};
use crate::ops::{Access, ToolEffect};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Report whether a note was useful. Call it after you have used a note. The question that a useful note answered
/// is kept, and similar questions find the note better from then on. A useful note also gains weight, and a
/// misleading one loses some, by which pipelines can sort and filter. Returns the weight before and after; a second
/// rating within a minute does not change it again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryFeedback {
    /// Key or id of the note
    node: String,
    /// true if the note helped, false if it was misleading or wrong
    helped: bool,
    /// The question that the note answered; if omitted, your latest search that found the note
    #[serde(default)]
    question: Option<String>,
}

impl DefaultTool for MemoryFeedback {
    const NAME: &'static str = "memory_feedback";
    const TITLE: &'static str = "Rate a note";
    const OPS: &'static [&'static str] = &["reinforce", "demote"];
    const ACCESS: Access = Access::Write;
    const EFFECT: ToolEffect = ToolEffect::Cumulative;

    fn run(self, ops: &OpCalls<'_>) -> Result<Value> {
        let mut request = Map::new();
        if !self.helped {
            request.insert("node".into(), self.node.into());
            return ops.call("demote", request);
        }
        let question = self.question.filter(|question| !question.trim().is_empty());
        if let Some(question) = question.or_else(|| ops.question_for(&self.node)) {
            request.insert("for".into(), question.into());
        }
        request.insert("node".into(), self.node.into());
        ops.call("reinforce", request)
    }
}
