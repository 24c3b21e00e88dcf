//! `rename`

use super::secret_check::{self, SecretCheck};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect};
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_notes::{rename, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Give a note another key. The former key remains a name of the note: commands, links, imports and questions that use
/// it still find the note.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    /// Key or id of the note
    #[arg(value_name = "NOTE")]
    node: String,
    /// Its new key
    #[arg(value_name = "NEW-KEY", required_unless_present = "forget")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// A former key to release, so that another note can use it; repeatable
    #[arg(long, value_name = "FORMER-KEY")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    forget: Vec<String>,
    /// Change the note only if it still has this version, which `get` shows
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    if_version: Option<u32>,
}

/// The names of the note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RenameOutput {
    id: NodeId,
    /// The key of the note after the renaming.
    key: String,
    /// The key it had before; absent if it had this one already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    former: Option<String>,
    /// All former keys that still name it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    /// The number of the change, which `undo` takes; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// Secrets that were found in the new key, by kind. What a model writes has placeholders in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl Op for Rename {
    const NAME: &'static str = "rename";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/rename");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Idempotent);
    type Output = RenameOutput;

    fn run(mut self, ctx: &Ctx<'_>) -> Result<RenameOutput> {
        if self.key.is_none() && self.forget.is_empty() {
            return Err(Error::invalid("neither a new key nor a former key to forget is given")
                .hint("give `key`, `forget`, or both")
                .field("key"));
        }
        let mut check = SecretCheck::of(ctx);
        self.key.iter_mut().for_each(|key| check.text(key));
        let done = ctx.memory.store.transact(ctx.cause(Self::NAME), |tx| {
            let node = ctx.find_writable(tx, &self.node, "node")?;
            resolve::check_version(&node, self.if_version)?;
            rename::apply(tx, node.id, self.key.as_deref(), &self.forget)
        })?;
        let rename::RenameReport { node, former } = done.value;
        let is_change = former.is_some() || !self.forget.is_empty();
        let (seq, warning) = (is_change.then_some(done.seq), check.warning());
        Ok(RenameOutput { id: node.id, key: node.key, former, aliases: node.aliases, seq, warning })
    }

    fn show(output: &RenameOutput, _: &Terminal) -> String {
        let RenameOutput { key, former, aliases, .. } = output;
        let mut text = match former {
            Some(former) => format!("renamed `{former}` to `{key}`"),
            None => format!("the key is `{key}`"),
        };
        if !aliases.is_empty() {
            text += &format!("; former keys: {}", aliases.join(", "));
        }
        text + "\n" + &secret_check::line(output.warning.as_ref())
    }
}
