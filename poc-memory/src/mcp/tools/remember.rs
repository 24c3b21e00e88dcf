//! `memory_remember`

use super::def::{DefaultTool, OpCalls, fields};
use crate::mcp::arguments;
use crate::ops::{Access, ToolEffect, request};
use poc_graph::error::Result;
use poc_graph::json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Store a fact, a decision or a preference for future conversations. One fact per note, with a title that
/// states it. A note that is already known is recognised and not stored twice. Search first if an older note
/// may contradict it, and replace that one with `supersedes`. Returns the key of the note.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryRemember {
    /// One line that states the fact; the first sentence of the body if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Details in Markdown: reasons, context, names, numbers
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Keywords; notes that share one are linked
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keywords: Vec<String>,
    /// `semantic` for lasting facts (if omitted), `episodic` for events; also `daily`, `weekly`, `monthly`
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    node_type: Option<String>,
    /// Who said it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// Where it comes from: a URL, a file, a session
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// When it stops being true, such as `2026-12-31`; never if omitted
    #[serde(default, alias = "expires_at", skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// Key or id of a note that this one replaces; the old one stays readable
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
    /// Unique name of the note; derived from the title if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// With a key: change the note with this key, keeping the fields that you omit; false if omitted
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    update: bool,
    /// With `update`: only if the note still has this version, as memory_get shows it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    if_version: Option<u32>,
    /// Several notes instead of one, each an object with the fields above
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Map<String, Value>>,
}

/// The fields of one of several notes, prepared as the arguments of a call are.
fn prepared(note: Map<String, Value>, schema: &Map<String, Value>) -> Result<Map<String, Value>> {
    let note = arguments::prepared(note, schema);
    let schema = Value::Object(schema.clone());
    arguments::refuse_unknown(&note, &schema)?;
    let note = request::lenient(note.into(), &schema);
    let checked: MemoryRemember = request::decode(&note)?;
    Ok(fields(json::encode(&checked)?))
}

impl DefaultTool for MemoryRemember {
    const NAME: &'static str = "memory_remember";
    const TITLE: &'static str = "Remember";
    const OPS: &'static [&'static str] = &["insert"];
    const ACCESS: Access = Access::Write;
    const EFFECT: ToolEffect = ToolEffect::Idempotent;

    fn run(mut self, ops: &OpCalls<'_>) -> Result<Value> {
        // The schema only says that several notes are objects, so their fields are prepared here.
        let schema = fields(crate::ops::schema::<MemoryRemember>().to_value());
        for (place, note) in self.notes.iter_mut().enumerate() {
            *note = prepared(std::mem::take(note), &schema).map_err(|error| {
                let field = error.at.as_ref().and_then(|at| at.field.clone());
                let field = field.map_or_else(String::new, |field| format!(".{field}"));
                error.field(format!("notes[{place}]{field}"))
            })?;
        }
        ops.call("insert", fields(json::encode(&self)?))
    }
}
