//! `doctor quarantine restore`

use super::text::plural;
use super::undo_window::{undo_line, undo_window};
use super::{Access, Ctx, Op, TenantScope, Terminal};
use poc_config::HistoryRetention;
use poc_graph::NodeId;
use poc_graph::error::{Code, Result};
use poc_notes::quarantine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Restore the notes, links and other records that a part of the quarantine has and this memory lacks. With a tenant,
/// only those of this tenant, whose name may be lost. Nothing that the memory has is changed, and the part stays in the
/// quarantine. `undo` reverts it, except for records of runs and histograms.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuarantineRestore {
    /// The name of the part, as `doctor quarantine list` shows it
    name: String,
    /// Only report what would be restored
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// What was restored, or in a dry run what would be.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QuarantineRestoreOutput {
    /// The part of the quarantine.
    part: String,
    /// The keys of the notes that were restored.
    restored: Vec<String>,
    /// Number of restored links.
    links: u64,
    /// Number of notes that the memory already has, in any version. They are not changed.
    present: u64,
    /// The keys of the notes that the memory already has, but that have another key, title or text in the quarantine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    different: Vec<String>,
    /// Number of notes that were deleted before they were quarantined. They are not restored.
    deleted: u64,
    /// Notes that cannot be restored, with the reason.
    conflicts: Vec<String>,
    /// Numbers of other restored records, such as visits and messages, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    records: BTreeMap<String, u64>,
    /// Other records that the memory lacks and that are not restored, with the reason and their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// The sequence numbers of the changes of the tenant of this call, for `undo`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<u64>,
    /// The sequence numbers of the changes of other tenants, by tenant. `undo` with the tenant reverts them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changes_of_tenants: BTreeMap<String, Vec<u64>>,
    /// How long the changes can be undone at least; missing if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo_within: Option<HistoryRetention>,
    /// Whether this was a dry run, which changes nothing.
    dry_run: bool,
}

impl Op for QuarantineRestore {
    const NAME: &'static str = "doctor quarantine restore";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::AllOrOne;
    const NAMES_COMMANDS: bool = true;
    type Output = QuarantineRestoreOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<QuarantineRestoreOutput> {
        let restored =
            quarantine::restore(ctx.memory, &self.name, ctx.actor.name(), self.dry_run).map_err(|error| {
                match error.code {
                    Code::NotFound if error.hint.is_none() => {
                        error.hint("`poc-memory doctor quarantine list` shows its parts").field("name")
                    }
                    _ => error,
                }
            })?;
        let undo_within = (!restored.changes.is_empty()).then(|| undo_window(ctx));
        let (mut changes, mut changes_of_tenants) = (Vec::new(), BTreeMap::<String, Vec<u64>>::new());
        for (tuple, seq) in restored.changes {
            match tuple == *ctx.memory.store.tuple() {
                true => changes.push(seq),
                false => changes_of_tenants.entry(tuple.to_string()).or_default().push(seq),
            }
        }
        let named = named(&restored.lost_notes);
        let left_out = |(reason, count): (&str, u64)| {
            let named = if reason == quarantine::NO_NOTE { named.as_str() } else { "" };
            format!("{reason} ({}){named}", plural(count, "record"))
        };
        Ok(QuarantineRestoreOutput {
            part: self.name,
            restored: restored.restored,
            links: restored.edges,
            present: restored.present,
            different: restored.different,
            deleted: restored.deleted,
            conflicts: restored.conflicts,
            records: restored.records.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
            left_out: restored.left_out.into_iter().map(left_out).collect(),
            changes,
            changes_of_tenants,
            undo_within,
            dry_run: self.dry_run,
        })
    }

    fn show(output: &QuarantineRestoreOutput, _: &Terminal) -> String {
        let verb = if output.dry_run { "would restore" } else { "restored" };
        let mut text = format!(
            "{verb} {} and {}; {} already present, {} deleted earlier\n",
            plural(output.restored.len() as u64, "note"),
            plural(output.links, "link"),
            output.present,
            output.deleted
        );
        for key in &output.restored {
            text.push_str(&format!("  {key}\n"));
        }
        if !output.records.is_empty() {
            let records: Vec<String> =
                output.records.iter().map(|(name, count)| plural(*count, name)).collect();
            let verb = if output.dry_run { "would also restore" } else { "also restored" };
            text.push_str(&format!("{verb} {}\n", records.join(", ")));
        }
        if !output.different.is_empty() {
            text.push_str(&format!(
                "{} with another key or text in the quarantine: {}\n`poc-memory doctor quarantine show {}` shows it\n",
                plural(output.different.len() as u64, "note"),
                output.different.join(", "),
                output.part,
            ));
        }
        for conflict in &output.conflicts {
            text.push_str(&format!("not restored: {conflict}\n"));
        }
        for line in &output.left_out {
            text.push_str(&format!("not restored: {line}\n"));
        }
        if let Some(window) = output.undo_within {
            // The commands get the options of the call later.
            text.push_str(&undo_line(&output.changes, window, &Terminal::default()));
        }
        for (tenant, changes) in &output.changes_of_tenants {
            let numbers = changes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            let (noun, object) = if changes.len() == 1 { ("change", "it") } else { ("changes", "them") };
            text.push_str(&format!(
                "{noun} {numbers} of the tenant `{tenant}`: `undo` reverts {object} only with its `--tenant KEY=VALUE`\n"
            ));
        }
        text
    }
}

/// Number of lost notes that are named.
const SHOWN_NOTES: usize = 20;

/// The names or ids of lost notes, after a colon. Empty if there are none.
fn named(lost: &BTreeMap<NodeId, String>) -> String {
    let shown: Vec<String> = lost.values().take(SHOWN_NOTES).map(|note| format!("`{note}`")).collect();
    match (shown.is_empty(), lost.len().saturating_sub(SHOWN_NOTES)) {
        (true, _) => String::new(),
        (false, 0) => format!(": {}", shown.join(", ")),
        (false, more) => format!(": {} and {more} more", shown.join(", ")),
    }
}
