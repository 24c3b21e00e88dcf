//! `write`

use super::text::counted;
use super::{Access, Ctx, Op, Route, argument};
use poc_graph::error::Result;
use poc_graph::{MessageId, NodeId};
use poc_notes::write::{self, Draft};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Write a message into the memory: it is cut into chunks of a few sentences, each a note of its own
/// that `recall` brings back. Neighbouring chunks are tied, and the first to what was written in the
/// last five minutes. The same message written twice is there twice.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Write {
    /// The text
    #[arg(value_parser = argument::text, help = "The text. `-` reads standard input")]
    #[schemars(regex(pattern = r"\S"))]
    message: String,
    /// What else is known of it, as an object in JSON: `{"session": "42"}`
    #[arg(long, value_name = "JSON", value_parser = argument::object)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
}

/// What became of the message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Written {
    /// `forget` takes it.
    message_id: MessageId,
    /// Its chunks, in the order of the text.
    node_ids: Vec<NodeId>,
    /// Edges that were made.
    edges: usize,
}

impl Op for Write {
    const NAME: &'static str = "write";
    const ACCESS: Access = Access::Write;
    const BEGINS: bool = true;
    const ROUTE: Option<Route> = Route::post("/v1/write");
    const TOOL: Option<&'static str> = Some("memory_write");
    type Output = Written;

    fn run(self, ctx: &Ctx<'_>) -> Result<Written> {
        let draft = Draft {
            text: self.message,
            metadata: self.metadata.unwrap_or_default(),
            provenance: ctx.actor.name().to_owned(),
            trust: ctx.actor.trust(),
        };
        let written = write::write(ctx.memory, draft, ctx.cause(Self::NAME))?;
        Ok(Written { message_id: written.message, node_ids: written.nodes, edges: written.edges })
    }

    fn show(output: &Written) -> String {
        let chunks = counted(output.node_ids.len() as u64, "chunk");
        let edges = counted(output.edges as u64, "edge");
        format!("wrote message {} ({chunks}, {edges})\n", output.message_id)
    }
}
