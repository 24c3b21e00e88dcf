//! `remote_sync`

use crate::ops::text::counted;
use crate::ops::{Access, Ctx, Op, Progress};
use poc_graph::NodeId;
use poc_graph::error::{Error, Result};
use poc_notes::sync::{self, Named, Watch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Lines about single notes that a person is shown.
const SHOWN: usize = 20;

/// Synchronise with the remote: notes it has and this memory lacks are pulled, notes that both had
/// and it has no longer are deleted here, notes that are here alone are pushed. A note that never was
/// in both is never deleted. A sync that was interrupted is completed by the next. It is about one tenant
/// and the tenant of the same name there; without one, about the default tenant.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteSync {
    /// Only say what would be pulled, deleted and pushed
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

/// What a sync did.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Synced {
    /// Notes taken from the remote.
    pulled: u64,
    /// Notes that went because the remote no longer has them; the old text of one that was edited
    /// there counts, too.
    deleted: u64,
    /// Notes given to the remote.
    pushed: u64,
    /// Notes taken out of searches because the remote retired them.
    retired: u64,
    links: Links,
    /// Notes whose key was taken in the store they came to.
    renamed: Vec<Renamed>,
    dry_run: bool,
    /// Of a dry run, what it would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    would: Option<Would>,
}

/// Links between notes of both stores.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Links {
    pulled: u64,
    /// In either store, because it went from the other.
    deleted: u64,
    pushed: u64,
}

/// A note that has another key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Renamed {
    /// Whether it was pulled; else it was pushed.
    pulled: bool,
    /// Where it came from.
    key: String,
    /// Where it is now, too.
    renamed: String,
}

/// What a dry run found to do.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Would {
    pull: Vec<Note>,
    delete: Vec<Note>,
    push: Vec<Note>,
}

/// A note, as it is in the store it is in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Note {
    id: NodeId,
    key: String,
    title: String,
}

impl Op for RemoteSync {
    const NAME: &'static str = "remote_sync";
    const COMMAND: &'static str = "profile remote sync";
    const ACCESS: Access = Access::Person;
    const LONG_RUNNING: bool = true;
    type Output = Synced;

    fn run(self, ctx: &Ctx<'_>) -> Result<Synced> {
        let calls = ctx.host.calls();
        let watch = Watch {
            progress: &|what, done, total| {
                (ctx.progress)(Progress { what: what.into(), done, total: Some(total) });
            },
            go_on: &|| match calls.is_cancelled() {
                true => Err(Error::unavailable("the daemon stops before the sync is done")
                    .hint("synchronise again: it goes on where it was")),
                false => Ok(()),
            },
        };
        let report = sync::run(ctx.memory, self.dry_run, &watch)?;
        let notes = |list: Vec<Named>| -> Vec<Note> {
            list.into_iter().map(|Named { id, key, title }| Note { id, key, title }).collect()
        };
        let [pull, delete, push] = report.lists.map(notes);
        let renamed = report.renamed.into_iter();
        Ok(Synced {
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
                .map(|sync::Renamed { pulled, key, renamed }| Renamed { pulled, key, renamed })
                .collect(),
            dry_run: self.dry_run,
            would: self.dry_run.then_some(Would { pull, delete, push }),
        })
    }

    fn show(synced: &Synced) -> String {
        let Synced { pulled, deleted, pushed, retired, links, renamed, would, .. } = synced;
        if let Some(would) = would {
            let mut text = format!(
                "dry run, nothing was written: {pulled} to pull, {deleted} to delete, {pushed} to push\n"
            );
            for (what, notes) in [("pull", &would.pull), ("delete", &would.delete), ("push", &would.push)] {
                for note in notes.iter().take(SHOWN) {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{what:<7} {}  {}", note.key, note.title);
                }
                if notes.len() > SHOWN {
                    let _ = writeln!(
                        text,
                        "{what:<7} … and {} more: `--json` shows them all",
                        notes.len() - SHOWN
                    );
                }
            }
            return text;
        }
        let mut text = format!("{pulled} pulled, {deleted} deleted, {pushed} pushed\n");
        let Links { pulled, deleted, pushed } = links;
        if pulled + deleted + pushed > 0 {
            let _ = writeln!(text, "links   {pulled} pulled, {deleted} deleted, {pushed} pushed");
        }
        if *retired > 0 {
            let _ = writeln!(text, "retired {}", counted(*retired, "note"));
        }
        for Renamed { pulled, key, renamed } in renamed.iter().take(SHOWN) {
            let side = if *pulled { "here" } else { "in the remote" };
            let _ = writeln!(text, "renamed `{key}` is `{renamed}` {side}: its key was taken");
        }
        if renamed.len() > SHOWN {
            let _ = writeln!(text, "renamed … and {} more: `--json` shows them all", renamed.len() - SHOWN);
        }
        text
    }
}
