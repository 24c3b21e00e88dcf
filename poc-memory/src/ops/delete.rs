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
}

/// What was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DeleteOutput {
    id: NodeId,
    key: String,
    /// Edges that were deleted with it.
    edges: usize,
}

impl Op for Delete {
    const NAME: &'static str = "delete";
    const ACCESS: Access = Access::Destroy;
    const ROUTE: Option<Route> = Route::delete("/v1/nodes/{node}");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Idempotent);
    type Output = DeleteOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<DeleteOutput> {
        let deleted = ctx.memory.store.transact(ctx.cause(Self::NAME), |tx| {
            let node = resolve::named(tx, &self.node, "node")?;
            delete::apply(tx, node.id)
        })?;
        let delete::DeleteReport { node, edges } = deleted.value;
        Ok(DeleteOutput { id: node.id, key: node.key, edges })
    }

    fn show(output: &DeleteOutput) -> String {
        format!(
            "deleted `{}` and {}; its history stays under its id, {}\n",
            output.key,
            plural(output.edges as u64, "edge"),
            output.id
        )
    }
}
