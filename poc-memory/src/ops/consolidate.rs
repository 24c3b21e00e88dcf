//! `consolidate`

use super::undo_window::{undo_line, undo_window};
use super::{Access, Ctx, Op, Progress, Terminal};
use poc_config::HistoryRetention;
use poc_graph::error::Result;
use poc_notes::consolidate::{self, ConsolidationReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Clean up: expire notes past their date, delete long-expired notes, remove dangling and decayed edges and unused
/// keywords, and rewrite the indexes. Nothing in use changes. Covers one tenant, by default the default tenant. The
/// daemon does the same on schedule for all tenants: `[consolidate] schedule`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Consolidate {
    /// Only report what would be done
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

/// The result of a consolidation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ConsolidateOutput {
    /// Number of notes past their date; their state is now `expired`, and no search finds them.
    pruned_nodes: u64,
    /// Number of notes that expired longer ago than `[consolidate] keep-expired` and were permanently
    /// deleted.
    deleted_nodes: u64,
    /// Number of removed edges: dangling ones, those of deleted notes, and learned ones that have decayed.
    removed_edges: u64,
    /// Number of keywords that no live note has any more.
    removed_keywords: u64,
    /// The sequence numbers of its changes, for `undo`; empty in a dry run.
    #[serde(default)]
    changes: Vec<u64>,
    /// How long the changes can be undone at least; missing if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undo_within: Option<HistoryRetention>,
    /// Whether this was a dry run, which writes nothing.
    dry_run: bool,
}

impl Op for Consolidate {
    const NAME: &'static str = "consolidate";
    const ACCESS: Access = Access::Person;
    type Output = ConsolidateOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ConsolidateOutput> {
        let progress = |part: consolidate::ConsolidationPhase, done, total| {
            (ctx.progress)(Progress { what: part.name().into(), done, total: Some(total) });
        };
        let outcome = consolidate::consolidate(ctx.memory, &ctx.cause(Self::NAME), self.dry_run, &progress)?;
        let report = outcome.report;
        Ok(ConsolidateOutput {
            pruned_nodes: report.pruned_nodes,
            deleted_nodes: report.deleted_nodes,
            removed_edges: report.removed_edges,
            removed_keywords: report.removed_keywords,
            undo_within: (!outcome.changes.is_empty()).then(|| undo_window(ctx)),
            changes: outcome.changes,
            dry_run: self.dry_run,
        })
    }

    fn show(output: &ConsolidateOutput, terminal: &Terminal) -> String {
        let report = ConsolidationReport {
            pruned_nodes: output.pruned_nodes,
            deleted_nodes: output.deleted_nodes,
            removed_edges: output.removed_edges,
            removed_keywords: output.removed_keywords,
        };
        let undo = output.undo_within.map(|window| undo_line(&output.changes, window, terminal));
        format!("{}\n{}", report.line(output.dry_run), undo.unwrap_or_default())
    }
}
