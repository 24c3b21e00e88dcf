//! `delete`

use super::text::counted;
use super::{Access, Ctx, Op, Route};
use poc_graph::NodeId;
use poc_graph::error::Result;
use poc_notes::{delete, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Delete a note for good, with its edges and visits. `supersede` is the gentle way. What a
/// chunk of a message says is still in its message: `forget` takes that.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delete {
    /// Key or id of the note
    node: String,
}

/// What was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Deleted {
    id: NodeId,
    key: String,
    /// Edges that went with it.
    edges: usize,
}

impl Op for Delete {
    const NAME: &'static str = "delete";
    const ACCESS: Access = Access::Destroy;
    const ROUTE: Option<Route> = Route::delete("/v1/nodes/{node}");
    const TOOL: Option<&'static str> = Some("graft_delete");
    type Output = Deleted;

    fn run(self, ctx: &Ctx<'_>) -> Result<Deleted> {
        let deleted = ctx.memory.store.transact(ctx.cause(Self::NAME), |tx| {
            let node = resolve::named(tx, &self.node, "node")?;
            delete::apply(tx, node.id)
        })?;
        let delete::Deleted { node, edges } = deleted.value;
        Ok(Deleted { id: node.id, key: node.key, edges })
    }

    fn show(output: &Deleted) -> String {
        format!(
            "deleted `{}` and {}; its history stays under its id, {}\n",
            output.key,
            counted(output.edges as u64, "edge"),
            output.id
        )
    }
}
