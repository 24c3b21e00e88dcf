//! `delete`

use super::erasure::{self, ErasureOutput};
use super::text::plural;
use super::undo_window::{undo_line, undo_window};
use super::{Access, Ctx, IrreversibleFlag, Op, Route, Terminal, ToolEffect};
use poc_config::HistoryRetention;
use poc_graph::error::{Code, Error, Result};
use poc_graph::{Node, NodeId, cancellation, normal_key};
use poc_notes::erasure::{ErasedTexts, Erasure, ErasureTarget};
use poc_notes::resolve::operand;
use poc_notes::{delete, resolve, vault};
use poc_search::retrieve::key::notes_of_name_or_id;
use poc_store::{LoggedChangeKind, Record as _, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Delete a note with its edges and visits. `undo` brings it back as long as the history goes back to the deletion
/// (`[history] keep`); with `erase`, a person removes it for good. To replace a note and keep its history, supersede
/// it; to delete a message with its chunks, forget it.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delete {
    /// Exact key or id of the note; other names do not count
    #[arg(value_name = "NOTE")]
    node: String,
    /// Also erase the text for good: from the log, the records, the indexes, the prompts of runs and the
    /// quarantine. This deletes the history of the whole memory, so no earlier change can be undone. To erase a note
    /// that was deleted before, give its key or full id
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    erase: bool,
    /// Delete the note only if it still has this version, which `get` shows
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    if_version: Option<u32>,
}

/// The result of a deletion.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DeleteOutput {
    id: NodeId,
    key: String,
    /// The number of the change, which `undo` takes.
    seq: u64,
    /// The minimum time for which the deletion can be undone: `all` if there is no limit, otherwise a duration. Absent
    /// after an erasure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo_within: Option<HistoryRetention>,
    /// Number of edges that were deleted with it.
    edges: usize,
    /// Keys of the notes that agents had derived from it alone; they were deleted as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    derived: Vec<String>,
    /// The file of a vault from which the note had its text. It stays, and a sync that a person starts makes the note
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    /// With `erase`: what else was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    erasure: Option<ErasureOutput>,
}

impl Op for Delete {
    const NAME: &'static str = "delete";
    const ACCESS: Access = Access::Destroy;
    const ROUTE: Option<Route> = Route::delete("/v1/nodes/{node}");
    const PERSON_ARGUMENTS: &'static [&'static str] = &["erase"];
    const IRREVERSIBLE: Option<IrreversibleFlag> = Some(erasure::FLAG);
    // An erasure compacts the memory.
    const USES_SHUTDOWN_GRACE: bool = true;
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Idempotent);
    type Output = DeleteOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<DeleteOutput> {
        let cause = ctx.cause(Self::NAME);
        let now = cause.at;
        let mut begun = None;
        if self.erase {
            erasure::require_person(ctx)?;
            if let Some(node) = resolve::exact_key(&ctx.memory.store, &self.node)? {
                let mut texts = ErasedTexts::default();
                texts.add_note(&node);
                texts.add_history(ctx.memory, node.id)?;
                // Before the deletion, so that a refusal changes nothing.
                poc_notes::erasure::check_erasable(ctx.memory, &texts)?;
                begun = Some(Erasure::begin(ctx.memory, ErasureTarget::Note(node.id), now)?);
            }
        }
        let target = begun.as_ref().map(Erasure::target);
        let deleted = ctx.memory.store.transact(cause, |tx| {
            // Only the exact name counts, so that a near match never deletes another note.
            let node = resolve::exact_key(tx, &self.node)?
                .ok_or_else(|| resolve::unknown(&self.node, tx.view()).field("node"))?;
            ctx.require_visible(&node, "node")?;
            resolve::check_version(&node, self.if_version)?;
            if self.erase && target != Some(&ErasureTarget::Note(node.id)) {
                let message = format!("`{}` became the name of another note in the meantime", self.node);
                return Err(Error::conflict(message).hint("repeat the command").field("node"));
            }
            delete::apply(tx, node.id, now)
        });
        let deleted = match deleted {
            Ok(deleted) => deleted,
            Err(error) => {
                if let Some(erasure) = begun {
                    erasure.abandon_after(&error)?;
                }
                if error.code != Code::NotFound {
                    return Err(error);
                }
                let error = self.with_candidates(ctx, error);
                return if self.erase && self.if_version.is_none() {
                    erase_deleted(ctx, &self.node, error)
                } else {
                    Err(error)
                };
            }
        };
        let seq = deleted.seq;
        let undo_within = (!self.erase).then(|| undo_window(ctx));
        let delete::DeleteReport { node, edges, derived } = deleted.value;
        let erasure = begun.map(|erasure| {
            let mut texts = ErasedTexts::default();
            derived.iter().chain([&node]).try_for_each(|note| texts.add_history(ctx.memory, note.id))?;
            erasure::run(ctx, erasure, &texts)
        });
        let derived = derived.into_iter().map(|note| note.key).collect();
        let file = vault::file_of_note(ctx.memory, node.id)?.map(|(vault, path)| vault.folder.join(path));
        Ok(DeleteOutput {
            id: node.id,
            key: node.key,
            seq,
            undo_within,
            edges,
            derived,
            file,
            erasure: erasure.transpose()?,
        })
    }

    fn show(output: &DeleteOutput, terminal: &Terminal) -> String {
        let derived = match output.derived.as_slice() {
            [] => String::new(),
            derived => format!("also deleted what was derived from it: {}\n", derived.join(", ")),
        };
        let file = output.file.as_ref().map_or_else(String::new, |file| {
            format!("its file `{}` stays; delete it, too, or a sync makes the note again\n", file.display())
        });
        let deleted = format!("deleted `{}` and {}", output.key, plural(output.edges as u64, "edge"));
        match &output.erasure {
            Some(erasure) => format!("{deleted}\n{derived}{file}{}", erasure.show()),
            None => {
                let undo = output.undo_within.map(|window| undo_line(&[output.seq], window, terminal));
                format!(
                    "{deleted}; its history stays under its id, {}\n{}{derived}{file}",
                    output.id,
                    undo.unwrap_or_default()
                )
            }
        }
    }
}

impl Delete {
    /// The error for an unknown note, with the notes that other ops find by its name.
    fn with_candidates(&self, ctx: &Ctx<'_>, unknown: Error) -> Error {
        let (view, visibility) = (ctx.memory.store.view(), ctx.visibility(false));
        let found = notes_of_name_or_id(&view, &self.node).into_iter();
        let found = found.filter(|&ix| visibility.admits(view.trust(ix))).take(MAX_CANDIDATES);
        let option = if self.erase { " --erase" } else { "" };
        let command = |ix| format!("`poc-memory delete{option} {}`", operand(view.key(ix)));
        let commands: Vec<String> = found.map(command).collect();
        if commands.is_empty() {
            return ctx.with_titled_note(unknown, &self.node);
        }
        let message = format!("`{}` is not the exact key or id of a note", self.node);
        Error { message, ..unknown }
            .hint(format!("{} deletes the note with this name", commands.join(" or ")))
    }
}

/// Maximum number of notes that an error lists for a name that is not exact.
const MAX_CANDIDATES: usize = 3;

/// The note that had a key when it was deleted, the last one if there were several. Reads the history back to that.
fn deleted_note(ctx: &Ctx<'_>, key: &str) -> Result<Option<NodeId>> {
    let store = &ctx.memory.store;
    let key = normal_key(key);
    for seq in (store.first_seq()..=store.last_seq()).rev() {
        cancellation::check()?;
        for write in store.transaction(seq)?.into_iter().flat_map(|txn| txn.writes) {
            if let (Table::Nodes, Some(before), None) = (write.table, &write.before, &write.after) {
                let node = Node::decode(before)?;
                if node.key == *key {
                    return Ok(Some(node.id));
                }
            }
        }
    }
    Ok(None)
}

/// The error for an unknown note. If only the quarantine has it, the hint says so.
fn with_quarantine(ctx: &Ctx<'_>, name: &str, unknown: Error) -> Error {
    match poc_notes::erasure::quarantine_part_with_note(ctx.memory, name) {
        Ok(Some(part)) => unknown.hint(format!(
            "`{part}` in the quarantine has it: `poc-memory doctor quarantine restore {part}` restores it; then erase it"
        )),
        _ => unknown,
    }
}

/// Erases a note that was deleted before, given by its full id or its last key, together with everything that was
/// deleted with it. `unknown` is the error for any other name.
fn erase_deleted(ctx: &Ctx<'_>, name: &str, unknown: Error) -> Result<DeleteOutput> {
    let store = &ctx.memory.store;
    let Some(id) = name.parse().ok().map_or_else(|| deleted_note(ctx, name), |id| Ok(Some(id)))? else {
        return Err(with_quarantine(ctx, name, unknown));
    };
    let target = ErasureTarget::Note(id);
    let changes = store.history(id)?;
    let (seq, key) = match changes.last().map(|last| (last.seq, &last.kind)) {
        Some((seq, LoggedChangeKind::Deleted(node))) => (seq, node.key.clone()),
        // An erasure that was interrupted after it had deleted the history. Until the records are written again, they
        // still have the creation.
        None | Some((_, LoggedChangeKind::Created(_))) if Erasure::is_repeated(ctx.memory, &target)? => {
            (store.last_seq(), id.to_string())
        }
        _ => return Err(with_quarantine(ctx, name, unknown)),
    };
    let mut texts = ErasedTexts::default();
    texts.add_history(ctx.memory, id)?;
    for write in store.transaction(seq)?.into_iter().flat_map(|deletion| deletion.writes) {
        if let (Table::Nodes, None, Ok(id)) = (write.table, write.after, write.key.try_into()) {
            texts.add_history(ctx.memory, NodeId::from_bytes(id))?;
        }
    }
    let begun = Erasure::begin(ctx.memory, target, ctx.memory.now())?;
    let erasure = erasure::run(ctx, begun, &texts)?;
    Ok(DeleteOutput {
        id,
        key,
        seq,
        undo_within: None,
        edges: 0,
        derived: Vec::new(),
        file: None,
        erasure: Some(erasure),
    })
}
