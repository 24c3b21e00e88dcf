//! `remote_sync`

use crate::ops::text::{one_line, plural};
use crate::ops::{Access, Ctx, Op, Progress, Terminal};
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_notes::sync::{self, NoteSummary, PlannedChanges, PlannedConflict, SyncCallbacks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Maximum number of notes listed one by one in the text for a person.
const SHOWN_NOTES: usize = 20;

/// Synchronise with the remote. Pulls notes that only the remote has, pushes notes that only this memory has,
/// and deletes notes here that were deleted in the remote. A note that was never in both is never deleted. An
/// interrupted sync is completed by the next one. It synchronises one tenant with the tenant of the same
/// name, by default the default tenant.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteSync {
    /// Only report what would be pulled, deleted and pushed
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

/// The result of a sync.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RemoteSyncOutput {
    /// Notes pulled from the remote.
    pulled: u64,
    /// Notes deleted because the remote no longer has them. The old version of a note that was edited there
    /// counts, too.
    deleted: u64,
    /// Notes pushed to the remote.
    pushed: u64,
    /// Notes removed from retrieval because the remote retired them.
    retired: u64,
    links: Links,
    /// Conflicts: notes that got another key, because another note of the other store had theirs, or because they were
    /// edited in both stores and the other edit is later.
    renamed: Vec<RenamedNote>,
    dry_run: bool,
    /// In a dry run, the notes that a sync would pull, delete and push.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    would: Option<SyncPlanRow>,
}

/// Links between notes of both stores.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Links {
    /// Links copied from the remote.
    pulled: u64,
    /// Deleted in either store because it was deleted in the other.
    deleted: u64,
    /// Links copied to the remote.
    pushed: u64,
}

/// A note that got another key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RenamedNote {
    /// Whether it comes from the remote; otherwise it comes from this memory.
    pulled: bool,
    /// The key that it had there.
    key: String,
    /// The key that it has now in the other store, and in its own store, too, if both stores have both notes.
    renamed: String,
    /// Whether a note was edited in both stores, so that its earlier edit is now a note of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    edited_in_both: bool,
}

/// The notes that a sync would pull, delete and push.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SyncPlanRow {
    pull: Vec<SyncNote>,
    delete: Vec<SyncNote>,
    push: Vec<SyncNote>,
    /// Keys that one of two texts would lose.
    conflicts: Vec<ConflictRow>,
}

/// A key that names two texts, one of each store. Both are kept, but only one keeps the key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ConflictRow {
    key: String,
    /// Whether the texts are two edits of one note; otherwise they are two notes.
    edited_in_both: bool,
}

/// A note, named as in the store that has it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SyncNote {
    id: NodeId,
    key: String,
    title: String,
}

impl Op for RemoteSync {
    const NAME: &'static str = "remote_sync";
    const COMMAND: &'static str = "profile remote sync";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    const USES_SHUTDOWN_GRACE: bool = true;
    type Output = RemoteSyncOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<RemoteSyncOutput> {
        let calls = ctx.host.calls();
        let callbacks = SyncCallbacks {
            progress: &|what, done, total| {
                (ctx.progress)(Progress { what: what.into(), done, total: Some(total) });
            },
            check_cancelled: &|| match calls.is_cancelled() {
                true => Err(Error::unavailable("the daemon is stopping: the sync was not completed")
                    .hint("run the command again: it continues where it stopped")),
                false => Ok(()),
            },
        };
        let report = sync::run(ctx.memory, self.dry_run, &callbacks)?;
        let notes = |list: Vec<NoteSummary>| -> Vec<SyncNote> {
            list.into_iter().map(|NoteSummary { id, key, title }| SyncNote { id, key, title }).collect()
        };
        let PlannedChanges { pulled: pull, deleted: delete, pushed: push, conflicts } = report.planned;
        let renamed = report.renamed.into_iter();
        Ok(RemoteSyncOutput {
            pulled: report.pulled,
            deleted: report.deleted,
            pushed: report.pushed,
            retired: report.retired,
            links: Links {
                pulled: report.links.pulled,
                deleted: report.links.deleted,
                pushed: report.links.pushed,
            },
            renamed: renamed
                .map(|sync::KeyRename { pulled, key, renamed, edited_in_both }| RenamedNote {
                    pulled,
                    key,
                    renamed,
                    edited_in_both,
                })
                .collect(),
            dry_run: self.dry_run,
            would: self.dry_run.then(|| SyncPlanRow {
                pull: notes(pull),
                delete: notes(delete),
                push: notes(push),
                conflicts: conflicts
                    .into_iter()
                    .map(|PlannedConflict { key, edited_in_both }| ConflictRow { key, edited_in_both })
                    .collect(),
            }),
        })
    }

    fn show(synced: &RemoteSyncOutput, _: &Terminal) -> String {
        let RemoteSyncOutput { pulled, deleted, pushed, retired, links, renamed, would, .. } = synced;
        if let Some(would) = would {
            let conflicts = conflict_count(would.conflicts.len());
            let mut text = format!(
                "dry run, nothing was written: {pulled} to pull, {deleted} to delete, {pushed} to push{conflicts}\n"
            );
            for ConflictRow { key, edited_in_both } in would.conflicts.iter().take(SHOWN_NOTES) {
                let reason = match edited_in_both {
                    true => "it was edited on both sides, and the later edit keeps the key",
                    false => "two notes have it, and the older one keeps it",
                };
                // Writing to a string cannot fail.
                let _ = writeln!(text, "conflict `{key}`: {reason}");
            }
            if would.conflicts.len() > SHOWN_NOTES {
                let more = would.conflicts.len() - SHOWN_NOTES;
                let _ = writeln!(text, "conflict … and {more} more: `--json` shows them all");
            }
            for (what, notes) in [("pull", &would.pull), ("delete", &would.delete), ("push", &would.push)] {
                for note in notes.iter().take(SHOWN_NOTES) {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{what:<7} {}  {}", note.key, one_line(&note.title));
                }
                if notes.len() > SHOWN_NOTES {
                    let _ = writeln!(
                        text,
                        "{what:<7} … and {} more: `--json` shows them all",
                        notes.len() - SHOWN_NOTES
                    );
                }
            }
            return text;
        }
        let conflicts = conflict_count(renamed.len());
        let mut text = format!("{pulled} pulled, {deleted} deleted, {pushed} pushed{conflicts}\n");
        let Links { pulled, deleted, pushed } = links;
        if pulled + deleted + pushed > 0 {
            let _ = writeln!(text, "links   {pulled} pulled, {deleted} deleted, {pushed} pushed");
        }
        if *retired > 0 {
            let _ = writeln!(text, "retired {}", plural(*retired, "note"));
        }
        for RenamedNote { pulled, key, renamed, edited_in_both } in renamed.iter().take(SHOWN_NOTES) {
            let side = if *pulled { "the remote" } else { "this memory" };
            let reason = match edited_in_both {
                true => "it was edited on both sides, and the later edit keeps the key",
                false => "another note has the key",
            };
            let _ = writeln!(text, "conflict `{key}`: {reason}; the text of {side} is `{renamed}` now");
        }
        if renamed.len() > SHOWN_NOTES {
            let more = renamed.len() - SHOWN_NOTES;
            let _ = writeln!(text, "conflict … and {more} more: `--json` shows them all");
        }
        text
    }
}

/// The number of conflicts for the end of a summary; nothing if there are none.
fn conflict_count(count: usize) -> String {
    match count {
        0 => String::new(),
        _ => format!(", {}", plural(count as u64, "conflict")),
    }
}
