//! `delete`

use super::text::plural;
use super::{Access, Ctx, Op, Route, ToolEffect};
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_notes::{delete, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Permanently delete a note with its edges and visits. To replace a note and keep its history, supersede it; to
/// delete a message with its chunks, forget it.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delete {
    /// Key or id of the note
    node: String,
    /// Only if the note has this version, as `get` shows it
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    if_version: Option<u32>,
}

/// What was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DeleteOutput {
    id: NodeId,
    key: String,
    /// Edges that were deleted with it.
    edges: usize,
    /// Keys of the notes that agents had derived from it alone, which were deleted, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    derived: Vec<String>,
}

impl Op for Delete {
    const NAME: &'static str = "delete";
    const ACCESS: Access = Access::Destroy;
    const ROUTE: Option<Route> = Route::delete("/v1/nodes/{node}");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Idempotent);
    type Output = DeleteOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<DeleteOutput> {
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let deleted = ctx.memory.store.transact(cause, |tx| {
            // What is deleted is named exactly.
            let node = resolve::exact(tx, &self.node)?
                .ok_or_else(|| resolve::unknown(&self.node, tx.view()).field("node"))?;
            ctx.require_visible(&node, "node")?;
            resolve::check_version(&node, self.if_version)?;
            delete::apply(tx, node.id, now)
        })?;
        let delete::DeleteReport { node, edges, derived } = deleted.value;
        let derived = derived.into_iter().map(|note| note.key).collect();
        Ok(DeleteOutput { id: node.id, key: node.key, edges, derived })
    }

    fn show(output: &DeleteOutput) -> String {
        let derived = match output.derived.as_slice() {
            [] => String::new(),
            derived => format!("also deleted what was derived from it: {}\n", derived.join(", ")),
        };
        format!(
            "deleted `{}` and {}; its history stays under its id, {}\n{derived}",
            output.key,
            plural(output.edges as u64, "edge"),
            output.id
        )
    }
}
